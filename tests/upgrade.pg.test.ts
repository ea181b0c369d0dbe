import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { runner } from "node-pg-migrate";
import { migrate } from "../src/store/migrate.ts";
import { rebuildMarkedShops } from "../src/sync/rebuild.ts";
import { execute, openConnections, urlOfDatabase } from "./support/database.ts";
import { csv, startImportShop } from "./support/import-shop.ts";
import type { ImportShop } from "./support/import-shop.ts";

/** A database of the schema before SKUs were rolled up by listing comes to the same rows as a new import. */
const MIGRATIONS_BEFORE = 11;
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
const ROLLED_UP = ["order_line", "return_event", "cohort", "listing", "sku_quarter", "unmatched_label"];

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

const serverUrl = process.env["RETURNS_TEST_DATABASE_URL"] ?? "";
const oldName = `test_old_${randomBytes(6).toString("hex")}`;
const oldUrl = serverUrl === "" ? "" : urlOfDatabase(serverUrl, oldName);
let shop: ImportShop;

before(async () => {
  shop = await startImportShop();
  await execute(serverUrl, `create database ${oldName}`);
});

after(async () => {
  await shop.stop();
  await execute(serverUrl, `drop database if exists ${oldName} with (force)`);
});

test("M7, M8, M14: a migration brings the facts of an earlier version to the rows of a new import", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, STORE);
  const expected = await shop.dump(shopKey);

  await runner({
    databaseUrl: oldUrl,
    dir: fileURLToPath(new URL("../src/store/migrations/", import.meta.url)),
    direction: "up",
    count: MIGRATIONS_BEFORE,
    migrationsTable: "schema_migration",
    log: () => {},
  });
  const database = openConnections(oldUrl);
  try {
    await fillOldSchema(shopKey, expected);
    await migrate({ url: oldUrl });
    await rebuildMarkedShops(database, () => {});
    for (const table of ROLLED_UP) assert.deepEqual(await dumpOld(shopKey, table), expected[table], table);
  } finally {
    await database.close();
  }

  /** The rows of a new import, without the columns that the old schema lacks. */
  async function fillOldSchema(key: number, rows: Record<string, unknown[]>): Promise<void> {
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
    await put(
      "cohort",
      [...new Set(oldCohort(rows["order_line"] ?? []))].map((month) => oldMonth(month)),
    );

    async function put(table: string, values: unknown[]): Promise<void> {
      const columns = await query<{ column_name: string }>(
        "select column_name from information_schema.columns where table_schema = 'public' and table_name = $1",
        [table],
      );
      for (const value of values as Record<string, unknown>[]) {
        const row: Record<string, unknown> = { ...asBefore(value), shop_key: key };
        const names = columns.map(({ column_name: name }) => name).filter((name) => name in row);
        await query(
          `insert into ${table} (${names.join(", ")}) select ${names.join(", ")}
             from json_populate_record(null::${table}, $1)`,
          [JSON.stringify(row)],
        );
      }
    }
  }

  async function dumpOld(key: number, table: string): Promise<unknown[]> {
    const found = await query<{ row: unknown }>(
      `select to_jsonb(t) - 'shop_key' as row from ${table} t where shop_key = $1
        order by (to_jsonb(t) - 'shop_key')::text`,
      [key],
    );
    return found.map(({ row }) => row);
  }

  function query<Row>(text: string, values: unknown[]): Promise<Row[]> {
    return database.rows<Row>({ name: "", text }, values);
  }
});

/** An absent reason was kept as its word. */
function asBefore(row: Record<string, unknown>): Record<string, unknown> {
  const { reason } = row;
  return typeof reason === "string" ? { ...row, reason: reason.trim() } : row;
}

function oldCohort(lines: readonly unknown[]): string[] {
  return lines.map((line) => (line as { cohort_month: string }).cohort_month);
}

/** The row that tells a migration which months there are; the rebuild replaces its figures. */
function oldMonth(month: string): Record<string, unknown> {
  const figures = [
    "sold_units",
    "returned_units",
    "refunded_units",
    "restocked_units",
    "restocked_cost_minor",
    "costed_sold_units",
    "costed_returned_units",
    "refund_minor",
    "label_minor",
    "returned_not_refunded_units",
    "labeled_returned_units",
  ];
  return {
    entity_kind: "workspace",
    entity_key: "",
    observation_window: "lifetime",
    cohort_month: month,
    ...Object.fromEntries(figures.map((name) => [name, 1])),
  };
}
