import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { migrate, knownMigrations, schemaLevel } from "../src/store/migrate.ts";
import { appliedMigrations, FIRST_MIGRATION } from "../src/store/queries/installation.ts";
import { createTestDatabase, openConnections, type TestDatabase } from "./support/database.ts";
import { createNextVersion } from "./support/next-version.ts";
import { copyMigrations } from "./support/migration-folder.ts";
import { startServerProcess, type ServerProcess } from "./support/server-process.ts";
import { openTestPool } from "./support/service.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";

const LATEST = (await knownMigrations()).at(-1) ?? "";
/** What a later version may add: columns, a table, a check, an index, and a replaced function. */
const CHANGES = `
alter table workspace add column remark text;
alter table workspace add constraint workspace_remark check (length(remark) < 100);
alter table plan add column remark text;
alter table console_user add column remark text;
create table remark (
  shop_key bigint not null references workspace on delete cascade,
  number integer not null,
  -- A semicolon; in a comment, and 'quotes'.
  remark text not null default 'a; b',
  primary key (shop_key, number)
);
insert into remark (shop_key, number) select shop_key, 1 from workspace;
create index remark_by_text on remark (shop_key, remark);
alter table remark add column source text;
do $$
declare
  before text := pg_get_functiondef((select p.oid from pg_proc p where p.proname = 'admit_callers'));
begin
  execute replace(before, 'begin', 'begin /* as before */');
end $$;
`;
const ADDITIVE = { "9001_remarks": `-- Works with ${LATEST}.\n${CHANGES}` };
const BREAKING = { "9001_remarks": CHANGES };

let testDatabase: TestDatabase;
let database: pg.Pool;
let tenant: Tenant;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openTestPool(testDatabase.url);
  tenant = await createTenant(database);
});
after(async () => {
  await database.end();
  await testDatabase.drop();
});

/** Sends requests without a pause until it is told to stop; returns the statuses other than 200 of readiness and of requests. */
function ask(server: ServerProcess): { answered: () => number; end: () => Promise<number[]> } {
  const refused: number[] = [];
  let answered = 0;
  const state = { isOver: false };
  const asking = async (look: () => Promise<number>): Promise<void> => {
    while (!state.isOver) {
      const status = await look();
      if (status === 200) answered += 1;
      else refused.push(status);
    }
  };
  const asked = Promise.all([
    asking(async () => (await fetch(`${server.address}/readyz`)).status),
    asking(async () => (await server.call("/api/v1/alerts", { token: tenant.token })).status),
    asking(
      async () => (await server.call("/api/v1/summary", { token: tenant.token, params: SUMMARY })).status,
    ),
  ]);
  return {
    answered: () => answered,
    end: async () => {
      state.isOver = true;
      await asked;
      return refused;
    },
  };
}

const SUMMARY = { start_month: "2026-01", end_month: "2026-05" };

async function untilAnswered(asked: { answered: () => number }, count: number): Promise<void> {
  const goal = asked.answered() + count;
  while (asked.answered() < goal) await sleep(10);
}

async function readinessOf(server: ServerProcess): Promise<unknown> {
  return (await fetch(`${server.address}/readyz`)).json();
}

/** On a copy of the database, so that each test has its own schema level. */
async function onDatabase(context: TestContext): Promise<{ url: string }> {
  const own = await createTestDatabase();
  const pool = openTestPool(own.url);
  context.after(async () => {
    await pool.end();
    await own.drop();
  });
  return { url: own.url };
}

test("a rolling upgrade: the old server and the next one answer every request, across the migration", async (context) => {
  const next = createNextVersion(ADDITIVE);
  const old = await startServerProcess(context, testDatabase.url);
  const ofOld = ask(old);
  await untilAnswered(ofOld, 20);
  // A long reader, such as an export: the migration waits for it, and no request does so for long.
  const reader = await database.connect();
  await reader.query("begin");
  await reader.query("select from workspace");
  const waiting = Promise.withResolvers<string>();
  const migrated = migrate({ url: testDatabase.url, folder: next.migrations, log: waiting.resolve });
  assert.match(
    await Promise.race([waiting.promise, migrated.then(() => "no wait")]),
    /^9001_remarks: waiting/u,
  );
  await untilAnswered(ofOld, 20);
  await reader.query("commit");
  reader.release();
  await migrated;
  await untilAnswered(ofOld, 20);
  const fresh = await startServerProcess(context, testDatabase.url, {}, next.entry);
  const ofFresh = ask(fresh);
  await untilAnswered(ofFresh, 20);
  await untilAnswered(ofOld, 20);
  // Restarted, it starts again: its own migration has nothing to do.
  await migrate({ url: testDatabase.url });
  const restarted = await startServerProcess(context, testDatabase.url);
  assert.deepEqual(await readinessOf(restarted), { status: "ready" });
  assert.deepEqual([await ofOld.end(), await ofFresh.end()], [[], []]);
});

test("a schema that states no compatible version makes earlier versions unready, and their migration refuses it", async (context) => {
  const { url } = await onDatabase(context);
  const next = createNextVersion(BREAKING);
  const old = await startServerProcess(context, url);
  assert.deepEqual(await readinessOf(old), { status: "ready" });
  await migrate({ url, folder: next.migrations });
  assert.deepEqual(await readinessOf(old), { status: "not_ready", reason: "the database schema is newer" });
  await assert.rejects(migrate({ url }), /newer than this version/u);
  const fresh = await startServerProcess(context, url, {}, next.entry);
  assert.deepEqual(await readinessOf(fresh), { status: "ready" });
});

test("a migration that fails halfway changes nothing, and can be run again", async (context) => {
  const { url } = await onDatabase(context);
  const failing = copyMigrations({ "9001_remarks": `${CHANGES} select 1 / 0;` });
  const whole = copyMigrations(ADDITIVE);
  const opened = openConnections(url);
  try {
    await assert.rejects(migrate({ url, folder: failing }), { code: "22012" });
    assert.deepEqual(
      (await appliedMigrations(opened)).map(({ name }) => name),
      await knownMigrations(),
    );
    await migrate({ url, folder: whole });
    assert.equal(await schemaLevel(await appliedMigrations(opened)), "ahead");
  } finally {
    await opened.close();
  }
});

test("a version works only with a later schema that states a migration it knows", async () => {
  const applied = (await knownMigrations()).map((name) => ({ name, works_with: null }));
  const later = (worksWith: string | null): { name: string; works_with: string | null } => ({
    name: "9001_later",
    works_with: worksWith,
  });
  assert.equal(await schemaLevel([...applied, later(LATEST)]), "ahead");
  assert.equal(await schemaLevel([...applied, later(FIRST_MIGRATION)]), "ahead");
  assert.equal(await schemaLevel([...applied, later("9000_between")]), "newer");
  assert.equal(await schemaLevel([...applied, later(null)]), "newer");
  assert.equal(await schemaLevel([...applied, later(LATEST), { ...later(null), name: "9002" }]), "newer");
  assert.equal(await schemaLevel([...applied.slice(1), later(LATEST)]), "newer");
});
