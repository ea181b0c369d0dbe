import pg from "pg";
import type { Queryable } from "./database.ts";
import { hasCitus, isCoordinator } from "./queries/distribute.ts";
import { claimKey, WORKER_APPLICATION } from "./queries/worker-health.ts";
import { streamOf } from "./silent-connections.ts";

export type SourceKey = { shopKey: number; source: string };

/** A worker's own connection. Its claims last as long as it does: it ends with the process. */
export type WorkerSession = {
  /** Aborted when the connection breaks: other workers may claim the same from then on. */
  lost: AbortSignal;
  /** Takes the right to run sources, in this order, up to that many; returns those that no other session has. */
  claim(places: readonly SourceKey[], most: number): Promise<SourceKey[]>;
  /** Releases a claim; no effect on a broken connection. */
  release(place: SourceKey): Promise<void>;
  close(): Promise<void>;
};

class SessionLost extends Error {
  override name = "SessionLost";
}

/** Whether workers and their claims are visible through this connection: on a Citus only the coordinator knows them. */
export async function seesWorkers(database: Queryable): Promise<boolean> {
  return !(await hasCitus(database)) || (await isCoordinator(database));
}

const CONNECT_TIMEOUT_MS = 3000;
const PING_MS = 5000;
const LONGEST_END_MS = 2000;
/** The server notices that a worker vanished without closing its connection after 25 s; the worker itself before. */
const SERVER_OPTIONS = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3";
/** A scan that stops at its limit locks only the rows that it returns. */
const CLAIM = `select p.shop_key::float8 as "shopKey", p.source
                 from unnest($1::bigint[], $2::text[]) p (shop_key, source)
                where pg_try_advisory_lock(${claimKey("p.shop_key", "p.source")}) limit $3`;
const RELEASE = `select pg_advisory_unlock(${claimKey("$1::bigint", "$2::text")})`;

/** `pingMs`: also how long a statement may take. Throws when the database does not answer. */
export async function openWorkerSession(databaseUrl: string, pingMs = PING_MS): Promise<WorkerSession> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: pingMs,
    keepAlive: true,
    application_name: WORKER_APPLICATION,
    options: SERVER_OPTIONS,
  });
  const lost = new AbortController();
  const lose = (): void => lost.abort(new SessionLost("The worker lost its connection to the database."));
  client.on("error", lose);
  client.on("end", lose);
  await client.connect();
  let last: Promise<unknown> = Promise.resolve();
  /**
   * One statement after the other: the driver no longer takes one while another runs. After one without an answer, the server may hold
   * a claim that nobody knows of, and that only the end of the connection releases.
   */
  const query = <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) => {
    const answer = last.then(() => client.query<Row>(text, values));
    last = answer.catch(lose);
    return answer;
  };
  const pinging = setInterval(() => void query("select").catch(() => {}), pingMs);
  return {
    lost: lost.signal,
    claim: async (places, most) => {
      const values = [places.map(({ shopKey }) => shopKey), places.map(({ source }) => source), most];
      return (await query<SourceKey>(CLAIM, values)).rows;
    },
    release: async ({ shopKey, source }) => {
      await query(RELEASE, [shopKey, source]).catch(() => {});
    },
    close: async () => {
      clearInterval(pinging);
      // A connection into nowhere never confirms its end.
      const timer = setTimeout(() => streamOf(client).destroy(), LONGEST_END_MS);
      await client.end().catch(() => {});
      clearTimeout(timer);
    },
  };
}
