import pg from "pg";
import { defineStatement } from "./database.ts";
import type { Connection } from "./database.ts";
import { streamOf } from "./silent-connections.ts";

/** The right to run one source of one shop, held by one process at a time. */
export type RunClaim = {
  /** Aborted when the connection that holds the claim breaks: another process may take it from then on. */
  signal: AbortSignal;
  release(): Promise<void>;
};

export class ClaimLost extends Error {
  override name = "ClaimLost";
}

const CONNECT_TIMEOUT_MS = 3000;
const PING_MS = 5000;
const LONGEST_END_MS = 2000;
const CLAIM_KEY = "hashtextextended('run of ' || $2::text, $1::bigint)";

/** The server notices a holder that vanished without a word after about half a minute; the holder itself before. */
const SERVER_OPTIONS = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3";

/**
 * Takes the claim, or returns null when another run has it. It is a lock of a separate connection, so it ends when the
 * process ends, however that happens. Throws when the database does not answer.
 */
export async function claimRun(
  databaseUrl: string,
  shopKey: number,
  source: string,
): Promise<RunClaim | null> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: PING_MS,
    keepAlive: true,
    application_name: "returns-run",
    options: SERVER_OPTIONS,
  });
  const lost = new AbortController();
  const lose = (): void => lost.abort(new ClaimLost("The run lost its connection to the database."));
  client.on("error", lose);
  client.on("end", lose);
  try {
    await client.connect();
    const { rows } = await client.query<{ is_claimed: boolean }>(
      `select pg_try_advisory_lock(${CLAIM_KEY}) as is_claimed`,
      [shopKey, source],
    );
    if (rows[0]?.is_claimed !== true) {
      await client.end();
      return null;
    }
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
  const pinging = setInterval(() => void client.query("select").catch(lose), PING_MS);
  return {
    signal: lost.signal,
    release: async () => {
      clearInterval(pinging);
      client.off("end", lose);
      await endSoon(client);
    },
  };
}

/** A connection into nowhere never confirms its end. */
async function endSoon(client: pg.Client): Promise<void> {
  const stream = streamOf(client);
  const timer = setTimeout(() => stream.destroy(), LONGEST_END_MS);
  await client.end().catch(() => {});
  clearTimeout(timer);
}

const TRY_CLAIM = defineStatement({
  name: "try_run_claim",
  text: `select pg_try_advisory_xact_lock(${CLAIM_KEY}) as is_claimed`,
});

/** Whether no run holds the claim; then it is this transaction's to its end. */
export async function isClaimFree(connection: Connection, shopKey: number, source: string): Promise<boolean> {
  const [row] = await connection.rows<{ is_claimed: boolean }>(TRY_CLAIM, [shopKey, source]);
  return row?.is_claimed === true;
}
