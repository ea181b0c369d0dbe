import type { Socket } from "node:net";
import type pg from "pg";

const CHECK_MS = 250;

/** The connections of a pool that wait for the server: single statements automatically, others explicitly. */
export type SilenceWatch = {
  asked(this: void, client: pg.PoolClient): void;
  answered(this: void, client: pg.PoolClient): void;
  stop(this: void): void;
};

/**
 * Closes connections on which a statement has been unanswered for longer than `longestMs` (Infinity = never). One timer
 * checks all: a timer per statement, as pg's `query_timeout` sets it, keeps the statement's objects alive
 * (docs/decisions/0013).
 */
export function watchSilence(pool: pg.Pool, longestMs: number): SilenceWatch {
  const askedMs = new Map<pg.PoolClient, number>();
  const asked = (client: pg.PoolClient): void => void askedMs.set(client, performance.now());
  const answered = (client: pg.PoolClient): void => void askedMs.delete(client);
  const check = (): void => {
    const latestMs = performance.now() - longestMs;
    for (const [client, sinceMs] of askedMs) {
      if (sinceMs > latestMs) continue;
      answered(client);
      cut(client);
    }
  };
  if (longestMs === Infinity) return { asked: () => {}, answered: () => {}, stop: () => {} };
  pool.on("acquire", asked);
  pool.on("release", (_error, client) => answered(client));
  const timer = setInterval(check, CHECK_MS).unref();
  return { asked, answered, stop: () => clearInterval(timer) };
}

/** Rejects the work waiting on a connection and makes the pool open another; `end` first, so that its end is expected. */
function cut(client: pg.PoolClient): void {
  void (client as pg.PoolClient & pg.Client).end();
  streamOf(client).destroy();
}

/** The socket of a connection, which pg's types leave out. */
export function streamOf(client: pg.ClientBase): Socket {
  return (client as pg.ClientBase & { connection: { stream: Socket } }).connection.stream;
}
