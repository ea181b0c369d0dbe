import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test, type TestContext } from "node:test";
import type pg from "pg";
import pino from "pino";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { startInstallationWorker } from "../src/app.ts";
import { readConfig } from "../src/config.ts";
import { OPERATOR } from "../src/actions/actor.ts";
import { runAction } from "../src/actions/action.ts";
import { textInput } from "../src/actions/field.ts";
import { connectSource } from "../src/actions/sources/connect.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { openInstallation } from "../src/installation.ts";
import { openDatabase, type Database } from "../src/store/database.ts";
import { ROLES } from "../src/store/role-rights.ts";
import { openWorkerSession } from "../src/store/worker-session.ts";
import { isCitus } from "./support/citus.ts";
import { asRole, createTestDatabase, type TestDatabase } from "./support/database.ts";
import { freePort } from "./support/free-port.ts";
import { openTestKeys } from "./support/secret.ts";
import { execute } from "./support/server.ts";
import { startServerProcess } from "./support/server-process.ts";
import { openTestPool, serviceEnvironment } from "./support/service.ts";
import { countedRequests, createTenant } from "./support/tenants.ts";
import { eventually } from "./support/worker.ts";
import { makeWorkspace } from "./support/workspace.ts";
import { makeFolder } from "./support/folder.ts";

/** The first version that reads settings in `options`, and with prepared statements in transaction mode. */
const FIRST_MINOR = 21;
const SCALING = join(import.meta.dirname, "../docs/scaling.md");
/** The user to run PgBouncer as, which refuses to run as root. */
const NOBODY = 65_534;

type PoolMode = "transaction" | "session";

/** The program (RETURNS_TEST_PGBOUNCER, else from the PATH), or why it cannot be used. */
function findPgbouncer(): { program: string } | { problem: string } {
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
 * Starts PgBouncer with the settings of docs/scaling.md in front of a database; returns the pooled address for the first
 * login. `urls`: the database's address for each login.
 */
async function startPgbouncer(
  context: TestContext,
  { program, mode, urls }: { program: string; mode: PoolMode; urls: readonly [string, ...string[]] },
): Promise<string> {
  const folder = makeFolder();
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

/** Servers and workers behind PgBouncer with the settings of docs/scaling.md. Without a PgBouncer, each test says so. */

const TIMEOUT_MS = 300;
const WRITE = { name: "write", text: "insert into plan (plan_key, entitlements) values ('pooled', '{}')" };

let testDatabase: TestDatabase;
let database: pg.Pool;
let role: string;
let roleUrl: string;
before(async () => {
  testDatabase = await createTestDatabase();
  database = openTestPool(testDatabase.url);
  role = `returns_server_${randomBytes(4).toString("hex")}`;
  await execute(testDatabase.url, `create role ${role} login password 'pooled' in role returns_reader`);
  await execute(testDatabase.url, `alter role ${role} set statement_timeout = ${TIMEOUT_MS}`);
  roleUrl = Object.assign(new URL(testDatabase.url), { username: role, password: "pooled" }).href;
});
after(async () => {
  await database.end();
  await testDatabase.drop();
  await execute(process.env["RETURNS_TEST_DATABASE_URL"] ?? "", `drop role ${role}`);
});

/** Runs `work` on the pooled address, unless there is no PgBouncer. */
async function behind(
  context: TestContext,
  mode: PoolMode,
  work: (pooledUrl: string) => Promise<void>,
  url = roleUrl,
): Promise<void> {
  const found = findPgbouncer();
  if ("problem" in found) return context.diagnostic(found.problem);
  const urls = [url, ...ROLES.map((name) => asRole(testDatabase.url, name)), testDatabase.url] as const;
  await work(await startPgbouncer(context, { program: found.program, mode, urls }));
}

function openReading(url: string, readOnly: boolean): Database {
  return openDatabase({
    url,
    maxConnections: 6,
    readOnly,
    statementTimeoutMs: 0,
    applicationName: "returns-reading",
    onConnectionError: () => {},
  });
}

test("a server in transaction mode answers, and counts each request once", async (context) => {
  await behind(context, "transaction", async (url) => {
    const tenant = await createTenant(database);
    const server = await startServerProcess(context, url);
    const asked = Array.from({ length: 40 }, () => server.call("/api/v1/alerts", { token: tenant.token }));
    const answers = await Promise.all(asked);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.equal(await countedRequests(database, tenant), answers.length);
  });
});

test("a reader's connection that is not set to read only cannot write either", async (context) => {
  await behind(context, "transaction", async (url) => {
    const reading = openReading(url, false);
    try {
      await assert.rejects(reading.rows(WRITE, []), { code: "42501" });
    } finally {
      await reading.close();
    }
  });
});

test("behind a pooler of the coordinator, servers check requests directly on the nodes", async (context) => {
  if (!isCitus()) return context.diagnostic("needs a Citus: RETURNS_TEST_CITUS=1 (CONTRIBUTING.md)");
  await behind(context, "transaction", async (url) => {
    const tenant = await createTenant(database);
    const server = await startServerProcess(context, url);
    let asked = 0;
    const isStraight = async (): Promise<boolean> => {
      assert.equal((await server.call("/api/v1/alerts", { token: tenant.token })).status, 200);
      asked += 1;
      const { rows } = await database.query<{ connections: number }>(
        `select sum(result::integer)::integer as connections from run_command_on_workers(
           $$select count(*) from pg_stat_activity
              where application_name = 'returns-admission' and datname = current_database()$$)`,
      );
      return (rows[0]?.connections ?? 0) > 0;
    };
    await eventually(isStraight, "a connection of the server on a node");
    await isStraight();
    assert.equal(await countedRequests(database, tenant), asked);
  });
});

test("in transaction mode settings stay with their connection, and the role's timeout applies", async (context) => {
  await behind(context, "transaction", async (url) => {
    const reading = openReading(url, true);
    try {
      await assert.rejects(reading.rows(WRITE, []), { code: "25006" });
      const [row] = await reading.rows<{ zone: string }>(
        { name: "zone", text: "select current_setting('timezone') as zone" },
        [],
      );
      assert.equal(row?.zone, "UTC");
      await assert.rejects(reading.rows({ name: "sleep", text: "select pg_sleep(60)" }, []), {
        code: "57014",
      });
    } finally {
      await reading.close();
    }
  });
});

test("in transaction mode prepared statements work", async (context) => {
  await behind(context, "transaction", async (url) => {
    const reading = openReading(url, true);
    try {
      const sums = await Promise.all(
        Array.from({ length: 60 }, async (_, index) => {
          const text = `select ${index % 7} + $1::integer as sum`;
          const [row] = await reading.rows<{ sum: number }>({ name: `sum_${index % 7}`, text }, [index]);
          return row?.sum;
        }),
      );
      assert.deepEqual(
        sums,
        sums.map((_, index) => (index % 7) + index),
      );
    } finally {
      await reading.close();
    }
  });
});

test("a worker in session mode claims only what no other has claimed", async (context) => {
  await behind(context, "session", async (url) => {
    const places = [{ shopKey: 1, source: "shopify" }];
    const first = await openWorkerSession(url);
    const second = await openWorkerSession(url);
    assert.deepEqual(await first.claim(places, 1), places);
    assert.deepEqual(await second.claim(places, 1), []);
    await first.close();
    assert.deepEqual(await second.claim(places, 1), places);
    await second.close();
  });
});

test("a worker in session mode syncs a shop", async (context) => {
  const work = async (url: string): Promise<void> => {
    const config = readConfig(serviceEnvironment(url));
    const installation = await openInstallation(config, () => {});
    const simulator = await startShopifySimulator({ orders: 12, products: 4, bulkMillis: 5 });
    context.after(async () => {
      await simulator.stop();
      await installation.close();
    });
    const control = installation.database;
    const keys = await openTestKeys(control);
    const workspace = await makeWorkspace(control, "pooled.example");
    const connecting = { publicUrl: null, app: null };
    const caller = { database: control, keys, connecting, workspace, actor: OPERATOR, now: new Date() };
    const given = { source: "shopify", address: simulator.url, "secret-accessToken": simulator.token };
    await runAction(connectSource, caller, textInput(given));
    const worker = await startInstallationWorker(config, installation, pino({ enabled: false }));
    try {
      const isReady = async (): Promise<boolean> =>
        (await requireWorkspace(control, "pooled.example")).readiness === "ready";
      await eventually(isReady, "the backfill", 60);
    } finally {
      await worker.stop();
    }
  };
  await behind(context, "session", work, testDatabase.url);
});
