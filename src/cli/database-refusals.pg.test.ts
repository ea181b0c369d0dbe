import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runCommand, type CommandOutcome } from "../../tests/support/command.ts";
import { createTestDatabase, type TestDatabase } from "../../tests/support/database.ts";
import { execute, urlOfDatabase } from "../../tests/support/server.ts";
import { csv, withFolder } from "../../tests/support/import-workspace.ts";
import { serviceEnvironment } from "../../tests/support/service.ts";

const DOMAIN = "refused.example";
const FILES = { "order_lines.csv": csv("order_id,line_id,ordered_at,units", "o1,l1,2026-01-05T10:00:00Z,3") };

let database: TestDatabase;
let name: string;
let role: string;
before(async () => {
  database = await createTestDatabase();
  name = new URL(database.url).pathname.slice(1);
  role = `${name}_narrow`;
  await execute(database.url, `create role ${role} login password 'narrow'`);
  const words = ["workspace", "create", "--domain", DOMAIN, "--currency", "EUR"];
  const { code } = await runCommand(words, serviceEnvironment(database.url));
  assert.equal(code, 0);
});
after(async () => {
  const serverUrl = urlOfDatabase(database.url, "postgres");
  await execute(database.url, `drop owned by ${role}`);
  await database.drop();
  await execute(serverUrl, `drop role ${role}`);
});

/** The same database as the role that may do little. */
function narrowUrl(url: string): string {
  const narrow = new URL(url);
  narrow.username = role;
  narrow.password = "narrow";
  return narrow.href;
}

const importAs = (url: string): Promise<CommandOutcome> =>
  withFolder(FILES, (folder) =>
    runCommand(["import", folder, "--workspace", DOMAIN], serviceEnvironment(url)),
  );

function assertRefused({ code, stdout, stderr }: CommandOutcome, sentence: RegExp): void {
  assert.deepEqual([code, stdout], [1, ""], stderr);
  assert.match(stderr, sentence);
  assert.equal(stderr.trim().split("\n").length, 1);
}

test("a database that is read-only, as a replica is, refuses an import in one sentence", async () => {
  await execute(database.url, `alter database ${name} set default_transaction_read_only = on`);
  try {
    assertRefused(
      await importAs(database.url),
      /^The database is read-only \(cannot execute .+ in a read-only transaction\): set DATABASE_URL to the primary, not a replica, and leave default_transaction_read_only off\.\n$/u,
    );
  } finally {
    const reset = `alter database ${name} reset default_transaction_read_only`;
    await execute(database.url, `begin read write; ${reset}; commit`);
  }
});

test("a user without rights on the tables refuses an import in one sentence", async () => {
  assertRefused(
    await importAs(narrowUrl(database.url)),
    /^The database user lacks a right \(permission denied for table \w+\): set DATABASE_URL to the owner of the tables, .+\.\n$/u,
  );
});

test("a user who may not make temporary tables refuses an import in one sentence", async () => {
  await execute(database.url, `grant all on all tables in schema public to ${role}`);
  await execute(database.url, `revoke temporary on database ${name} from public`);
  assertRefused(
    await importAs(narrowUrl(database.url)),
    /^The database user lacks a right \(permission denied to create temporary tables in database "\w+"\): .+\.\n$/u,
  );
});

test("a user who may not create in the schema, or not even use it, refuses a migration in one sentence", async () => {
  const empty = urlOfDatabase(database.url, `${name}_empty`);
  await execute(database.url, `create database ${name}_empty`);
  try {
    const migrate = (): Promise<CommandOutcome> =>
      runCommand(["migrate"], serviceEnvironment(narrowUrl(empty)));
    assertRefused(
      await migrate(),
      /^The database user lacks a right \(permission denied for schema public\): .+ create in their schema .+\.\n$/u,
    );
    await execute(empty, "revoke usage on schema public from public");
    assertRefused(
      await migrate(),
      /^The database user (?:cannot use any schema|lacks a right) \(.+schema.+\): .+\.\n$/u,
    );
  } finally {
    await execute(database.url, `drop database ${name}_empty with (force)`);
  }
});
