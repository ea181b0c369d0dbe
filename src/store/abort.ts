import pg from "pg";

const CANCEL_TIMEOUT_MS = 3000;

/** `end` comes back once nothing is canceled any more, so that the connection's next user is left alone. */
export type Canceling = { end(): Promise<void> };

/**
 * Cancels the running statement of a client when the signal aborts; otherwise the server would run it to its end and hold
 * its transaction's locks. Throws the signal's reason when it has already aborted.
 */
export async function cancelOnAbort(
  pool: pg.Pool,
  client: pg.PoolClient,
  signal: AbortSignal,
): Promise<Canceling> {
  // Behind a pooler, the number that a client has of its connection is the pooler's.
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  signal.throwIfAborted();
  let canceled: Promise<void> | undefined;
  const cancel = (): void => {
    canceled = cancelStatement(pool, rows[0]?.pid ?? 0);
  };
  signal.addEventListener("abort", cancel, { once: true });
  return {
    end: async () => {
      signal.removeEventListener("abort", cancel);
      await canceled;
    },
  };
}

/** On a separate connection, since the pool's may all be in use. Never throws: on failure the statement continues. */
async function cancelStatement(pool: pg.Pool, backendId: number): Promise<void> {
  const other = new pg.Client({ ...pool.options, query_timeout: CANCEL_TIMEOUT_MS });
  other.on("error", () => {});
  await other
    .connect()
    // Citus has another function of this name, for its own numbers.
    .then(() => other.query("select pg_cancel_backend($1::integer)", [backendId]))
    .catch(() => {});
  void other.end().catch(() => {});
}
