import assert from "node:assert/strict";
import { test } from "node:test";
import { knownMigrations, makeSchema, migrate, schemaLevel, UNUSABLE } from "../src/store/migrate.ts";
import { rebuildMarkedWorkspaces } from "../src/sync/rebuild.ts";
import { createEmptyDatabase } from "./support/backups.ts";
import { execute } from "./support/server.ts";
import { openConnections } from "./support/database.ts";
import type { Database } from "../src/store/database.ts";
import { csv, ROLLUP_TABLES, startImportWorkspace } from "./support/import-workspace.ts";
import { use } from "./support/use.ts";

/** Databases of these levels come to the same rows as a new import. */
const LAST_MIGRATIONS = ["0004_sync", "0014_erasure"];
const KEPT = [
  "product",
  "variant",
  "sku",
  "entity",
  "order_document",
  "return_label",
  "order_line",
  "return_event",
  "return_request",
  "label_share",
  "sale_event",
];
const COMPARED = ["order_line", "return_event", "booking_difference", "return_label", ...ROLLUP_TABLES];

const MARK_ALL_MONTHS = `insert into dirty_cohort (shop_key, cohort_month)
  select distinct shop_key, cohort_month from order_line where shop_key = $1 on conflict do nothing`;

const STORE = {
  "products.csv": csv("product_id,title,vendor,family", "p1,Hat,Acme,Tops", "p2,Shoe,Best,"),
  "variants.csv": csv(
    "variant_id,product_id,sku,condition,counterpart_sku",
    "v1,p1,HAT,new,",
    "v2,p1,HAT-U,used,HAT",
    "v3,p2,,used,HAT",
  ),
  "order_lines.csv": csv(
    "order_id,line_id,ordered_at,variant_id,product_id,sku,units,vendor",
    "o1,l1,2025-11-05T10:00:00Z,v1,,,3,",
    "o1,l2,2025-11-05T10:00:00Z,,,HAT-U,2,",
    "o2,l1,2025-12-06T10:00:00Z,v3,,,4,",
    "o3,l1,2025-12-07T10:00:00Z,,p2,HAT,5,",
    "o3,l2,2025-12-07T10:00:00Z,,,CAP,2,Solo",
  ),
  "returns.csv": csv(
    "return_id,order_id,line_id,status,units,closed_at,reason",
    "r1,o1,l2,CLOSED,1,2025-12-01T00:00:00Z,too_small",
    "r2,o2,l1,CLOSED,1,2025-12-20T00:00:00Z,",
  ),
  "refunds.csv": csv(
    "refund_id,order_id,line_id,refunded_at,units,subtotal,restock_type",
    "f1,o1,l1,2025-11-20T00:00:00Z,1,5.00,RETURN",
  ),
  "return_labels.csv": csv("label_id,order_id,charged_at,amount", "b1,o2,2025-12-22T00:00:00Z,4.00"),
};

const shop = use(startImportWorkspace);

for (const last of LAST_MIGRATIONS) {
  test(`M7, M8, M14: a database at ${last} comes to the rows of a new import`, async () => {
    const shopKey = await shop.open();
    await shop.import(shopKey, STORE);
    const expected = await shop.dump(shopKey);

    const old = await createEmptyDatabase();
    const database = openConnections(old.url);
    const names = await knownMigrations();
    try {
      await database.transaction((connection) =>
        makeSchema(connection, names.slice(0, names.indexOf(last) + 1)),
      );
      await fillOldSchema(database, shopKey, expected);
      await migrate({ url: old.url });
      // As a migration does that changes a rollup.
      await query(database, MARK_ALL_MONTHS, [shopKey]);
      await rebuildMarkedWorkspaces(database, () => {});
      for (const table of COMPARED) {
        assert.deepEqual(await dumpOld(database, shopKey, table), expected[table], table);
      }
    } finally {
      await database.close();
      await old.drop();
    }
  });
}

/** The rows of a new import, without the columns that the old schema lacks. */
async function fillOldSchema(
  database: Database,
  key: number,
  rows: Record<string, unknown[]>,
): Promise<void> {
  await put("workspace", [
    {
      organization_id: "o",
      shop_id: "s",
      shop_domain: "s.example",
      currency_code: "EUR",
      plan_key: "enterprise",
    },
  ]);
  for (const table of KEPT) await put(table, rows[table] ?? []);

  async function put(table: string, values: unknown[]): Promise<void> {
    const columns = await query<{ column_name: string }>(
      database,
      "select column_name from information_schema.columns where table_schema = 'public' and table_name = $1",
      [table],
    );
    for (const value of values) {
      const row: Record<string, unknown> = { ...(value as object), shop_key: key };
      const names = columns.map(({ column_name: name }) => name).filter((name) => name in row);
      await query(
        database,
        `insert into ${table} (${names.join(", ")}) select ${names.join(", ")}
           from json_populate_record(null::${table}, $1)`,
        [JSON.stringify(row)],
      );
    }
  }
}

async function dumpOld(database: Database, key: number, table: string): Promise<unknown[]> {
  const found = await query<{ row: unknown }>(
    database,
    `select to_jsonb(t) - 'shop_key' as row from ${table} t where shop_key = $1
      order by (to_jsonb(t) - 'shop_key')::text`,
    [key],
  );
  return found.map(({ row }) => row);
}

function query<Row>(database: Database, text: string, values: unknown[]): Promise<Row[]> {
  return database.rows<Row>({ name: "", text }, values);
}

test("a database of before 0.1.0 is refused, and nothing in it changes", async () => {
  const old = await createEmptyDatabase();
  const database = openConnections(old.url);
  try {
    await execute(
      old.url,
      `create table schema_migration (id serial primary key, name varchar(255) not null, run_on timestamp not null);
       insert into schema_migration (name, run_on) values ('0001_control', now())`,
    );
    await assert.rejects(migrate({ url: old.url }), { message: UNUSABLE.older });
    const tables = await query(database, "select 1 from pg_tables where schemaname = 'public'", []);
    assert.equal(tables.length, 1);
  } finally {
    await database.close();
    await old.drop();
  }
});

test("a level is told by the migrations that a database has run", async () => {
  const levelOf = (names: readonly string[]): Promise<string> =>
    schemaLevel(names.map((name) => ({ name, works_with: null })));
  const known = await knownMigrations();
  assert.equal(await levelOf([]), "behind");
  assert.equal(await levelOf(known.slice(0, 4)), "behind");
  assert.equal(await levelOf(known), "current");
  assert.equal(await levelOf([...known, "9999_later"]), "newer");
  assert.equal(await levelOf(["0001_control", "0002_catalogue"]), "older");
});
