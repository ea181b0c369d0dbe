import { ReturnsApiError, ReturnsNetworkError } from "./errors.ts";
import type { ClientOptions } from "./result.ts";

export type ClientRetries = {
  [Name in "maxRetries" | "maxRetryWaitMs" | "retryBaseMs"]: NonNullable<ClientOptions[Name]>;
};

const RETRIED_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

/**
 * Pause before the next attempt, in ms; null: the error is final. Pauses are random up to a doubling bound (full jitter), so that
 * clients which failed together do not retry together.
 */
export function retryWaitMs(
  error: unknown,
  retriesMade: number,
  policy: ClientRetries,
  random: () => number = Math.random,
): number | null {
  if (retriesMade >= policy.maxRetries || !isPassing(error)) return null;
  const longestMs = Math.min(policy.maxRetryWaitMs, policy.retryBaseMs * 2 ** retriesMade);
  const jitterMs = random() * longestMs;
  const askedMs = error instanceof ReturnsApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
  return askedMs > policy.maxRetryWaitMs ? null : askedMs + jitterMs;
}

/** Whether the same request may succeed later; every request is a GET, so repeating it is safe. */
function isPassing(error: unknown): boolean {
  if (error instanceof ReturnsApiError) return RETRIED_STATUSES.has(error.status);
  return error instanceof ReturnsNetworkError && error.reason !== "unreadable_answer";
}

/** Waits; throws the signal's reason as soon as it is aborted. */
export async function sleep(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const giveUp = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", giveUp);
      resolve();
    }, waitMs);
    signal?.addEventListener("abort", giveUp, { once: true });
  });
}
