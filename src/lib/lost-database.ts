const LOST_CONNECTION = /^(08|57P)/u;
const NETWORK_CODES = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT"]);
const LOST_TEXT =
  /Connection terminated|timeout exceeded when trying to connect|Query read timeout|connection error and is not queryable|not currently accepting connections|failed to (?:complete COPY on|COPY to shard)/u;

/**
 * Whether what a statement threw means that the database did not answer, by SQLSTATE, error of the network or driver; of a
 * COPY that lost its node on the way Citus gives no SQLSTATE of a connection.
 */
export function isLostDatabase(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code = "" } = error as Error & { code?: unknown };
  return (
    (typeof code === "string" && (LOST_CONNECTION.test(code) || NETWORK_CODES.has(code))) ||
    LOST_TEXT.test(error.message)
  );
}
