import type pg from "pg";

const LOOK_MS = 250;

/**
 * Ends connections that have been held for longer than `longestMs`: PostgreSQL ends a statement by itself before
 * that, so that the server or the way to it is gone. Whatever waits on such a connection is rejected, and the pool
 * opens another. All are looked at together now and then, because pg's own `query_timeout` costs a timer for each statement,
 * behind which the statement's garbage grows old (docs/decisions/0013).
 */
export function endSilentConnections(pool: pg.Pool, longestMs: number): { stop: () => void } {
  const heldSince = new Map<pg.PoolClient, number>();
  pool.on("acquire", (client) => heldSince.set(client, performance.now()));
  pool.on("release", (_error, client) => heldSince.delete(client));
  const look = (): void => {
    const latestMs = performance.now() - longestMs;
    for (const [client, sinceMs] of heldSince) {
      if (sinceMs > latestMs) continue;
      heldSince.delete(client);
      // A connection that waits for an answer is cut at once. The pool's own clients have `end`, their type has not.
      void (client as pg.PoolClient & pg.Client).end();
    }
  };
  const timer = setInterval(look, LOOK_MS).unref();
  return { stop: () => clearInterval(timer) };
}
