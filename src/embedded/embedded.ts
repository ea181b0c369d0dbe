import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type Cluster, explain, openCluster, userName } from "./cluster.ts";
import { findServer, type Server, startServer, stopServer } from "./server.ts";

export type EmbeddedOptions = {
  dataFolder: string;
  log: (line: string) => void;
  /** Settings of the server; they count only for the process that starts it. */
  settings?: Record<string, string>;
};

export type EmbeddedDatabase = {
  /** Connection string of the database `returns`. */
  url: string;
  /** Whether this call started the server; otherwise it joined a running one. */
  started: boolean;
  /** Takes the right to serve this data folder until the release; false when another process has it. */
  claimService(): Promise<boolean>;
  /** Leaves; the last process to leave stops the server. Never throws, and may be called twice. */
  release(): Promise<void>;
};

/** One process's part in the server: its connection, which holds the shared lock. */
type Presence = { client: pg.Client; port: number; started: boolean };

const databaseName = "returns";
const waitMs = 60_000;
const retryMs = 100;
const rejoinMs = 1_000;
/** The last one to leave has the lock for moments: the server then ends this connection. */
const lockWaitMs = 10_000;
/** Any numbers will do that nothing else locks in the database `postgres`. */
const presenceLock = 7_382_013;
const serviceLock = 7_382_014;

const lockNotAvailable = "55P03";

/** Passing errors: the server is starting or stopping, or was stopped while this process logged in (57014). */
const passingErrors = new Set(
  "57014 57P01 57P02 57P03 53300 ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT".split(" "),
);

/**
 * Uses the embedded PostgreSQL of a data folder, making and starting it when needed. Every process that uses the server
 * holds a shared lock in it; the one that leaves tries for the exclusive lock, and stops the server when it gets it.
 * Throws one clear sentence when the database cannot be used within 60 s.
 */
export async function joinEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const settings = options.settings ?? {};
  const cluster = await openCluster(options.dataFolder, settings);
  const password = readPassword(cluster);
  let presence = await join(cluster, password, settings);
  const left = new AbortController();
  let isServing = false;
  let rejoining: Promise<void> | undefined;
  let leaving: Promise<void> | undefined;
  watchConnection();
  return {
    url: `postgresql://${userName}:${password}@127.0.0.1:${presence.port}/${databaseName}`,
    started: presence.started,
    claimService: async () => (isServing = await tryLock(presence.client, serviceLock)),
    release: () => (leaving ??= release()),
  };

  async function release(): Promise<void> {
    left.abort();
    await rejoining;
    await leave(cluster, presence, options.log);
  }

  /** A server that dies is started again, on the same port if it is free: pools then reconnect. */
  function watchConnection() {
    presence.client.once("end", () => {
      if (!left.signal.aborted) rejoining = rejoin();
    });
  }

  async function rejoin(): Promise<void> {
    options.log("The embedded database was cut off; joining it again.");
    let lastMessage = "";
    while (!left.signal.aborted) {
      await sleep(rejoinMs, undefined, { signal: left.signal }).catch(() => {});
      try {
        // A server that still runs is joined once more to leave it, so that the last to leave stops it.
        if (left.signal.aborted && (await findServer(cluster)) === undefined) return;
        const next = await join(cluster, password, settings);
        const isServedByOther = isServing && !(await tryLock(next.client, serviceLock));
        if (isServedByOther) options.log("Another process serves this data folder now.");
        if (next.port !== presence.port)
          options.log("The embedded database has another port now: restart this.");
        presence = next;
        return watchConnection();
      } catch (error) {
        const { message } = error as Error;
        if (message !== lastMessage) options.log(`The embedded database is not back yet: ${message}`);
        lastMessage = message;
      }
    }
  }
}

async function join(cluster: Cluster, password: string, settings: Record<string, string>): Promise<Presence> {
  const deadline = Date.now() + waitMs;
  let lastError = "it neither runs nor starts";
  while (Date.now() < deadline) {
    const running = await findServer(cluster);
    const server = running ?? (await startServer(cluster, { settings, deadline }));
    if (server !== undefined) {
      const outcome = await connect(server, password);
      if (outcome instanceof pg.Client) {
        return { client: outcome, port: server.port, started: running === undefined };
      }
      lastError = outcome.message;
    }
    await sleep(retryMs);
  }
  throw new Error(
    `The embedded database did not become ready in time (${lastError}), see ${cluster.logFile}.`,
  );
}

/** Connects and takes the shared lock. Waits while the last process to leave stops the server, which ends this connection. */
async function connect(server: Server, password: string): Promise<pg.Client | Error> {
  const client = new pg.Client({
    host: "127.0.0.1",
    port: server.port,
    user: userName,
    password,
    database: "postgres",
    application_name: "returns-presence",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  client.on("error", () => {});
  try {
    await client.connect();
    await takePresence(client);
    await createDatabase(client);
    await closeDatabases(client);
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    if (isPassing(error)) return error as Error;
    throw new Error(`The embedded database cannot be joined (${(error as Error).message}).`, {
      cause: error,
    });
  }
}

/** Throws one sentence when a session that is no part of the service holds the lock. */
async function takePresence(client: pg.Client): Promise<void> {
  try {
    await client.query(
      `set lock_timeout = ${lockWaitMs}; select pg_advisory_lock_shared(${presenceLock}); reset lock_timeout`,
    );
  } catch (error) {
    if ((error as { code?: string }).code !== lockNotAvailable) throw error;
    const { rows } = await client.query<{ pid: number; usename: string }>(
      `select pid, usename from pg_locks join pg_stat_activity using (pid)
        where locktype = 'advisory' and objid = $1 and mode = 'ExclusiveLock' and granted`,
      [presenceLock],
    );
    const holder =
      rows.map(({ pid, usename }) => `process ${pid} of ${usename}`).join(", ") || "nobody any more";
    throw new Error(
      `another session held its lock for ${lockWaitMs / 1000} s, now ${holder}: end it, and try again`,
      {
        cause: error,
      },
    );
  }
}

/** Logins of roles have nothing to do in the databases of the system, where they could take this lock. */
async function closeDatabases(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ datname: string }>(
    `select datname from pg_database
      where datname in ('postgres', 'template1') and has_database_privilege('public', oid, 'connect')`,
  );
  for (const { datname } of rows) {
    // Another process that joined at the same moment does it (XX000: tuple concurrently updated).
    await client
      .query(`revoke connect on database ${datname} from public`)
      .catch((error: { code?: string }) => {
        if (error.code !== "XX000") throw error;
      });
  }
}

function isPassing(error: unknown): boolean {
  const { code, message } = error as Error & { code?: string };
  return passingErrors.has(code ?? "") || /terminated|timeout expired|not queryable/i.test(message);
}

async function createDatabase(client: pg.Client): Promise<void> {
  const found = await client.query("select 1 from pg_database where datname = $1", [databaseName]);
  if (found.rows.length > 0) return;
  try {
    await client.query(`create database ${databaseName}`);
  } catch (error) {
    // Another process that joined at the same moment made it: 42P04 before, 23505 during our attempt.
    if (!["42P04", "23505"].includes((error as { code?: string }).code ?? "")) throw error;
  }
}

/** Gives up the shared lock before trying the exclusive one: of two that leave at once the later is alone then. */
async function leave(cluster: Cluster, presence: Presence, log: (line: string) => void): Promise<void> {
  try {
    await presence.client.query("select pg_advisory_unlock_shared($1)", [presenceLock]);
    if (await tryLock(presence.client, presenceLock)) await stopServer(cluster, Date.now() + waitMs);
    await presence.client.end();
  } catch (error) {
    // Of two that leave at once the other may have stopped the server already.
    if (!isPassing(error)) log(`Leaving the embedded database: ${(error as Error).message}`);
  }
}

async function tryLock(client: pg.Client, lock: number): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>("select pg_try_advisory_lock($1) as taken", [lock]);
  return rows[0]?.taken === true;
}

function readPassword(cluster: Cluster): string {
  try {
    return readFileSync(cluster.passwordFile, "utf8").trim();
  } catch (error) {
    throw explain(error, cluster.folder);
  }
}
