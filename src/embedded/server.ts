import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, fstatSync, ftruncateSync, openSync, readFileSync, renameSync, rmSync } from "node:fs";
import { linkSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { run, serverEnvironment } from "./account.ts";
import { type Cluster, explain, preparePrograms } from "./cluster.ts";

/** A running server of a cluster; it may still be starting or already be stopping. */
export type Server = { pid: number; port: number };

const pollMs = 25;
const logLimitBytes = 10 * 1024 * 1024;
const brokenLockFileAgeMs = 5_000;
/** A process id beyond what systems give out. */
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

/** What happens when two start at once, or right after a crash: not a failure, only a reason to look again. */
const passingFailure =
  // oxlint-disable-next-line house/linear-patterns -- sees the last words of a PostgreSQL of this machine
  /lock file ".*" (already exists|is empty)|shared memory block .* is still in use|could not create any TCP\/IP sockets/;

/**
 * The cluster's running server. PostgreSQL itself overrides the lock file of a dead process, but it gives way to any
 * process that has the number now. Then the number is replaced and the rest kept: PostgreSQL checks it for survivors.
 */
export async function findServer(cluster: Cluster): Promise<Server | undefined> {
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
 * Starts the cluster's server in a session of its own, so that a Ctrl-C in the terminal reaches only this process.
 * The port of last time is taken again when it is free. Returns undefined when another process was faster.
 */
export async function startServer(
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
  if (passingFailure.test(start.failure)) return undefined;
  const reason =
    start.failure.match(/(?:FATAL|PANIC|ERROR): .*/)?.[0] ?? start.failure.trim().split("\n").at(-1);
  throw explain(
    new Error(`PostgreSQL did not start (${reason}), see ${cluster.logFile}.`),
    dirname(cluster.folder),
  );
}

/** Stops the cluster's server, cutting off its clients, and waits until it is gone. */
export async function stopServer(cluster: Cluster, deadline: number): Promise<void> {
  const server = await findServer(cluster);
  if (server === undefined) return;
  process.kill(server.pid, "SIGINT");
  while (await isServerOf(cluster, server.pid)) {
    if (Date.now() > deadline) throw new Error(`PostgreSQL is still stopping, see ${cluster.logFile}.`);
    await sleep(pollMs);
  }
}

/** Asks what the process was started as, because the number may belong to an unrelated process by now. */
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

/** Moves the file away and looks at it again first, so that a server that started meanwhile keeps its lock file. */
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

/** The port if this machine lets a server listen on it; 0 asks for any free one. */
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
