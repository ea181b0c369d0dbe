import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type Cluster, explain, openCluster, userName } from "./embedded-cluster.ts";
import { findServer, type Server, startServer, stopServer } from "./embedded-server.ts";

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
  /** Leaves; the last process to leave stops the server. Never throws, and may be called twice. */
  release(): Promise<void>;
};

/** One process's part in the server: its connection, which holds the shared lock. */
type Seat = { client: pg.Client; port: number; started: boolean };

const databaseName = "returns";
const waitMs = 60_000;
const retryMs = 100;
const rejoinMs = 1_000;
/** Any number will do that nothing else locks in the database `postgres`. */
const presenceLock = 7_382_013;

/** What passes: the server is starting or stopping, or was stopped under our feet (57014 while we logged in). */
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
  let seat = await takeSeat(cluster, password, settings);
  const left = new AbortController();
  let leaving: Promise<void> | undefined;
  keepSeat();
  return {
    url: `postgresql://${userName}:${password}@127.0.0.1:${seat.port}/${databaseName}`,
    started: seat.started,
    release: () => {
      left.abort();
      return (leaving ??= leave(cluster, seat, options.log));
    },
  };

  /** When the server dies under us it is started again, on the same port if it is free: pools then reconnect. */
  function keepSeat() {
    seat.client.once("end", () => void rejoin());
  }

  async function rejoin(): Promise<void> {
    if (left.signal.aborted) return;
    options.log("The embedded database was cut off; joining it again.");
    let lastMessage = "";
    while (!left.signal.aborted) {
      await sleep(rejoinMs);
      try {
        const next = await takeSeat(cluster, password, settings);
        if (left.signal.aborted) return await leave(cluster, next, options.log);
        if (next.port !== seat.port) options.log("The embedded database has another port now: restart this.");
        seat = next;
        return keepSeat();
      } catch (error) {
        const { message } = error as Error;
        if (message !== lastMessage) options.log(`The embedded database is not back yet: ${message}`);
        lastMessage = message;
      }
    }
  }
}

async function takeSeat(cluster: Cluster, password: string, settings: Record<string, string>): Promise<Seat> {
  const deadline = Date.now() + waitMs;
  let lastError = "it neither runs nor starts";
  while (Date.now() < deadline) {
    const running = await findServer(cluster);
    const server = running ?? (await startServer(cluster, { settings, deadline }));
    if (server !== undefined) {
      const outcome = await sitDown(server, password);
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

/** Connects and takes the shared lock. Waits while the last one to leave stops the server, which then cuts us off. */
async function sitDown(server: Server, password: string): Promise<pg.Client | Error> {
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
    await client.query("select pg_advisory_lock_shared($1)", [presenceLock]);
    await createDatabase(client);
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    if (isPassing(error)) return error as Error;
    throw new Error(`The embedded database cannot be joined (${(error as Error).message}).`, {
      cause: error,
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
async function leave(cluster: Cluster, seat: Seat, log: (line: string) => void): Promise<void> {
  try {
    await seat.client.query("select pg_advisory_unlock_shared($1)", [presenceLock]);
    const answer = await seat.client.query("select pg_try_advisory_lock($1) as alone", [presenceLock]);
    if (answer.rows[0].alone) await stopServer(cluster, Date.now() + waitMs);
    await seat.client.end();
  } catch (error) {
    // Of two that leave at once the other may have stopped the server already.
    if (!isPassing(error)) log(`Leaving the embedded database: ${(error as Error).message}`);
  }
}

function readPassword(cluster: Cluster): string {
  try {
    return readFileSync(cluster.passwordFile, "utf8").trim();
  } catch (error) {
    throw explain(error, cluster.folder);
  }
}
