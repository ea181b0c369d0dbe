import { findRule } from "../on-call/rules.ts";
import { staleForMs } from "../metrics/staleness.ts";
import type { ConnectionHealthRow } from "../store/queries/worker-health.ts";
import type { Check } from "./doctor.ts";

export type ConnectionDiagnosis = ConnectionHealthRow & { is_stale: boolean; problems: string[] };

const HOUR_MS = 3_600_000;
/** Stops and restarts cut a run off now and then; more than that is a worker that keeps dying. */
const MANY_INTERRUPTED_RUNS = 5;

/** What is wrong with each connection, as ends of sentences. */
export function diagnoseConnections(rows: readonly ConnectionHealthRow[], now: Date): ConnectionDiagnosis[] {
  return rows.map((row) => {
    const staleMs = staleForMs(row.last_synced_at ?? row.connected_at, now);
    return { ...row, is_stale: staleMs !== null, problems: problemsOf(row, staleMs) };
  });
}

/** `staleMs`: how long ago the last sync was, null = not too long. */
function problemsOf(row: ConnectionHealthRow, staleMs: number | null): string[] {
  const { source, last_error: lastError, waiting, interrupted_runs: interruptedRuns } = row;
  const problems: string[] = [];
  if (row.status === "disconnected") {
    problems.push(`${source} is disconnected${reasonOf(lastError)}; it waits to be connected again`);
  } else if (row.status === "failed" || lastError !== null) {
    const failures = Math.max(0, ...waiting.map((request) => request.failures));
    problems.push(
      `${source} failed${failures > 1 ? ` ${failures} times in a row` : ""}${reasonOf(lastError)}`,
    );
  }
  if (staleMs !== null) {
    const hours = Math.floor(staleMs / HOUR_MS);
    const outage = row.last_synced_at === null ? "never synced in" : "not synced for";
    problems.push(`${source} has ${outage} ${hours} hours`);
  }
  if (row.foreign_currency_code !== null) {
    problems.push(
      `${source} has labels in ${row.foreign_currency_code}, which is not the shop's currency: its costs are not used`,
    );
  }
  if (interruptedRuns >= MANY_INTERRUPTED_RUNS) {
    problems.push(`${interruptedRuns} runs of ${source} were cut off within a day`);
  }
  return problems;
}

function reasonOf(error: string | null): string {
  return error === null ? "" : ` (${error.replace(/\.$/u, "")})`;
}

/**
 * A source that refuses its credentials, or was not synced for too long, leaves answers behind the store. One that the
 * operator has disconnected does so on purpose.
 */
export function checkConnections(connections: readonly ConnectionDiagnosis[]): Check {
  const name = "connections";
  const broken = connections
    .filter((row) => row.last_error !== null || row.status !== "disconnected")
    .filter((row) => row.status === "disconnected" || row.is_stale);
  const [first] = broken;
  if (first !== undefined) {
    const what = first.status === "disconnected" ? "is refused" : "is stale";
    const others = broken.length === 1 ? "" : `, and ${broken.length - 1} more`;
    return {
      name,
      ok: false,
      alert: null,
      message: `${first.source} of ${first.shop_domain} ${what}${others}.`,
    };
  }
  const message = connections.length === 0 ? "none" : "none is refused or stale";
  return { name, ok: true, alert: null, message };
}

/** Without a worker the installation serves what it has; that is a state, not a fault of it. `workers`: null = not seen. */
export function checkWorker(workers: number | null, connections: number): Check {
  const check = { name: "worker", ok: true, alert: null };
  if (workers === null) return { ...check, message: "not seen from this node: ask at the coordinator" };
  if (workers > 0) return { ...check, message: "connected" };
  if (connections === 0) return { ...check, message: "none, and nothing is connected" };
  const alert = "ReturnsNoWorker";
  return { ...check, alert, message: findRule(alert).sentence("0", "") };
}
