import assert from "node:assert/strict";
import { test } from "node:test";
import { csv, startImportWorkspace } from "../../tests/support/import-workspace.ts";
import { inside } from "../../tests/support/inside.ts";
import { rebuildDirtyCohorts } from "./apply.ts";
import { rebuildMarkedWorkspaces, rebuildWorkspace } from "./rebuild.ts";
import { use } from "../../tests/support/use.ts";

const STORE = {
  "products.csv": csv("product_id,title,vendor,family", "p1,Hat,Acme,Tops"),
  "variants.csv": csv("variant_id,product_id,sku,unit_cost", "v1,p1,HAT,2.00"),
  "order_lines.csv": csv(
    "order_id,line_id,ordered_at,variant_id,sku,title,units",
    "o1,l1,2026-01-05T10:00:00Z,v1,,,3",
    "o2,l1,2026-02-05T10:00:00Z,,CAP,Cap,3",
  ),
  "refunds.csv": csv(
    "refund_id,order_id,line_id,refunded_at,units,subtotal",
    "f1,o1,l1,2026-01-20T00:00:00Z,1,5.00",
    "f2,o1,l1,2026-02-20T00:00:00Z,1,5.00",
  ),
  "return_labels.csv": csv("label_id,order_id,charged_at,amount", "b1,o1,2026-01-22T00:00:00Z,4.00"),
};

const MARK_ALL =
  "insert into dirty_cohort (shop_key, cohort_month) select distinct shop_key, cohort_month from cohort where shop_key = $1";

const shop = use(startImportWorkspace);

test("a rebuild repairs any damage to the projections", async () => {
  const shopKey = await openStore();
  const imported = await shop.dump(shopKey);
  for (const table of [
    "order_line",
    "return_event",
    "label_share",
    "cohort",
    "group_day",
    "listing",
    "sku",
    "entity",
  ]) {
    await shop.rows(`delete from ${table} where shop_key = $1`, [shopKey]);
  }
  await shop.rows(
    `insert into cohort (shop_key, entity_kind, entity_key, cohort_month, listing_id, sold_units, costed_sold_units,
                         requested_units, open_units, closed_units, declined_units, canceled_units)
     select $1, e.kind, e.key, '2020-01-01', gen_random_uuid(), 1, 0, 0, 0, 0, 0, 0
       from (values ('sku', 'GHOST'), ('workspace', '')) e (kind, key)`,
    [shopKey],
  );
  await shop.rows("insert into dirty_cohort (shop_key, cohort_month) values ($1, '2026-01-01')", [shopKey]);
  await shop.database.transaction((connection) => rebuildWorkspace(connection, shopKey));
  assert.deepEqual(await shop.dump(shopKey), imported);
});

test("the next run rolls up a month that an earlier version has rolled up without sums over orders", async () => {
  const shopKey = await openStore();
  const imported = await shop.dump(shopKey);
  await shop.rows(
    `update cohort set orders = null, squared_sold_units = null, order_lag_days = null, returned_orders = null,
                       sold_returned_units = null, squared_returned_units = null
      where shop_key = $1 and cohort_month = '2026-01-01'`,
    [shopKey],
  );
  const months = await shop.database.transaction((connection) => rebuildDirtyCohorts(connection, shopKey));
  assert.deepEqual(months, ["2026-01-01"]);
  assert.deepEqual(await shop.dump(shopKey), imported);
});

test("a rebuild gives the rows that the import gave, and leaves other shops alone", async () => {
  const other = await openStore();
  const shopKey = await openStore();
  const imported = [await shop.dump(shopKey), await shop.dump(other)];
  assert.equal(await shop.database.transaction((connection) => rebuildWorkspace(connection, shopKey)), 2);
  assert.deepEqual([await shop.dump(shopKey), await shop.dump(other)], imported);
});

test("M4: a window of any length is one element of the month's return curve", async () => {
  const shopKey = await openStore();
  const january = { month: "2026-01", returned_units: 2, refund_minor: 1000, label_minor: 400 };
  const february = { month: "2026-02", returned_units: 0, refund_minor: 0, label_minor: 0 };
  assert.deepEqual(await figuresInside(shopKey, "lifetime"), [january, february]);
  assert.deepEqual(await figuresInside(shopKey, 46), [january, february]);
  assert.deepEqual(await figuresInside(shopKey, 45), [
    { ...january, returned_units: 1, refund_minor: 500 },
    february,
  ]);
  assert.deepEqual(await figuresInside(shopKey, 15), [
    { ...january, returned_units: 1, refund_minor: 500, label_minor: 0 },
    february,
  ]);
  assert.deepEqual(await figuresInside(shopKey, 14), [
    { ...january, returned_units: 0, refund_minor: 0, label_minor: 0 },
    february,
  ]);
});

async function openStore(): Promise<number> {
  const shopKey = await shop.open();
  const result = await shop.import(shopKey, STORE);
  assert.deepEqual(result.invalid, []);
  return shopKey;
}

function figuresInside(shopKey: number, days: number | "lifetime"): Promise<Record<string, unknown>[]> {
  const figures = ["returned_units", "refund_minor", "label_minor"];
  return shop.rows(
    `select to_char(cohort_month, 'YYYY-MM') as month, ${figures.map((column) => `${inside(column, days)} as ${column}`).join(", ")}
       from cohort where shop_key = $1 and entity_kind = 'workspace' order by cohort_month`,
    [shopKey],
  );
}

test("months that a migration marked are recomputed, under a new version; nothing is done where none is", async () => {
  const shopKey = await openStore();
  const imported = await shop.dump(shopKey);
  await rebuildMarkedWorkspaces(shop.database, assert.fail);
  await shop.rows("update cohort set return_units = null where shop_key = $1", [shopKey]);
  await shop.rows(MARK_ALL, [shopKey]);
  const lines: string[] = [];
  await rebuildMarkedWorkspaces(shop.database, (line) => void lines.push(line));
  assert.equal(lines.length, 1);
  assert.deepEqual(await shop.dump(shopKey), imported);
  assert.equal((await shop.state(shopKey)).data_version, 2);
});
