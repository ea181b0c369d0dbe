import assert from "node:assert/strict";
import { test } from "node:test";
import {
  csv,
  dumpOf,
  ROLLUP_TABLES,
  startImportWorkspace,
  type FolderFiles,
} from "../../tests/support/import-workspace.ts";
import { rebuildDirtyCohorts } from "./apply.ts";
import { rebuildWorkspace } from "./rebuild.ts";
import { use } from "../../tests/support/use.ts";

/** A run rolls up the months whose facts it changed; the result must be that of a rebuild of everything. */

const PRODUCTS = "product_id,title,family,analytics_category,vendor";
const VARIANTS = "variant_id,product_id,sku,condition,unit_cost";
const LINES = "order_id,line_id,ordered_at,variant_id,product_id,sku,units";
const RETURNS = "return_id,order_id,line_id,status,units,closed_at,reason";
const REFUNDS = "refund_id,order_id,line_id,refunded_at,units,subtotal,restock_type";
const LABELS = "label_id,order_id,charged_at,amount,voided_at";

const STORE = {
  "products.csv": csv(PRODUCTS, "p1,Hat,Tops,Wool,Acme", "p2,Shoe,Feet,Skin,Acme", "p3,Belt,Tops,Skin,Best"),
  "variants.csv": csv(
    VARIANTS,
    "v1,p1,HAT-S,new,2.00",
    "v2,p1,HAT-M,new,2.50",
    "v3,p2,SHOE,new,9.00",
    "v4,p3,BELT,used,1.00",
  ),
  "order_lines.csv": csv(
    LINES,
    "o1,l1,2026-01-05T10:00:00Z,v1,,,3",
    "o1,l2,2026-01-05T10:00:00Z,v2,,,2",
    "o2,l1,2026-01-06T10:00:00Z,v3,,,4",
    "o3,l1,2026-02-07T10:00:00Z,v4,,,5",
    "o3,l2,2026-02-07T10:00:00Z,,p2,SHOE-X,1",
    "o4,l1,2026-02-08T10:00:00Z,,,CAP,2",
    "o6,l1,2026-03-09T10:00:00Z,,p9,CAP,2",
    "o7,l1,2026-01-09T10:00:00Z,,p9,CAP,1",
  ),
  "returns.csv": csv(RETURNS, "r1,o2,l1,CLOSED,1,2026-01-20T00:00:00Z,SIZE"),
  "refunds.csv": csv(
    REFUNDS,
    "f1,o1,l1,2026-01-20T00:00:00Z,1,5.00,RETURN",
    "f2,o3,l1,2026-02-20T00:00:00Z,2,8.00,NO_RESTOCK",
  ),
  "return_labels.csv": csv(LABELS, "b1,o1,2026-01-22T00:00:00Z,4.00,", "b2,o3,2026-02-22T00:00:00Z,3.00,"),
};

const NOTHING = csv(LINES);

/** One after the other each changes cohorts, so what moves lines is last. */
const CHANGES: Readonly<Record<string, FolderFiles>> = {
  "a refund more": { "refunds.csv": csv(REFUNDS, "f3,o2,l1,2026-02-20T00:00:00Z,1,9.00,RETURN") },
  "another reason of a return": {
    "returns.csv": csv(RETURNS, "r1,o2,l1,CLOSED,1,2026-01-20T00:00:00Z,COLOR"),
  },
  "a return that closed later": {
    "returns.csv": csv(RETURNS, "r1,o2,l1,CLOSED,1,2026-04-20T00:00:00Z,SIZE"),
  },
  "a return under way": { "returns.csv": csv(RETURNS, "r2,o4,l1,OPEN,1,,SIZE") },
  "a label more": { "return_labels.csv": csv(LABELS, "b3,o2,2026-01-25T00:00:00Z,6.00,") },
  "another amount of a label": { "return_labels.csv": csv(LABELS, "b1,o1,2026-01-22T00:00:00Z,7.00,") },
  "a label charged later": { "return_labels.csv": csv(LABELS, "b1,o1,2026-04-22T00:00:00Z,4.00,") },
  "a label of another order": { "return_labels.csv": csv(LABELS, "b1,o3,2026-02-23T00:00:00Z,4.00,") },
  "a label that is void now": {
    "return_labels.csv": csv(LABELS, "b2,o3,2026-02-22T00:00:00Z,3.00,2026-03-01T00:00:00Z"),
  },
  "another cost of a variant": { "variants.csv": csv(VARIANTS, "v1,p1,HAT-S,new,3.00") },
  "a variant that is used now": { "variants.csv": csv(VARIANTS, "v3,p2,SHOE,used,9.00") },
  "a variant of another product": { "variants.csv": csv(VARIANTS, "v2,p3,HAT-M,new,2.50") },
  "a variant of another SKU": { "variants.csv": csv(VARIANTS, "v2,p1,HAT-L,new,2.50") },
  "a variant of a SKU that only lines named": { "variants.csv": csv(VARIANTS, "v5,p3,CAP,new,1.50") },
  "a product of another family and category": { "products.csv": csv(PRODUCTS, "p1,Hat,Feet,Silk,Acme") },
  "a product of another vendor": { "products.csv": csv(PRODUCTS, "p1,Hat,Tops,Wool,Best") },
  "a used variant that names a counterpart": {
    "variants.csv": csv(`${VARIANTS},counterpart_sku`, "v4,p3,BELT,used,1.00,HAT-S"),
  },
  "more units of a line": { "order_lines.csv": csv(LINES, "o1,l1,2026-01-05T10:00:00Z,v1,,,7") },
  "an order in another month": {
    "order_lines.csv": csv(LINES, "o1,l1,2026-03-05T10:00:00Z,v1,,,3", "o1,l2,2026-03-05T10:00:00Z,v2,,,2"),
  },
  "a line of another variant": { "order_lines.csv": csv(LINES, "o2,l1,2026-01-06T10:00:00Z,v4,,,4") },
  "a line of a SKU that nothing names": {
    "order_lines.csv": csv(LINES, "o4,l1,2026-02-08T10:00:00Z,,,BEANIE,2"),
  },
  "a line that sells nothing any more": {
    "order_lines.csv": csv(`${LINES},canceled_at`, "o4,l1,2026-02-08T10:00:00Z,,,CAP,2,2026-02-09T00:00:00Z"),
  },
  "a new order": { "order_lines.csv": csv(LINES, "o5,l1,2026-01-09T10:00:00Z,v2,,,2") },
  "a line without a product that names a vendor": {
    "order_lines.csv": csv(`${LINES},vendor`, "o4,l1,2026-02-08T10:00:00Z,,,CAP,2,Solo"),
  },
  "a product known from lines alone whose latest line names a vendor": {
    "order_lines.csv": csv(`${LINES},vendor`, "o6,l1,2026-03-09T10:00:00Z,,p9,CAP,2,Late"),
  },
  "a line of another product with the same SKU": {
    "order_lines.csv": csv(LINES, "o2,l1,2026-01-06T10:00:00Z,,p3,SHOE,4"),
  },
};

const shop = use(startImportWorkspace);
const COHORTS = dumpOf(["cohort"]);

async function openStore(): Promise<number> {
  const shopKey = await shop.open();
  await shop.import(shopKey, STORE);
  return shopKey;
}

test("M7: after any changes one after another, every rollup row is that of a rebuild of everything", async () => {
  const shopKey = await openStore();
  for (const [title, files] of Object.entries(CHANGES)) {
    const before = await shop.rows(COHORTS, [shopKey]);
    await shop.import(shopKey, { "order_lines.csv": NOTHING, ...files });
    assert.notDeepEqual(await shop.rows(COHORTS, [shopKey]), before, title);
    const changed = await shop.dump(shopKey);
    assert.deepEqual(await rebuiltFromNothing(shopKey), changed, title);
  }
  await shop.import(shopKey, STORE);
  const restored = await shop.dump(shopKey);
  assert.deepEqual(await rebuiltFromNothing(shopKey), restored);
});

/** The rows of a workspace after a rebuild that finds nothing of what is computed from facts. */
async function rebuiltFromNothing(shopKey: number): Promise<Record<string, unknown[]>> {
  for (const table of ROLLUP_TABLES) await shop.rows(`delete from ${table} where shop_key = $1`, [shopKey]);
  await shop.database.transaction((connection) => rebuildWorkspace(connection, shopKey));
  return shop.dump(shopKey);
}

/** Another value of a column, by its type. */
const ANOTHER: Readonly<Record<string, (column: string) => string>> = {
  bigint: (column) => `coalesce(${column}, 0) + 1`,
  "double precision": (column) => `coalesce(${column}, 0) + 1`,
  boolean: (column) => `not coalesce(${column}, true)`,
  ARRAY: (column) => `array_append(${column}, null)`,
};
/** What is not computed from the month alone. */
const OF_YEARS = "year_months";

const MONTH = "'2026-01-01'";
const OF_MONTH = {
  cohort: `cohort_month = ${MONTH}`,
  group_day: `sold_on between ${MONTH} and '2026-01-31'`,
};

for (const [table, ofMonth] of Object.entries(OF_MONTH)) {
  test(`a wrong value in any column of ${table} is found when its month is rolled up again`, async () => {
    const shopKey = await openStore();
    const rows = () => shop.rows(dumpOf([table]), [shopKey]);
    const imported = [await rows(), await shop.dump(shopKey)];
    const columns = await shop.rows<{ name: string; type: string }>(
      `select a.attname as name, case when t.typelem > 0 and t.typlen < 0 then 'ARRAY' else format_type(a.atttypid, null) end as type
         from pg_attribute a join pg_type t on t.oid = a.atttypid
        where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped and a.attname <> $2
          and not exists (select from pg_index i where i.indrelid = a.attrelid and i.indisprimary and a.attnum = any(i.indkey))`,
      [table, OF_YEARS],
    );
    assert.ok(columns.length > 10);
    for (const { name, type } of columns) {
      const another = ANOTHER[type]?.(name) ?? assert.fail(`${name}: ${type}`);
      await shop.rows(`update ${table} set ${name} = ${another} where shop_key = $1 and ${ofMonth}`, [
        shopKey,
      ]);
      await shop.rows(`insert into dirty_cohort (shop_key, cohort_month) values ($1, ${MONTH})`, [shopKey]);
      await shop.database.transaction((connection) => rebuildDirtyCohorts(connection, shopKey));
      assert.deepEqual(await rows(), imported[0], name);
    }
    assert.deepEqual(await shop.dump(shopKey), imported[1]);
  });
}

const SPOIL =
  "update cohort set sold_units = 77 where shop_key = $1 and entity_kind = 'sku' and entity_key = $2";
const SPOILED = "select 1 from cohort where shop_key = $1 and entity_key = $2 and sold_units = 77";

test("a run rolls up the months whose facts changed, whole, and no other", async () => {
  const shopKey = await openStore();
  await shop.rows(SPOIL, [shopKey, "SHOE"]);
  await shop.rows(SPOIL, [shopKey, "CAP"]);
  await shop.import(shopKey, { "order_lines.csv": csv(LINES, "o1,l1,2026-01-05T10:00:00Z,v1,,,7") });
  assert.equal((await shop.rows(SPOILED, [shopKey, "SHOE"])).length, 0);
  const months = await shop.rows(
    `select distinct to_char(cohort_month, 'YYYY-MM') as month from (${SPOILED.replace("select 1", "select cohort_month")}) s order by 1`,
    [shopKey, "CAP"],
  );
  assert.deepEqual(months, [{ month: "2026-02" }, { month: "2026-03" }]);
});
