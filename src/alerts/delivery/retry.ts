/** Outcome of one attempt; `problem` is a sentence for the workspace's members. */
export type SendOutcome =
  /** `answer`: the receiver's response, as a sentence. */
  | { status: "delivered"; answer: string }
  /** A retry may succeed; `retryAfterMs`: the pause requested by the receiver. */
  | { status: "failed"; problem: string; retryAfterMs: number | null }
  /** "gone": the receiver accepts no further messages. "refused": it will never accept this one. */
  | { status: "gone" | "refused"; problem: string };

export function failed(problem: string, retryAfterMs: number | null = null): SendOutcome {
  return { status: "failed", problem, retryAfterMs };
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Before each retry: nine attempts over 24 hours. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  8 * HOUR_MS,
  8.5 * HOUR_MS,
];
const MOST_ASKED_MS = 12 * HOUR_MS;
/** Random share added to a delay, so that many receivers at one host are not retried at once. */
const JITTER = 0.1;

/**
 * The time of the next attempt after consecutive failures; null: none. `random` is from 0 to 1. A receiver may request a longer
 * pause.
 */
export function nextTryAt(
  failures: number,
  { now, retryAfterMs, random }: { now: Date; retryAfterMs: number | null; random: number },
): Date | null {
  const delayMs = RETRY_DELAYS_MS[failures - 1];
  if (delayMs === undefined) return null;
  const askedMs = Math.min(retryAfterMs ?? 0, MOST_ASKED_MS);
  return new Date(now.getTime() + Math.max(delayMs * (1 + JITTER * random), askedMs));
}

const DAY_MS = 24 * HOUR_MS;

/** The last time when it was this hour in UTC. */
export function lastHour(digestHour: number, now: Date): Date {
  const offsetMs = digestHour * HOUR_MS;
  return new Date(Math.floor((now.getTime() - offsetMs) / DAY_MS) * DAY_MS + offsetMs);
}

/** The next time when it will be this hour in UTC. */
export function nextHour(digestHour: number, now: Date): Date {
  return new Date(lastHour(digestHour, now).getTime() + DAY_MS);
}
