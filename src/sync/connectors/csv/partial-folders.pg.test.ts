import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { csv, startImportShop } from "../../../../tests/support/import-shop.ts";
import type { FolderFiles, ImportShop } from "../../../../tests/support/import-shop.ts";

const LINES = {
  "order_lines.csv": csv("order_id,line_id,ordered_at,sku,units", "o1,l1,2026-01-05T10:00:00Z,HAT,3"),
};
const REFUNDS = {
  "refunds.csv": csv(
    "refund_id,order_id,line_id,refunded_at,units,subtotal",
    "f1,o1,l1,2026-01-09T00:00:00Z,1,5",
  ),
};
const RETURNS = {
  "returns.csv": csv(
    "return_id,order_id,line_id,status,units,closed_at",
    "r1,o1,l1,CLOSED,1,2026-01-09T00:00:00Z",
  ),
};
const LABELS = {
  "return_labels.csv": csv("label_id,return_id,charged_at,amount", "b1,r1,2026-01-08T00:00:00Z,4.00"),
};
const PRODUCTS = { "products.csv": csv("product_id,title", "p1,Hat") };
const VARIANTS = { "variants.csv": csv("variant_id,product_id,sku,unit_cost", "v1,p1,HAT,2.50") };
const EVENTS = {
  "sale_events.csv": csv("slug,label,starts_on,ends_on,skus", "w,Winter,2026-01-01,2026-01-31,HAT"),
};
const ALL: readonly FolderFiles[] = [LINES, PRODUCTS, VARIANTS, RETURNS, REFUNDS, LABELS, EVENTS];

let shop: ImportShop;
before(async () => {
  shop = await startImportShop();
});
after(() => shop.stop());

const stateOf = async (shopKey: number): Promise<Record<string, unknown> | undefined> => {
  const state = "select readiness, data_as_of, data_version from workspace where shop_key = $1";
  return (await shop.rows(state, [shopKey]))[0];
};

test("any file of the format is imported by itself, and the files one by one give the rows of one folder", async () => {
  const atOnce = await shop.open();
  await shop.import(atOnce, Object.assign({}, ...ALL) as FolderFiles);
  const oneByOne = await shop.open();
  for (const files of ALL) assert.equal((await shop.import(oneByOne, files)).imported, true);
  assert.deepEqual(await shop.dump(oneByOne), await shop.dump(atOnce));
});

test("a folder without order lines corrects what it names; the as-of stays, which only order lines move", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, { ...LINES, ...RETURNS, ...LABELS });
  const old = await stateOf(shopKey);
  const corrected = {
    "return_labels.csv": csv("label_id,return_id,charged_at,amount", "b1,r1,2026-01-08T00:00:00Z,6.50"),
  };
  const result = await shop.import(shopKey, corrected, { asOf: new Date("2026-06-20T00:00:00Z") });
  assert.equal(result.counts.return_labels, 1);
  assert.deepEqual(result.warnings, []);
  const shares = await shop.rows("select label_minor from label_share where shop_key = $1", [shopKey]);
  assert.deepEqual(shares, [{ label_minor: 650 }]);
  assert.deepEqual(await stateOf(shopKey), { ...old, data_version: 2 });
  const [source] = await shop.rows(
    "select last_synced_at from data_source where shop_key = $1 and source = 'csv_labels'",
    [shopKey],
  );
  assert.deepEqual(source, { last_synced_at: new Date("2026-06-20T00:00:00Z") });
});

test("a catalogue alone does not make a workspace ready: it has no orders to answer from", async () => {
  const shopKey = await shop.open();
  await shop.import(shopKey, { ...PRODUCTS, ...VARIANTS });
  assert.deepEqual(await stateOf(shopKey), { readiness: "installing", data_as_of: null, data_version: 1 });
  assert.equal((await shop.import(shopKey, LINES)).imported, true);
  assert.equal((await stateOf(shopKey))?.["readiness"], "ready");
});

test("files with headers only import nothing, move no as-of and make no workspace ready", async () => {
  const headers = Object.fromEntries(
    Object.entries(Object.assign({}, ...ALL) as FolderFiles).map(([name, text]) => [
      name,
      `${String(text).split("\n")[0]}\n`,
    ]),
  );
  const empty = await shop.open();
  assert.equal((await shop.import(empty, headers)).imported, false);
  assert.deepEqual(await stateOf(empty), { readiness: "installing", data_as_of: null, data_version: 0 });
  const filled = await shop.open();
  await shop.import(filled, LINES);
  const old = [await stateOf(filled), await shop.dump(filled)];
  const result = await shop.import(filled, headers, { asOf: new Date("2026-06-20T00:00:00Z") });
  assert.deepEqual([result.imported, result.invalid_count, result.data_version], [false, 0, 1]);
  assert.deepEqual([await stateOf(filled), await shop.dump(filled)], old);
});

test("a folder of which no row can be used imports nothing, also when such rows may be left out", async () => {
  const shopKey = await shop.open();
  const bad = { "order_lines.csv": csv("order_id,line_id,ordered_at,units", "o1,l1,never,1") };
  const result = await shop.import(shopKey, bad, { skipInvalid: true });
  assert.deepEqual([result.imported, result.invalid_count], [false, 1]);
  assert.equal((await stateOf(shopKey))?.["readiness"], "installing");
});
