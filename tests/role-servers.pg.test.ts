import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { TestContext } from "node:test";
import pino from "pino";
import { readConfig } from "../src/config.ts";
import { needsMigration } from "../src/actions/installation/schema.ts";
import { joinEmbedded } from "../src/embedded/embedded.ts";
import { migrateInstallation, openInstallation, openServingDatabases } from "../src/installation.ts";
import type { Installation } from "../src/installation.ts";
import type { Queryable } from "../src/store/database.ts";
import { migrate } from "../src/store/migrate.ts";
import { groupOf, loginOf, ROLES } from "../src/store/role-rights.ts";
import type { Role } from "../src/store/role-rights.ts";
import { loginUrl } from "../src/store/roles.ts";
import { runCommand } from "./support/command.ts";
import { attempt, connectAs, REFUSED, runRolesFile, surprisesOf } from "./support/roles.ts";
import { execute, urlOfDatabase } from "./support/server.ts";
import { openTestPool } from "./support/service.ts";

/** Servers that have no roles yet: the embedded one, which makes them, and one whose administrator runs deploy/roles.sql. */

const settings = { fsync: "off", shared_buffers: "16MB" };
const passwords = { worker_password: "w'w", admission_password: "a:a", reader_password: "r" };

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "returns-role-servers-"));
  // The database's own user passes through when this runs as root.
  chmodSync(folder, 0o711);
});
after(() => rmSync(folder, { recursive: true }));

test("deploy/roles.sql and a migration give the roles their rights on a server of one's own", async (context) => {
  const server = await joinEmbedded({ dataFolder: join(folder, "own"), log: () => {}, settings });
  context.after(() => server.release());
  const url = urlOfDatabase(server.url, "shop data");
  const ownerUrl = Object.assign(new URL(url), { username: "keeper", password: "secret" }).href;
  await execute(server.url, "create role keeper login password 'secret'");
  await execute(server.url, 'create database "shop data"');
  await execute(server.url, "grant connect on database postgres, template1 to public");
  await runRolesFile(url, { owner: "keeper", ...passwords, shared: "1" });
  const ofSystem = urlOfDatabase(loginUrl(url, "reader", "r"), "postgres");
  await (await connectAs(ofSystem)).end();
  for (const times of [1, 2]) {
    await runRolesFile(url, { owner: "keeper", ...passwords });
    await migrate({ url: ownerUrl });
    assert.ok(times > 0);
  }
  const owner = openTestPool(ownerUrl);
  try {
    const urlOf = (role: Role): string => loginUrl(url, role, passwords[`${role}_password`]);
    assert.deepEqual(await surprisesOf(urlOf, owner), []);
    await assertClosed(urlOf);
  } finally {
    await owner.end();
  }
});

/** Only the worker may make temporary tables, and nobody large objects or tables, nor enter the databases of the system. */
async function assertClosed(urlOf: (role: Role) => string): Promise<void> {
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

describe("The embedded server", () => {
  const config = () => readConfig({ RETURNS_DATA_DIR: join(folder, "embedded"), DATABASE_CONNECTIONS: "2" });
  const open = async (context: TestContext): Promise<Installation> => {
    const installation = await openInstallation(config(), () => {});
    context.after(() => installation.close());
    return installation;
  };

  test("has the roles from its first start, with nothing more to keep, also for two processes at once", async (context) => {
    const [first, second] = await Promise.all([open(context), open(context)]);
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
    const owner = openTestPool(first.databaseUrl);
    try {
      assert.deepEqual(await surprisesOf((role) => first.roleUrls[role], owner), []);
      await assertClosed((role) => first.roleUrls[role]);
    } finally {
      await owner.end();
    }
  });

  test("keeps the passwords of its roles from each other", async (context) => {
    const { roleUrls, databaseUrl } = await open(context);
    const words = [databaseUrl, ...Object.values(roleUrls)].map((url) => new URL(url).password);
    assert.equal(new Set(words).size, ROLES.length + 1);
    const other = Object.assign(new URL(roleUrls.worker), { password: new URL(roleUrls.reader).password });
    await assert.rejects(connectAs(other.href), { code: "28P01" });
  });

  test("of an earlier version gets the roles and their rights at the next start, or command", async (context) => {
    const earlier = await open(context);
    for (const role of ROLES) {
      for (const name of [groupOf(role), loginOf(role)])
        await execute(earlier.databaseUrl, `drop owned by ${name}; drop role ${name}`);
    }
    const listed = await runCommand(["workspace", "list"], { RETURNS_DATA_DIR: join(folder, "embedded") });
    assert.equal(listed.code, 0, listed.stderr);
    assert.equal((await namesOf(earlier)).reading, loginOf("reader"));
  });
});

/** By pool, as whom it connects. */
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
