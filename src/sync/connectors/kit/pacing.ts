import { setTimeout as sleep } from "node:timers/promises";

/** How a client waits and how often it tries again. */
export type Pacing = {
  /** Tries of one request, the first included. */
  attempts: number;
  /** Before the second try; doubled for each further one up to `maxDelayMs`, a random half of it taken off. */
  firstDelayMs: number;
  maxDelayMs: number;
  requestTimeoutMs: number;
  /** Between two looks at bulk operations. */
  pollMs: number;
  /** A bulk operation that has found nothing more for so long is given up. */
  stallMs: number;
};

export const PACING: Pacing = {
  attempts: 8,
  firstDelayMs: 500,
  maxDelayMs: 30_000,
  requestTimeoutMs: 60_000,
  pollMs: 1000,
  stallMs: 60 * 60_000,
};

/** Before try number `attempt` (from 2). */
export function delayBefore(attempt: number, { firstDelayMs, maxDelayMs }: Pacing): number {
  const fullMs = Math.min(maxDelayMs, firstDelayMs * 2 ** (attempt - 2));
  return fullMs * (1 - Math.random() / 2);
}

/** Throws the signal's reason as soon as it aborts. */
export async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(durationMs, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
