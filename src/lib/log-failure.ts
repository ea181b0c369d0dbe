import { isLostDatabase } from "./lost-database.ts";

type Log = { error(fields: object, message: string): void };

const PAUSE_MS = 1000;
let lastAtMs = Number.NEGATIVE_INFINITY;
let unlogged = 0;

/**
 * Logs what a request failed with. While the database is away all of them fail with the same: one line a second, without a
 * stack, says how many since the line before.
 */
export function logFailure(log: Log, error: unknown, route: string | undefined): void {
  if (!isLostDatabase(error)) return log.error({ err: error, route }, "unexpected error");
  unlogged += 1;
  const nowMs = performance.now();
  if (nowMs - lastAtMs < PAUSE_MS) return;
  const [first = error] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  const reason = (first as Error).message;
  log.error({ reason, route, failed_requests: unlogged }, "the database does not answer");
  lastAtMs = nowMs;
  unlogged = 0;
}
