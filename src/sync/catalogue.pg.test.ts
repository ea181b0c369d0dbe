import assert from "node:assert/strict";
import { test } from "node:test";
import { csv, startImportWorkspace, type FolderFiles } from "../../tests/support/import-workspace.ts";
import { use } from "../../tests/support/use.ts";

const LINES = csv(
  "order_id,line_id,ordered_at,product_id,variant_id,sku,title,vendor,units",
  "o1,l1,2026-01-05T10:00:00Z,p1,v1,A,Old hat,Acme,1",
  "o2,l1,2026-02-05T10:00:00Z,p1,v1,A,New hat,,1",
  "o3,l1,2026-03-05T10:00:00Z,,,LOOSE,Loose thing,Loose maker,1",
  "o4,l1,2026-04-05T10:00:00Z,,v2,,,,1",
);
const NO_LINES = { "order_lines.csv": csv("order_id,line_id,ordered_at,units") };

const shop = use(startImportWorkspace);

test("products and SKUs that only lines name carry title and vendor of the latest line that has one", async () => {
  const shopKey = await openWith({ "order_lines.csv": LINES });
  assert.deepEqual(await products(shopKey), ["gid://import/Product/p1 New hat Acme from lines"]);
  assert.deepEqual(await skus(shopKey), [
    "A gid://import/Product/p1 New hat Acme new from lines",
    "LOOSE - Loose thing Loose maker new from lines",
  ]);
});

test("a product that is described later replaces what lines state, and moves to its vendor", async () => {
  const shopKey = await openWith({ "order_lines.csv": LINES });
  const files = { "products.csv": csv("product_id,title,vendor", "p1,Fedora,Hatter") };
  const result = await shop.import(shopKey, { ...NO_LINES, ...files });
  assert.deepEqual(result.changed_months, ["2026-01", "2026-02"]);
  assert.equal(result.data_version, 2);
  assert.deepEqual(await products(shopKey), ["gid://import/Product/p1 Fedora Hatter described"]);
  assert.equal((await skus(shopKey))[0], "A gid://import/Product/p1 Fedora Hatter new from lines");
});

test("a product known only from variants is titled by a line, else a variant, else its id", async () => {
  const variants = csv("variant_id,product_id,sku,title", "v2,p2,B,Scarf blue", "v3,p3,C,");
  const shopKey = await openWith({ "order_lines.csv": LINES, "variants.csv": variants });
  assert.deepEqual(await products(shopKey), [
    "gid://import/Product/p1 New hat Acme from lines",
    "gid://import/Product/p2 Scarf blue - from lines",
    "gid://import/Product/p3 p3 - from lines",
  ]);
});

test("M14: a variant that arrives later gives its lines SKU, product, condition and cost, and dirties their months", async () => {
  const shopKey = await openWith({ "order_lines.csv": LINES });
  const variants = csv(
    "variant_id,product_id,sku,condition,counterpart_sku,unit_cost",
    "v2,p2,B-USED,used,B,3.50",
    "v9,p9,LOOSE,,,1.25",
  );
  const result = await shop.import(shopKey, { ...NO_LINES, "variants.csv": variants });
  assert.deepEqual(result.changed_months, ["2026-03", "2026-04"]);
  const rows = await shop.rows(
    `select order_id, sku, product_gid, used, unit_cost_minor from order_line
      where shop_key = $1 and order_id in ('o3', 'o4') order by order_id`,
    [shopKey],
  );
  const product = (id: string): string => `gid://import/Product/${id}`;
  assert.deepEqual(rows, [
    { order_id: "o3", sku: "LOOSE", product_gid: product("p9"), used: false, unit_cost_minor: 125 },
    { order_id: "o4", sku: "B-USED", product_gid: product("p2"), used: true, unit_cost_minor: 350 },
  ]);
  const [cohort] = await shop.rows(
    `select entity_key, costed_sold_units from cohort
      where shop_key = $1 and entity_kind = 'product_used'`,
    [shopKey],
  );
  assert.deepEqual(cohort, { entity_key: product("p2"), costed_sold_units: 1 });
});

test("a product that moves to another family dirties the months it was sold in, and groups follow", async () => {
  const described = (family: string): FolderFiles => ({
    "products.csv": csv("product_id,title,family,analytics_category", `p1,Hat,${family},Headwear`),
  });
  const shopKey = await openWith({ "order_lines.csv": LINES, ...described("Summer ") });
  const result = await shop.import(shopKey, { ...NO_LINES, ...described("Winter") });
  assert.deepEqual(result.changed_months, ["2026-01", "2026-02"]);
  const families = await shop.rows(
    "select distinct entity_key from cohort where shop_key = $1 and entity_kind = 'family'",
    [shopKey],
  );
  assert.deepEqual(families, [{ entity_key: "Winter" }]);
  assert.deepEqual(await groups(shopKey), ["Headwear analytics category", "Winter family"]);
});

test("a SKU that no row names any more is gone, and so is its entity", async () => {
  const shopKey = await openWith({ "order_lines.csv": LINES });
  const renamed = csv(
    "order_id,line_id,ordered_at,sku,title,units",
    "o3,l1,2026-03-05T10:00:00Z,TIGHT,Tight thing,1",
  );
  await shop.import(shopKey, { "order_lines.csv": renamed });
  assert.deepEqual(await skus(shopKey), [
    "A gid://import/Product/p1 New hat Acme new from lines",
    "TIGHT - Tight thing - new from lines",
  ]);
  const entities = await shop.rows(
    "select label from entity where shop_key = $1 and type_rank = 1 order by label",
    [shopKey],
  );
  assert.deepEqual(entities, [{ label: "A" }, { label: "TIGHT" }]);
});

test("entities carry label, subtitle and folded search text, the label first", async () => {
  const shopKey = await openWith({
    "order_lines.csv": LINES,
    "products.csv": csv("product_id,title,vendor,family", "p1,Crème Brûlée HAT,Ångström,Tops"),
  });
  const rows = await shop.rows(
    `select array[type_rank::text, label, entity_key, product_group_type, subtitle, vendor, search_text] as cells
       from entity where shop_key = $1 and label <> 'LOOSE' order by type_rank`,
    [shopKey],
  );
  const gid = "gid://import/Product/p1";
  const title = "Crème Brûlée HAT";
  const vendor = "Ångström";
  assert.deepEqual(
    rows.map(({ cells }) => cells),
    [
      ["1", "A", "A", "", title, vendor, "a\ncreme brulee hat\nangstrom"],
      ["2", title, gid, "", vendor, vendor, "creme brulee hat\nangstrom"],
      ["3", "Tops", "Tops", "family", "family", null, "tops"],
    ],
  );
});

async function openWith(files: FolderFiles): Promise<number> {
  const shopKey = await shop.open();
  const result = await shop.import(shopKey, files);
  assert.deepEqual(result.invalid, []);
  return shopKey;
}

async function texts(sql: string, shopKey: number): Promise<unknown[]> {
  return (await shop.rows<{ text: string }>(sql, [shopKey])).map(({ text }) => text);
}

const products = (shopKey: number) =>
  texts(
    `select concat_ws(' ', product_gid, title, coalesce(vendor, '-'),
                      case when from_lines then 'from lines' else 'described' end) as text
       from product where shop_key = $1 order by product_gid`,
    shopKey,
  );

const skus = (shopKey: number) =>
  texts(
    `select concat_ws(' ', sku, coalesce(product_gid, '-'), coalesce(product_title, '-'), coalesce(vendor, '-'),
                      case when used then 'used' else 'new' end,
                      case when from_lines then 'from lines' else 'described' end) as text
       from sku where shop_key = $1 order by sku`,
    shopKey,
  );

const groups = (shopKey: number) =>
  texts(
    `select label || ' ' || subtitle as text from entity where shop_key = $1 and type_rank = 3 order by label`,
    shopKey,
  );
