import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { run, serverEnvironment } from "./account.ts";
import { explain, openCluster, preparePrograms, userName, type Cluster } from "./cluster.ts";

type EmbeddedOptions = {
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
/** The last process to leave holds the lock only until the server stops, which ends this connection. */
const lockWaitMs = 10_000;
/** Any numbers will do that nothing else locks in the database `postgres`. */
const presenceLock = 7_382_013;
const serviceLock = 7_382_014;

const lockNotAvailable = "55P03";

/** Transient errors: the server is starting or stopping, or was stopped while this process logged in (57014). */
const transientErrors = new Set(
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
  let presence = await joinCluster(cluster, password, settings);
  const left = new AbortController();
  let isServing = false;
  let rejoining: Promise<void> | undefined;
  let leaving: Promise<void> | undefined;
  watchConnection();
  return {
    url: `postgresql://${userName}:${password}@127.0.0.1:${presence.port}/${databaseName}`,
    started: presence.started,
    claimService: async () => {
      await rejoining;
      return (isServing = await tryLock(presence.client, serviceLock));
    },
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
    options.log("The connection to the embedded database was lost; reconnecting.");
    let lastMessage = "";
    while (!left.signal.aborted) {
      await sleep(rejoinMs, undefined, { signal: left.signal }).catch(() => {});
      try {
        // A server that still runs is joined again in order to leave it, so that the last process to leave stops it.
        if (left.signal.aborted && (await findServer(cluster)) === undefined) return;
        const next = await joinCluster(cluster, password, settings);
        const isServedByOther = isServing && !(await tryLock(next.client, serviceLock));
        if (isServedByOther) options.log("Another process serves this data folder now.");
        if (next.port !== presence.port)
          options.log("The embedded database uses another port now: restart this process.");
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

async function joinCluster(
  cluster: Cluster,
  password: string,
  settings: Record<string, string>,
): Promise<Presence> {
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
    if (isTransient(error)) return error as Error;
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

/** Logins of roles need no access to the system databases, where they could take this lock. */
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

function isTransient(error: unknown): boolean {
  const { code, message } = error as Error & { code?: string };
  return transientErrors.has(code ?? "") || /terminated|timeout expired|not queryable/i.test(message);
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

/** Releases the shared lock before trying the exclusive one: of two processes that leave at once, the later one then gets it. */
async function leave(cluster: Cluster, presence: Presence, log: (line: string) => void): Promise<void> {
  try {
    await presence.client.query("select pg_advisory_unlock_shared($1)", [presenceLock]);
    if (await tryLock(presence.client, presenceLock)) await stopServer(cluster, Date.now() + waitMs);
    await presence.client.end();
  } catch (error) {
    // Of two that leave at once the other may have stopped the server already.
    if (!isTransient(error)) log(`Leaving the embedded database: ${(error as Error).message}`);
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

/** A running server of a cluster; it may still be starting or already be stopping. */
type Server = { pid: number; port: number };

const pollMs = 25;
const logLimitBytes = 10 * 1024 * 1024;
const brokenLockFileAgeMs = 5_000;
/** A process id beyond those that systems assign. */
const noProcess = 2_147_483_646;

const defaultSettings = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  shared_buffers: "256MB",
  max_connections: "100",
  random_page_cost: "1.1",
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  log_checkpoints: "off",
};

/** Errors of two concurrent starts, or right after a crash: not failures, but reasons to check again. */
const transientFailure =
  // oxlint-disable-next-line house/linear-patterns -- reads only the log of a local PostgreSQL
  /lock file ".*" (already exists|is empty)|shared memory block .* is still in use|could not create any TCP\/IP sockets/;

/**
 * The cluster's running server. PostgreSQL itself replaces the lock file of a dead process, but not if another process has
 * its number now. In that case the number is replaced and the rest kept, by which PostgreSQL finds surviving processes.
 */
async function findServer(cluster: Cluster): Promise<Server | undefined> {
  const lockFile = join(cluster.dataFolder, "postmaster.pid");
  const text = readText(lockFile);
  if (text === undefined) return undefined;
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (pid > 0 && (await isServerOf(cluster, pid))) return port > 0 ? { pid, port } : undefined;
  const ageMs = Date.now() - (statSync(lockFile, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  if (pid > 0 && exists(pid)) replaceLockFile(lockFile, text, text.replace(/^\d+/, String(noProcess)));
  else if (!(pid > 0) && ageMs > brokenLockFileAgeMs) replaceLockFile(lockFile, text, undefined);
  return undefined;
}

/**
 * Starts the cluster's server in a separate session, so that a Ctrl-C in the terminal reaches only this process. The previous
 * port is reused if it is free. Returns undefined if another process was faster.
 */
async function startServer(
  cluster: Cluster,
  options: { settings: Record<string, string>; deadline: number },
): Promise<Server | undefined> {
  const { binaries, account } = await preparePrograms(cluster);
  const port = await choosePort(Number(readText(cluster.portFile)));
  const settings = { ...defaultSettings, ...options.settings, port: String(port) };
  const { log, offset } = openLog(cluster);
  // Not through pg_ctl: its shell would interpret characters of the folder's path.
  const child = spawn(
    join(binaries, "postgres"),
    [
      "-D",
      cluster.dataFolder,
      ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ],
    {
      cwd: "/",
      env: serverEnvironment,
      detached: true,
      stdio: ["ignore", log, log],
      ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }),
    },
  );
  closeSync(log);
  const start: { failure?: string } = {};
  child.on("error", (error) => (start.failure = error.message));
  child.on("exit", () => (start.failure = readText(cluster.logFile)?.slice(offset) ?? ""));
  child.unref();
  while (start.failure === undefined) {
    const isReady = readText(join(cluster.dataFolder, "postmaster.pid"))?.split("\n")[7]?.trim() === "ready";
    const server = isReady ? await findServer(cluster) : undefined;
    if (server !== undefined && server.pid === child.pid) {
      writeFileSync(cluster.portFile, `${server.port}\n`, { mode: 0o600 });
      return server;
    }
    if (Date.now() > options.deadline)
      throw new Error(`PostgreSQL is still starting, see ${cluster.logFile}.`);
    await sleep(pollMs);
  }
  if (transientFailure.test(start.failure)) return undefined;
  const reason =
    start.failure.match(/(?:FATAL|PANIC|ERROR): .*/)?.[0] ?? start.failure.trim().split("\n").at(-1);
  throw explain(
    new Error(`PostgreSQL did not start (${reason}), see ${cluster.logFile}.`),
    dirname(cluster.folder),
  );
}

/** Stops the cluster's server, disconnecting its clients, and waits for its end. */
async function stopServer(cluster: Cluster, deadline: number): Promise<void> {
  const server = await findServer(cluster);
  if (server === undefined) return;
  process.kill(server.pid, "SIGINT");
  while (await isServerOf(cluster, server.pid)) {
    if (Date.now() > deadline) throw new Error(`PostgreSQL is still stopping, see ${cluster.logFile}.`);
    await sleep(pollMs);
  }
}

/** Checks the process's command line, because the number may belong to another process now. */
async function isServerOf(cluster: Cluster, pid: number): Promise<boolean> {
  const command =
    process.platform === "linux"
      ? (readText(`/proc/${pid}/cmdline`)?.replaceAll("\0", " ") ?? "")
      : (await run("ps", ["-ww", "-o", "command=", "-p", String(pid)], undefined)).output;
  return command.includes(`postgres -D ${cluster.dataFolder} `);
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Moves the file away and checks it again first, so that a server that has started meanwhile keeps its lock file. */
function replaceLockFile(lockFile: string, judgedText: string, newText: string | undefined): void {
  const aside = `${lockFile}.${randomBytes(4).toString("hex")}`;
  try {
    renameSync(lockFile, aside);
    const isJudged = readText(aside) === judgedText;
    if (isJudged && newText !== undefined) writeFileSync(aside, newText);
    if (!isJudged || newText !== undefined) linkSync(aside, lockFile);
  } catch {
    // Another process was faster.
  }
  rmSync(aside, { force: true });
}

async function choosePort(preferred: number): Promise<number> {
  return (preferred > 0 ? await listen(preferred) : undefined) ?? (await listen(0)) ?? 0;
}

/** The port if a server can listen on it; 0 selects any free one. */
function listen(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? address?.port : undefined));
    });
  });
}

/** Opens the log to append to, emptied when it has grown large, and returns where this start's lines will begin. */
function openLog(cluster: Cluster): { log: number; offset: number } {
  try {
    const log = openSync(cluster.logFile, "a", 0o600);
    if (fstatSync(log).size > logLimitBytes) ftruncateSync(log);
    return { log, offset: fstatSync(log).size };
  } catch (error) {
    throw explain(error, dirname(cluster.folder));
  }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
