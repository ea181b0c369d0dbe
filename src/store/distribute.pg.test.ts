import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, openConnections } from "../../tests/support/database.ts";
import type { TestDatabase } from "../../tests/support/database.ts";
import type { Database } from "./database.ts";
import { CitusMissing, distributeInstallation } from "./distribute.ts";
import { listForeignKeys, listTenantTables } from "./queries/distribute.ts";

/**
 * Citus itself is no package of this project. These functions have its signatures and write down their calls, and
 * refuse what it refuses: a table to which one refers that is not distributed.
 */
const RECORDER = `
  create table pg_dist_partition (logicalrelid regclass);
  create table call (number serial, name text, object text, colocate_with text);
  create function create_reference_table(t regclass) returns void language plpgsql as $$
  begin
    if exists (select from pg_constraint k where k.contype = 'f' and t in (k.confrelid, k.conrelid)) then
      raise '% has a foreign key', t;
    end if;
    insert into pg_dist_partition values (t);
    insert into call (name, object) values ('reference', t::text);
  end $$;
  create function create_distributed_table(t regclass, c text, colocate_with text) returns void language plpgsql as $$
  begin
    if exists (select from pg_constraint k where k.contype = 'f' and k.confrelid = t
                and k.conrelid not in (select logicalrelid from pg_dist_partition)) then
      raise 'a local table refers to %', t;
    end if;
    if colocate_with <> 'none' and to_regclass(colocate_with) not in (select logicalrelid from pg_dist_partition) then
      raise '% is not distributed', colocate_with;
    end if;
    insert into pg_dist_partition values (t);
    insert into call (name, object, colocate_with) values ('distribute', t::text || '.' || c, colocate_with);
  end $$;
  create function truncate_local_data_after_distributing_table(t regclass) returns void language plpgsql as $$
  begin
    if t not in (select logicalrelid from pg_dist_partition) then
      raise '% is not distributed', t;
    end if;
    insert into call (name, object) values ('truncate', t::text);
  end $$;
  create function create_distributed_function(f regprocedure, argument text, colocate_with text) returns void
  language sql as $$ insert into call (name, object, colocate_with) values ('function', argument, colocate_with) $$`;

let testDatabase: TestDatabase;
let database: Database;
before(async () => {
  testDatabase = await createTestDatabase();
  database = openConnections(testDatabase.url);
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

const run = (text: string): Promise<void> =>
  database.transaction(async ({ client }) => void (await client.query(text)));

test("a database without Citus is told what to do, and nothing changes", async () => {
  const keys = await listForeignKeys(database);
  await assert.rejects(distributeInstallation(database), CitusMissing);
  assert.deepEqual(await listForeignKeys(database), keys);
});

test("every table with a shop_key is distributed by it beside workspace, and a second time nothing happens", async () => {
  await run(RECORDER);
  const keys = await listForeignKeys(database);
  const tables = await listTenantTables(database);
  const made = await distributeInstallation(database);
  assert.deepEqual(made.distributed_tables, tables);
  const references = [
    "plan",
    "console_user",
    "workspace_member",
    "console_link",
    "console_session",
    "console_passkey",
    "console_challenge",
  ];
  assert.deepEqual(made.reference_tables, references);
  assert.ok(!tables.includes("workspace_member"));
  assert.ok(made.functions.some((signature) => signature.startsWith("admit_callers(")));
  const calls = await database.rows<{ name: string; object: string; colocate_with: string | null }>(
    { name: "list_calls", text: "select name, object, colocate_with from call order by number" },
    [],
  );
  assert.deepEqual(
    calls.slice(0, references.length),
    references.map((object) => ({ name: "reference", object, colocate_with: null })),
  );
  assert.deepEqual(calls[references.length], {
    name: "distribute",
    object: "workspace.shop_key",
    colocate_with: "none",
  });
  const named = (name: string) => calls.filter((call) => call.name === name);
  for (const call of [...named("distribute").slice(1), ...named("function")]) {
    assert.equal(call.colocate_with, "workspace");
  }
  assert.deepEqual(
    named("truncate")
      .map(({ object }) => object)
      .toSorted(),
    tables.toSorted(),
  );
  assert.deepEqual(await listForeignKeys(database), keys);
  const again = await distributeInstallation(database);
  assert.deepEqual([again.distributed_tables, again.reference_tables], [[], []]);
});

test("a table that a later migration brings joins the others", async () => {
  await run(
    "create table later (shop_key bigint references workspace on delete cascade, primary key (shop_key))",
  );
  assert.deepEqual((await distributeInstallation(database)).distributed_tables, ["later"]);
});
