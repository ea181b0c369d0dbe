type Log = { error(fields: object, message: string): void };

const PAUSE_MS = 1000;
let lastAtMs = Number.NEGATIVE_INFINITY;
let unlogged = 0;

/**
 * Logs the error of a request. While the database is unavailable all of them fail with the same error: one line a second, without
 * a stack, counts those since the previous line.
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

const LOST_CONNECTION = /^(08|57P)/u;
const NETWORK_CODES = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT"]);
const LOST_TEXT =
  /Connection terminated|timeout exceeded when trying to connect|Query read timeout|connection error and is not queryable|not currently accepting connections|failed to (?:complete COPY on|COPY to shard)/u;

/**
 * Whether a statement's error means that the database did not answer, by SQLSTATE, network or driver error; for a COPY that lost
 * its node on the way Citus reports no connection SQLSTATE.
 */
export function isLostDatabase(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code = "" } = error as Error & { code?: unknown };
  return (
    (typeof code === "string" && (LOST_CONNECTION.test(code) || NETWORK_CODES.has(code))) ||
    LOST_TEXT.test(error.message)
  );
}
