import assert from "node:assert/strict";
import { chmodSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import type pg from "pg";
import pino from "pino";
import { startInstallationWorker } from "../src/app.ts";
import { readConfig } from "../src/config.ts";
import { readBackup } from "../src/actions/installation/backup-folder.ts";
import { migrateInstallation, openInstallation, openServingDatabases } from "../src/installation.ts";
import type { Installation } from "../src/installation.ts";
import { migrate } from "../src/store/migrate.ts";
import { backUp, createPlainDatabase } from "./support/backups.ts";
import { runCommand, startCommand } from "./support/command.ts";
import { asRole, createTestDatabase, openConnections, roleEnvironment } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { execute, urlOfDatabase } from "./support/server.ts";
import { TEST_SECRET } from "./support/secret.ts";
import { createCaller, openTestPool, serviceEnvironment } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import { needsMigration } from "../src/actions/installation/schema.ts";
import { joinEmbedded, type EmbeddedDatabase } from "../src/embedded/embedded.ts";
import type { Queryable } from "../src/store/database.ts";
import { ROLES, groupOf, loginOf, type DatabaseRole } from "../src/store/role-rights.ts";
import { loginUrl } from "../src/store/roles.ts";
import { REFUSED, attempt, connectAs, runRolesFile, surprisesOf } from "./support/roles.ts";
import { makeFolder } from "./support/folder.ts";

/** The logins with which a process starts, and those that it refuses (docs/operating/secure.md). */
let testDatabase: TestDatabase;
let owner: pg.Pool;
const folder = makeFolder();
/** Keeps the embedded server running from its first start on. */
let embedded: EmbeddedDatabase | undefined;

before(async () => {
  testDatabase = await createTestDatabase();
  owner = openTestPool(testDatabase.url);
  // When this runs as root, the database runs as another user, who must be able to enter the folder.
  chmodSync(folder, 0o711);
});

after(async () => {
  await embedded?.release();
  await owner.end();
  await testDatabase.drop();
});

const silent = pino({ level: "silent" });

/** Why a server does not start with these options; null = it does. */
async function refusal(options: Record<string, string>): Promise<string | null> {
  const config = readConfig({ ...serviceEnvironment(testDatabase.url), ...options });
  const installation = await openInstallation(config, () => {});
  try {
    const databases = await openServingDatabases(config, installation, silent);
    await databases.close();
    return null;
  } catch (error) {
    assert.equal((error as Error).name, "ConfigError");
    return (error as Error).message;
  } finally {
    await installation.close();
  }
}

describe("A server refuses, in one sentence,", () => {
  test("a reader that may write", async () => {
    assert.equal(
      await refusal({ DATABASE_READER_URL: asRole(testDatabase.url, "worker") }),
      "DATABASE_READER_URL names the login returns_login_worker, which has the right to delete on alert: grant it returns_reader and nothing more.",
    );
  });

  test("a superuser for any role", async () => {
    for (const name of ["DATABASE_READER_URL", "DATABASE_ADMISSION_URL", "DATABASE_WORKER_URL"]) {
      const problem = await refusal({ [name]: testDatabase.url });
      assert.match(
        problem ?? "",
        new RegExp(`^${name} names the login \\w+, which is a superuser, or has`, "u"),
      );
    }
  });

  test("one that reads secrets", async () => {
    await execute(testDatabase.url, "grant select on data_source to returns_login_reader");
    assert.match(
      (await refusal({})) ?? "",
      /has the right to select on data_source: grant it returns_reader and nothing/u,
    );
    await execute(testDatabase.url, "revoke select on data_source from returns_login_reader");
    assert.equal(await refusal({}), null);
  });

  test("one without the rights of its role", async () => {
    const problem = await refusal({ DATABASE_ADMISSION_URL: asRole(testDatabase.url, "reader") });
    assert.match(
      problem ?? "",
      /DATABASE_ADMISSION_URL names the login returns_login_reader, which has the right/u,
    );
    await execute(testDatabase.url, "revoke select on cohort from returns_reader");
    assert.equal(
      await refusal({}),
      'DATABASE_READER_URL names the login returns_login_reader, which lacks the right to select on cohort: grant it returns_reader, and run "./returns migrate" as the owner.',
    );
    const migrated = await runCommand(["migrate"], serviceEnvironment(testDatabase.url));
    assert.equal(migrated.code, 0, migrated.stderr);
    assert.equal(await refusal({}), null);
  });

  test("logins of two databases", async () => {
    const other = await createTestDatabase();
    try {
      assert.equal(
        await refusal({ DATABASE_READER_URL: asRole(other.url, "reader") }),
        "DATABASE_WORKER_URL and DATABASE_READER_URL name different databases: give all of them the same one.",
      );
    } finally {
      await other.drop();
    }
  });

  test("only the worker's login, which is enough for a worker", async () => {
    const none = { DATABASE_READER_URL: "", DATABASE_ADMISSION_URL: "", DATABASE_URL: "" };
    assert.match(
      (await refusal(none)) ?? "",
      /^A server needs DATABASE_READER_URL and DATABASE_ADMISSION_URL/u,
    );
    const config = readConfig({ ...serviceEnvironment(testDatabase.url), ...none });
    const installation = await openInstallation(config, () => {});
    const worker = await startInstallationWorker(config, installation, silent);
    await worker.stop();
    await installation.close();
  });
});

test("server and worker do not need the owner's login; commands that do say so", async (context) => {
  const environment = {
    ...roleEnvironment(testDatabase.url),
    RETURNS_SECRET: TEST_SECRET,
    RETURNS_DATA_DIR: folder,
    PORT: "0",
    LOG_LEVEL: "warn",
  };
  const tenant = await createTenant(owner);
  const serving = startCommand(["serve", "--no-migrate", "--json"], environment);
  context.after(() => serving.child.kill("SIGKILL"));
  const { address } = JSON.parse(await serving.printed(/\}\n$/u)) as { address: string };
  const answer = await createCaller(address)("/api/v1/alerts", { token: tenant.token });
  assert.equal(answer.status, 200);
  const { rows } = await owner.query<{ name: string }>(
    `select distinct usename::text as name from pg_stat_activity
      where datname = current_database() and application_name ~ '^returns-(?!test)' order by 1`,
  );
  assert.deepEqual(
    rows.map(({ name }) => name),
    ["returns_login_admission", "returns_login_reader", "returns_login_worker"],
  );
  const { stdout } = await runCommand(["doctor", "--json"], serviceEnvironment(testDatabase.url));
  assert.match(stdout, /"message": "connected"/u, "its worker");
  serving.child.kill("SIGTERM");
  assert.equal((await serving.outcome).code, 0);
  const empty = urlOfDatabase(testDatabase.url, "postgres");
  const refused = await runCommand(["migrate"], { ...environment, ...roleEnvironment(empty) });
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /^The database user lacks a right .+: set DATABASE_URL to the owner of the tables/u,
  );
});

test("doctor reports missing rights or views, also with the worker's login", async () => {
  const schemaBy = async (url: string): Promise<unknown> => {
    const { stdout } = await runCommand(["doctor", "--json"], {
      DATABASE_URL: url,
      RETURNS_SECRET: TEST_SECRET,
    });
    const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean; message: string }[] };
    const { ok, message } = checks.find(({ name }) => name === "schema") ?? {};
    return [ok, message];
  };
  const problem =
    'Rights of database roles or views of one workspace are not those of this version: run "./returns migrate" as the owner.';
  for (const change of ["revoke select on cohort from returns_reader", "drop view one_shop.cohort"]) {
    await execute(testDatabase.url, change);
    for (const url of [testDatabase.url, asRole(testDatabase.url, "worker")])
      assert.deepEqual(await schemaBy(url), [false, problem], change);
    await migrate({ url: testDatabase.url });
    for (const url of [testDatabase.url, asRole(testDatabase.url, "worker")])
      assert.deepEqual(await schemaBy(url), [true, "current"], change);
  }
});

test("a backup with the worker's login has the same sequence values as one with the owner's", async (context) => {
  const own = await createPlainDatabase();
  context.after(() => own.drop());
  await execute(
    own.url,
    `select nextval(format('%I', relname)) from pg_class
      where relkind = 'S' and relnamespace = 'public'::regnamespace`,
  );
  const sequencesBy = async (url: string): Promise<unknown> => {
    const database = openConnections(url, { maxConnections: 2 });
    const backup = join(makeFolder(), "backup");
    await backUp(database, backup);
    await database.close();
    return (await readBackup(backup)).manifest.sequences;
  };
  assert.deepEqual(await sequencesBy(asRole(own.url, "worker")), await sequencesBy(own.url));
});

/** Only the worker may create temporary tables; no role may create large objects or tables, or connect to the system's databases. */
async function assertClosed(urlOf: (role: DatabaseRole) => string): Promise<void> {
  for (const role of ROLES) {
    for (const name of ["postgres", "template1"])
      await assert.rejects(
        connectAs(urlOfDatabase(urlOf(role), name)),
        { code: REFUSED },
        `${role}: ${name}`,
      );
    const client = await connectAs(urlOf(role));
    try {
      const temporary = await attempt(client, "create temporary table mine (id integer)");
      assert.equal(temporary, role === "worker" ? null : REFUSED, role);
      for (const statement of ["create table mine (id integer)", "select lo_create(0)"])
        assert.equal(await attempt(client, statement), REFUSED, `${role}: ${statement}`);
    } finally {
      await client.end();
    }
  }
}

/** Makes the server as if it never had the roles. */
async function dropRoles(url: string): Promise<void> {
  for (const name of ROLES.flatMap((role) => [groupOf(role), loginOf(role)]))
    await execute(url, `drop owned by ${name}; drop role ${name}`);
}

describe("The embedded server", () => {
  const config = () => readConfig({ RETURNS_DATA_DIR: join(folder, "embedded"), DATABASE_CONNECTIONS: "2" });
  const open = async (context: TestContext): Promise<Installation> => {
    const installation = await openInstallation(config(), () => {});
    context.after(() => installation.close());
    return installation;
  };

  test("has the roles from its first start, without further files, also for two processes at once", async (context) => {
    const [first, second] = await Promise.all([open(context), open(context)]);
    embedded = await joinEmbedded({ dataFolder: join(folder, "embedded"), log: () => {} });
    await migrateInstallation(first, () => {});
    assert.equal(await needsMigration(second.database), false);
    assert.deepEqual(await namesOf(first), await namesOf(second));
    assert.deepEqual(await namesOf(first), {
      admission: loginOf("admission"),
      reading: loginOf("reader"),
      exporting: loginOf("reader"),
      ingest: loginOf("worker"),
      console: loginOf("worker"),
    });
    assert.deepEqual(readdirSync(join(folder, "embedded/postgresql")).toSorted(), [
      "data",
      "password",
      "port",
      "server.log",
    ]);
    const ownPool = openTestPool(first.databaseUrl);
    try {
      assert.deepEqual(await surprisesOf((role) => first.roleUrls[role], ownPool), []);
      await assertClosed((role) => first.roleUrls[role]);
    } finally {
      await ownPool.end();
    }
  });

  test("gives each role its own password", async (context) => {
    const { roleUrls, databaseUrl } = await open(context);
    const words = [databaseUrl, ...Object.values(roleUrls)].map((url) => new URL(url).password);
    assert.equal(new Set(words).size, ROLES.length + 1);
    const other = Object.assign(new URL(roleUrls.worker), { password: new URL(roleUrls.reader).password });
    await assert.rejects(connectAs(other.href), { code: "28P01" });
  });

  test("of an earlier version gets the roles and their rights at the next start, or command", async (context) => {
    const earlier = await open(context);
    await dropRoles(earlier.databaseUrl);
    const listed = await runCommand(["workspace", "list"], { RETURNS_DATA_DIR: join(folder, "embedded") });
    assert.equal(listed.code, 0, listed.stderr);
    assert.equal((await namesOf(earlier)).reading, loginOf("reader"));
  });
});

/** Passwords for an external server, whose administrator runs deploy/roles.sql. */
const passwords = { worker_password: "w'w", admission_password: "a:a", reader_password: "r" };

test("deploy/roles.sql and a migration give the roles their rights on an external server", async (context) => {
  const server = await joinEmbedded({ dataFolder: join(folder, "embedded"), log: () => {} });
  context.after(() => server.release());
  await dropRoles(server.url);
  const url = urlOfDatabase(server.url, "shop data");
  const ownerUrl = Object.assign(new URL(url), { username: "keeper", password: "secret" }).href;
  await execute(server.url, "create role keeper login password 'secret'");
  await execute(server.url, 'create database "shop data"');
  await execute(server.url, "grant connect on database postgres, template1 to public");
  await runRolesFile(url, { owner: "keeper", ...passwords, shared: "1" });
  const ofSystem = urlOfDatabase(loginUrl(url, "reader", "r"), "postgres");
  await (await connectAs(ofSystem)).end();
  for (let time = 1; time <= 2; time += 1) {
    await runRolesFile(url, { owner: "keeper", ...passwords });
    await migrate({ url: ownerUrl });
  }
  const ownPool = openTestPool(ownerUrl);
  try {
    const urlOf = (role: DatabaseRole): string => loginUrl(url, role, passwords[`${role}_password`]);
    assert.deepEqual(await surprisesOf(urlOf, ownPool), []);
    await assertClosed(urlOf);
  } finally {
    await ownPool.end();
  }
});

/** The login of each pool. */
async function namesOf(installation: Installation): Promise<Record<string, string>> {
  const databases = await openServingDatabases(
    readConfig({ RETURNS_DATA_DIR: installation.dataFolder, DATABASE_CONNECTIONS: "2" }),
    installation,
    pino({ level: "silent" }),
  );
  const nameOf = async (database: Queryable): Promise<string> => {
    const [row] = await database.rows<{ name: string }>(
      { name: "who", text: "select current_user as name" },
      [],
    );
    return row?.name ?? "";
  };
  const { admission, reading, exporting, ingest, console } = databases;
  const names: Record<string, string> = {};
  for (const [pool, database] of Object.entries({ admission, reading, exporting, ingest, console }))
    names[pool] = await nameOf(database);
  await databases.close();
  return names;
}
