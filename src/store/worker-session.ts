import pg from "pg";
import { defineStatement } from "./database.ts";
import type { Queryable } from "./database.ts";
import { WORKER_APPLICATION } from "./queries/worker-upkeep.ts";
import { streamOf } from "./silent-connections.ts";

/** A worker's own connection. It holds the lock of the worker's number, so the lock ends with the process. */
export type WorkerSession = {
  /** Written to each run of this session. It is never used again: once its lock is free, it stays free. */
  worker: number;
  /** Aborted when the connection breaks: other workers take its runs over from then on. */
  lost: AbortSignal;
  close(): Promise<void>;
};

export class SessionLost extends Error {
  override name = "SessionLost";
}

/** The first of two lock keys; the second is the worker's number. Nothing else in this database uses it. */
const WORKER_LOCKS = 7_382_015;
const CONNECT_TIMEOUT_MS = 3000;
const PING_MS = 5000;
const LONGEST_END_MS = 2000;
/** The server notices that a worker vanished without closing its connection after 25 s; the worker itself before. */
const SERVER_OPTIONS = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3";
const TAKE_NUMBER = `select n.worker, pg_advisory_lock(${WORKER_LOCKS}, n.worker)
                       from (select nextval('worker_number')::integer as worker) n`;

/** Opens a session with a number of its own. Throws when the database does not answer. */
export async function openWorkerSession(databaseUrl: string): Promise<WorkerSession> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: PING_MS,
    keepAlive: true,
    application_name: WORKER_APPLICATION,
    options: SERVER_OPTIONS,
  });
  const lost = new AbortController();
  const lose = (): void => lost.abort(new SessionLost("The worker lost its connection to the database."));
  client.on("error", lose);
  client.on("end", lose);
  try {
    await client.connect();
    const { rows } = await client.query<{ worker: number }>(TAKE_NUMBER);
    const pinging = setInterval(() => void client.query("select").catch(lose), PING_MS);
    return {
      worker: rows[0]?.worker ?? 0,
      lost: lost.signal,
      close: async () => {
        clearInterval(pinging);
        await endSoon(client);
      },
    };
  } catch (error) {
    await endSoon(client);
    throw error;
  }
}

/** A connection into nowhere never confirms its end. */
async function endSoon(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => streamOf(client).destroy(), LONGEST_END_MS);
  await client.end().catch(() => {});
  clearTimeout(timer);
}

const LIST_ENDED_WORKERS = defineStatement({
  name: "list_ended_workers",
  text: `select w.worker from unnest($1::integer[]) w (worker)
          where pg_try_advisory_xact_lock(${WORKER_LOCKS}, w.worker)`,
});

/** Of these workers those whose session has ended. */
export async function listEndedWorkers(database: Queryable, workers: readonly number[]): Promise<number[]> {
  const rows = await database.rows<{ worker: number }>(LIST_ENDED_WORKERS, [workers]);
  return rows.map(({ worker }) => worker);
}
