import type { ShownEndpoint } from "../../../control/notify.ts";
import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import { facts } from "../facts.ts";
import { isoInstant } from "./token-words.ts";

export const KIND_TEXTS: Readonly<Record<ShownEndpoint["kind"], string>> = {
  webhook: "Signed webhook",
  slack: "Chat (Slack-compatible address)",
  email: "E-mail",
};

export const CATEGORY_TEXTS: Readonly<Record<string, string>> = {
  return_rate_watchlist: "early warnings and jumps of return rates",
  connection_stale: "stale connections",
  report_ready: "complete months",
  backfill_completed: "finished imports",
};

const PAUSE_TEXTS: Readonly<Record<string, string>> = {
  person: "Paused by a member",
  failing: "Paused: no try succeeded for a day",
  gone: "Paused: the receiver wants no more messages",
  refused: "Paused: the mail server refused the recipient",
};

export function hourText(hour: number): string {
  return `${String(hour).padStart(2, "0")}:00 UTC`;
}

/** Where it is, what it receives, and how it goes. */
export function endpointFacts(endpoint: ShownEndpoint, now: Date): Html {
  const { kind, shown_address: address, severities, categories, digest_hour: hour } = endpoint;
  const { last_delivered_at: deliveredAt, last_problem: problem, previous_until: previousUntil } = endpoint;
  const listed = categories?.map((category) => CATEGORY_TEXTS[category] ?? category).join(", ");
  const isOverlapping = previousUntil !== null && previousUntil > now;
  return facts([
    { name: KIND_TEXTS[kind], value: html`${address}` },
    { name: "Receives", value: html`${severities.join(", ")}: ${listed ?? "all alerts"}` },
    { name: "When", value: html`${hour === null ? "at once" : `daily at ${hourText(hour)}`}` },
    { name: "State", value: html`${stateText(endpoint, now)}` },
    { name: "Last delivery", value: html`${deliveredAt === null ? "none yet" : isoInstant(deliveredAt)}` },
    ...(problem === null ? [] : [{ name: "Last problem", value: html`${problem}` }]),
    ...(isOverlapping
      ? [{ name: "Signed with the old secret, too", value: html`until ${isoInstant(previousUntil)}` }]
      : []),
  ]);
}

function stateText(endpoint: ShownEndpoint, now: Date): string {
  const { paused_at: pausedAt, pause_reason: reason, due_at: dueAt, failures } = endpoint;
  if (pausedAt !== null) return `${PAUSE_TEXTS[reason ?? "person"]}, since ${isoInstant(pausedAt)}`;
  if (dueAt === null) return "Waits for the next alert";
  const next = dueAt <= now ? "now" : isoInstant(dueAt);
  if (failures === 0) return `Next delivery: ${next}`;
  return `${failures} ${failures === 1 ? "try" : "tries"} failed; next try: ${next}`;
}
