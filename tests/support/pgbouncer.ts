import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

/** The first version that reads settings in `options`, and with prepared statements in transaction mode. */
const FIRST_MINOR = 21;
const SCALING = join(import.meta.dirname, "../../docs/scaling.md");
/** PgBouncer refuses to run as root. */
const NOBODY = 65_534;

export type PoolMode = "transaction" | "session";

/** The program (RETURNS_TEST_PGBOUNCER, else of the search path), or why it cannot be tried. */
export function findPgbouncer(): { program: string } | { problem: string } {
  const program = process.env["RETURNS_TEST_PGBOUNCER"] ?? "pgbouncer";
  const { stdout, error } = spawnSync(program, ["--version"], { encoding: "utf8" });
  if (error !== undefined) return { problem: `not tried: there is no ${program} on this machine` };
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/u.exec(stdout) ?? [];
  if (Number(major) === 1 && Number(minor) >= FIRST_MINOR) return { program };
  return {
    problem: `not tried: PgBouncer ${major}.${minor} is here, docs/scaling.md asks for 1.${FIRST_MINOR}`,
  };
}

/**
 * Starts PgBouncer with the settings of docs/scaling.md in front of a database; returns the address of the pooled one, for
 * the first of the logins. `urls`: the database as each login that may come.
 */
export async function startPgbouncer(
  context: TestContext,
  { program, mode, urls }: { program: string; mode: PoolMode; urls: readonly [string, ...string[]] },
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "returns-pgbouncer-"));
  chmodSync(folder, 0o755);
  const { hostname, port, username, pathname } = new URL(urls[0]);
  const logins = urls.map((url) => new URL(url));
  const users = logins.map((login) => `"${login.username}" "${decodeURIComponent(login.password)}"`);
  writeFileSync(join(folder, "users.txt"), `${users.join("\n")}\n`, { mode: 0o644 });
  const listenPort = await freePort();
  const file = join(folder, "pgbouncer.ini");
  const lines = [
    "[databases]",
    `* = host=${hostname} port=${port || 5432}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${listenPort}`,
    "unix_socket_dir =",
    "auth_type = trust",
    `auth_file = ${join(folder, "users.txt")}`,
    `pool_mode = ${mode}`,
    ...(mode === "transaction" ? ["default_pool_size = 2"] : []),
    ...documentedSettings(),
  ];
  writeFileSync(file, `${lines.join("\n")}\n`, { mode: 0o644 });
  const child = spawn(program, ["-q", file], {
    stdio: "ignore",
    ...(process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}),
  });
  context.after(async () => {
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    rmSync(folder, { recursive: true });
  });
  // Until it listens, connections are refused.
  await sleep(500);
  if (child.exitCode !== null) throw new Error(`PgBouncer ended with ${child.exitCode}`);
  return `postgres://${username}@127.0.0.1:${listenPort}${pathname}`;
}

/** The lines of the section on poolers that are PgBouncer's. */
function documentedSettings(): string[] {
  const names = "track_extra_parameters|ignore_startup_parameters|max_prepared_statements|tcp_keep[a-z]+";
  return readFileSync(SCALING, "utf8").match(new RegExp(`(?<=^ {4})(?:${names}) = .+$`, "gmu")) ?? [];
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
