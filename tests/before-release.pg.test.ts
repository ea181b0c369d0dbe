import assert from "node:assert/strict";
import { test } from "node:test";
import type { Database } from "../src/store/database.ts";
import { knownMigrations, migrate, schemaLevel } from "../src/store/migrate.ts";
import { appliedMigrations } from "../src/store/queries/schema.ts";
import { checkReadiness } from "../src/store/readiness.ts";
import { createDatabaseBeforeRelease } from "./support/before-release.ts";
import { createPlainDatabase } from "./support/backups.ts";
import { openConnections } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";

/** The end of what the versions before the first release brought, as four migrations. */
const FIRST_MIGRATIONS = [
  "0001_workspaces",
  "0002_catalogue_and_facts",
  "0003_rollups_and_alerts",
  "0004_sync",
];

/** All of a schema that statements can tell, in any order of columns; by what it describes. */
const SCHEMA: Readonly<Record<string, string>> = {
  tables: `select relname, relkind, relpersistence, reloptions::text from pg_class
            where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S')`,
  columns: `select a.attrelid::regclass::text as relation, a.attname, format_type(a.atttypid, a.atttypmod) as type,
                   a.attcollation::regcollation::text as collation, a.attnotnull, a.attidentity, a.attgenerated,
                   a.attstorage, pg_get_expr(d.adbin, d.adrelid) as default
              from pg_attribute a join pg_class c on c.oid = a.attrelid
              left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
             where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm') and a.attnum > 0
               and not a.attisdropped`,
  constraints: `select conrelid::regclass::text as relation, conname, contype, pg_get_constraintdef(oid) as text
                  from pg_constraint where connamespace = 'public'::regnamespace`,
  indexes: `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as text, indisunique, indisvalid
              from pg_index i join pg_class c on c.oid = i.indexrelid
             where c.relnamespace = 'public'::regnamespace`,
  functions: `select p.oid::regprocedure::text as name, pg_get_functiondef(p.oid) as text from pg_proc p
               where p.pronamespace = 'public'::regnamespace and p.prokind = 'f'
                 and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`,
  triggers: "select tgname, pg_get_triggerdef(oid) as text from pg_trigger where not tgisinternal",
  extensions: "select extname, extversion, extnamespace::regnamespace::text as schema from pg_extension",
  schemas: "select nspname from pg_namespace where nspname !~ '^pg_'",
  plans: "select * from plan",
  schedule: "select task, first_at, period from schedule",
};

/** Runs the test on databases that are dropped after it. */
async function withDatabases(
  databases: readonly Promise<TestDatabase>[],
  use: (...opened: { url: string; database: Database }[]) => Promise<void>,
): Promise<void> {
  const made = await Promise.all(databases);
  const opened = made.map(({ url }) => ({ url, database: openConnections(url) }));
  try {
    await use(...opened);
  } finally {
    for (const { database } of opened) await database.close();
    for (const each of made) await each.drop();
  }
}

function rows<Row>(database: Database, text: string): Promise<Row[]> {
  return database.rows<Row>({ name: "", text }, []);
}

async function appliedNames(database: Database): Promise<string[]> {
  return (await appliedMigrations(database)).map(({ name }) => name);
}

async function schemaOf(database: Database): Promise<Record<string, string[]>> {
  const schema: Record<string, string[]> = {};
  for (const [part, text] of Object.entries(SCHEMA)) {
    const found = await rows<{ line: string }>(database, `select to_jsonb(t)::text as line from (${text}) t`);
    schema[part] = found.map(({ line }) => line).toSorted();
  }
  return schema;
}

test("a new database has run this version's migrations and no others", () =>
  withDatabases([createPlainDatabase()], async ({ database }) => {
    const applied = await appliedNames(database);
    assert.deepEqual(applied.slice(0, 4), FIRST_MIGRATIONS);
    assert.deepEqual(applied, await knownMigrations());
  }));

for (const last of ["0001_control", "0012_listing", "0025_early_warning"]) {
  test(`a database of before the first release at ${last} comes to the schema of a new one`, () =>
    withDatabases([createDatabaseBeforeRelease(last), createPlainDatabase()], async (old, fresh) => {
      assert.equal(await schemaLevel(await appliedMigrations(old.database)), "behind");
      assert.deepEqual(await checkReadiness(old.database), {
        ready: false,
        reason: "the database schema is behind",
      });
      await migrate({ url: old.url });
      assert.deepEqual(await appliedNames(old.database), await knownMigrations());
      assert.deepEqual(await checkReadiness(old.database), { ready: true });
      const [found, expected] = [await schemaOf(old.database), await schemaOf(fresh.database)];
      for (const part of Object.keys(SCHEMA)) assert.deepEqual(found[part], expected[part], part);
      assert.ok((expected["constraints"]?.length ?? 0) > 100);
    }));
}

test("a database with all migrations of before the first release is adopted without a row being written", () =>
  withDatabases([createDatabaseBeforeRelease()], async ({ url, database }) => {
    await rows(
      database,
      `insert into workspace (shop_key, organization_id, shop_id, shop_domain, currency_code, plan_key)
       values (1, 'o', 's', 's.example', 'EUR', 'growth')`,
    );
    await rows(
      database,
      `insert into return_label (shop_key, source, label_id, order_id, return_id, said_order_id, said_return_id,
                                 said_order_name, tracking_number, charged_at, amount_minor, currency_code)
       select 1, 'labels', 'label ' || n, 'order', 'return', 'order ' || n, 'return ' || n, 'name ' || n, 't' || n,
              '2026-01-01Z', n, 'EUR' from generate_series(1, 9) n`,
    );
    // Later migrations bring tables and indexes of their own.
    await rows(database, "create table file_before (oid oid)");
    const files = `select c.relname, c.relfilenode from pg_class c join file_before b on b.oid = c.oid order by c.relname`;
    const labels = (prefix: string): string =>
      `select ctid::text, xmin::text, label_id, order_id, return_id, ${prefix}_order_id as stated_order,
              ${prefix}_return_id as stated_return, ${prefix}_order_name as stated_name, tracking_number,
              charged_at, amount_minor, currency_code, voided_at from return_label order by label_id`;
    // Without the columns of later migrations, whose values are no part of a row until it is written.
    const workspaces = `select ctid::text, xmin::text, to_jsonb(w) - '{is_setup_open,erase_after}'::text[] as row
                          from workspace w`;
    await rows(
      database,
      `insert into file_before select oid from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
    );
    const before = [
      await rows(database, files),
      await rows(database, labels("said")),
      await rows(database, workspaces),
    ];
    await Promise.all([migrate({ url }), migrate({ url })]);
    const after = [
      await rows(database, files),
      await rows(database, labels("source")),
      await rows(database, workspaces),
    ];
    assert.deepEqual(after, before);
    assert.deepEqual(await appliedNames(database), await knownMigrations());
  }));

test("a database with a migration that no version before the first release had is newer", async () => {
  const levelOf = (names: readonly string[]): Promise<string> =>
    schemaLevel(names.map((name) => ({ name, works_with: null })));
  assert.equal(await levelOf(["0001_control", "9999_later"]), "newer");
  assert.equal(await levelOf([...FIRST_MIGRATIONS, "9999_later"]), "newer");
  assert.equal(await levelOf([]), "behind");
});
