import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { csv, startImportShop } from "../../tests/support/import-shop.ts";
import type { ImportShop } from "../../tests/support/import-shop.ts";
import { rebuildPrimaryWindow } from "./cohorts.ts";
import { rebuildMarkedShops, rebuildWorkspace } from "./rebuild.ts";

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

let shop: ImportShop;

before(async () => {
  shop = await startImportShop();
});

after(() => shop.stop());

test("a rebuild gives the rows that the import gave, under a new version", async () => {
  const shopKey = await openStore();
  const imported = await shop.dump(shopKey);
  assert.equal(await rebuildWorkspace(shop.database, shopKey), 2);
  assert.deepEqual(await shop.dump(shopKey), imported);
});

test("a rebuild makes good whatever happened to the projections", async () => {
  const shopKey = await openStore();
  const imported = await shop.dump(shopKey);
  for (const table of ["order_line", "return_event", "label_share", "cohort", "sku", "entity"]) {
    await shop.rows(`delete from ${table} where shop_key = $1`, [shopKey]);
  }
  await shop.rows(
    `insert into cohort values ($1, 'sku', 'GHOST', '30d', '2020-01-01', 1, 0, 0, 0, 0, 0, 0, 0, 0),
                               ($1, 'workspace', '', '30d', '2020-01-01', 1, 0, 0, 0, 0, 0, 0, 0, 0)`,
    [shopKey],
  );
  await shop.rows("insert into dirty_cohort (shop_key, cohort_month) values ($1, '2026-01-01')", [shopKey]);
  await rebuildWorkspace(shop.database, shopKey);
  assert.deepEqual(await shop.dump(shopKey), imported);
});

test("a rebuild of one shop leaves the others alone", async () => {
  const other = await openStore();
  const previous = await shop.dump(other);
  await rebuildWorkspace(shop.database, await openStore());
  assert.deepEqual(await shop.dump(other), previous);
});

test("M4: another primary window changes its rows and no others, and back gives the first ones", async () => {
  const shopKey = await openStore();
  const imported = await shop.dump(shopKey);
  const others = await rowsOfOtherWindows(shopKey);
  assert.deepEqual(await primaryFigures(shopKey), [
    { month: "2026-01", returned_units: 1, refund_minor: 500, label_minor: 400 },
    { month: "2026-02", returned_units: 0, refund_minor: 0, label_minor: 0 },
  ]);
  assert.equal(await rebuildPrimaryWindow(shop.database, shopKey, 46), 2);
  assert.deepEqual(await primaryFigures(shopKey), [
    { month: "2026-01", returned_units: 2, refund_minor: 1000, label_minor: 400 },
    { month: "2026-02", returned_units: 0, refund_minor: 0, label_minor: 0 },
  ]);
  assert.equal(await rebuildPrimaryWindow(shop.database, shopKey, 15), 3);
  assert.deepEqual(await primaryFigures(shopKey), [
    { month: "2026-01", returned_units: 1, refund_minor: 500, label_minor: 0 },
    { month: "2026-02", returned_units: 0, refund_minor: 0, label_minor: 0 },
  ]);
  assert.deepEqual(await rowsOfOtherWindows(shopKey), others);
  const [workspace] = await shop.rows("select primary_window_days from workspace where shop_key = $1", [
    shopKey,
  ]);
  assert.deepEqual(workspace, { primary_window_days: 15 });
  await rebuildPrimaryWindow(shop.database, shopKey, 30);
  assert.deepEqual(await shop.dump(shopKey), imported);
});

test("M4: months that were marked are made right before another primary window is made from them", async () => {
  const shopKey = await openStore();
  const imported = await shop.dump(shopKey);
  await shop.rows("update cohort set returned_units = 0, label_minor = 7 where shop_key = $1", [shopKey]);
  await shop.rows(MARK_ALL, [shopKey]);
  await rebuildPrimaryWindow(shop.database, shopKey, 15);
  assert.equal((await primaryFigures(shopKey))[0]?.["returned_units"], 1);
  await rebuildPrimaryWindow(shop.database, shopKey, 30);
  assert.deepEqual(await shop.dump(shopKey), imported);
});

test("M4: an import after the primary window changed uses the new one", async () => {
  const shopKey = await shop.open();
  await rebuildPrimaryWindow(shop.database, shopKey, 46);
  await shop.import(shopKey, STORE);
  assert.equal((await primaryFigures(shopKey))[0]?.["returned_units"], 2);
});

async function openStore(): Promise<number> {
  const shopKey = await shop.open();
  const result = await shop.import(shopKey, STORE);
  assert.deepEqual(result.invalid, []);
  return shopKey;
}

function primaryFigures(shopKey: number): Promise<Record<string, unknown>[]> {
  return shop.rows(
    `select to_char(cohort_month, 'YYYY-MM') as month, returned_units, refund_minor, label_minor from cohort
      where shop_key = $1 and entity_kind = 'workspace' and observation_window = 'primary' order by cohort_month`,
    [shopKey],
  );
}

function rowsOfOtherWindows(shopKey: number): Promise<unknown[]> {
  return shop.rows(
    `select to_jsonb(c) as row from cohort c where shop_key = $1 and observation_window <> 'primary'
      order by to_jsonb(c)::text`,
    [shopKey],
  );
}

test("months that a migration marked are prepared anew, under a new version; nothing is done where none is", async () => {
  const shopKey = await openStore();
  const imported = await shop.dump(shopKey);
  await rebuildMarkedShops(shop.database, assert.fail);
  await shop.rows("update cohort set return_units = null, sold_days = null where shop_key = $1", [shopKey]);
  await shop.rows(MARK_ALL, [shopKey]);
  const lines: string[] = [];
  await rebuildMarkedShops(shop.database, (line) => void lines.push(line));
  assert.equal(lines.length, 1);
  assert.deepEqual(await shop.dump(shopKey), imported);
  const [row] = await shop.rows("select data_version from workspace where shop_key = $1", [shopKey]);
  assert.deepEqual(row, { data_version: 2 });
});
