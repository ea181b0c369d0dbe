import { staleForMs } from "../metrics/completeness.ts";
import type { AlertDraft } from "../store/queries/publish.ts";
import { daysText, minuteText, readableName } from "./wording.ts";

export type WatchedSource = {
  source: string;
  kind: "store" | "label_cost";
  /** false: imported by hand, or disconnected by a person, so it cannot be down. */
  isConnected: boolean;
  /** null = it never synced. */
  lastSyncedAt: Date | null;
  /** The last time. */
  connectedAt: Date;
};

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CRITICAL_FROM_MS = 7 * DAY_MS;

/**
 * The alert for a connection that has not synced for over 36 hours, since it was connected if it never did; null when
 * there is no such outage. An outage is identified by its last sync, before the first one by when it was connected, so it has one
 * alert: with the severity of the age at which it is first seen, critical from 7 days on.
 */
export function staleAlert(source: WatchedSource, now: Date): AlertDraft | null {
  const { source: name, kind, isConnected, lastSyncedAt, connectedAt } = source;
  const ageMs = staleForMs(lastSyncedAt ?? connectedAt, now);
  if (!isConnected || ageMs === null) return null;
  const lastSync = lastSyncedAt?.toISOString() ?? null;
  const shownName = readableName(name);
  return {
    eventKey: `stale:${name}:${lastSync ?? `never:${connectedAt.toISOString()}`}`,
    category: "connection_stale",
    severity: ageMs >= CRITICAL_FROM_MS ? "critical" : "warning",
    title: lastSync === null ? `${shownName} has never synced` : `${shownName} has stopped syncing`,
    body:
      `${beginningOf(source)}, ${ageText(ageMs)} ago. Until it syncs again, ` +
      `${kind === "store" ? "orders and returns" : "label costs"} stay as they were then.`,
    metadata: { source: name, last_synced_at: lastSync },
  };
}

function beginningOf({ lastSyncedAt, connectedAt }: WatchedSource): string {
  return lastSyncedAt === null
    ? `It was connected at ${minuteText(connectedAt)}`
    : `Its last successful sync was at ${minuteText(lastSyncedAt)}`;
}

function ageText(ageMs: number): string {
  return ageMs < 3 * DAY_MS ? `${Math.floor(ageMs / HOUR_MS)} hours` : daysText(Math.floor(ageMs / DAY_MS));
}
