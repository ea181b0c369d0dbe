import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { OPERATOR } from "../src/actions/actor.ts";
import { importFolder } from "../src/sync/connectors/csv/import-folder.ts";
import { rebuildWorkspace } from "../src/sync/rebuild.ts";
import { redactOrders } from "../src/store/queries/order-document.ts";
import { filesOf, withExport } from "./support/export-move.ts";
import { csv, ROLLUP_TABLES, type ImportWorkspace } from "./support/import-workspace.ts";
import { startShopifySync } from "./support/shopify-sync.ts";

/** The export of a store that was fetched from its platform, with labels of several sources, gives the same facts and rollups elsewhere. */

const AS_OF = "2026-06-01T00:00:00Z";
/** Everything that answers are computed from, by table, without the columns that name a label source. */
const TABLES = [
  "product",
  "variant",
  "sku",
  "entity",
  "order_line",
  "return_event",
  "return_request",
  "label_share",
  ...ROLLUP_TABLES,
  "sale_event",
];

async function factsOf(shop: ImportWorkspace, shopKey: number): Promise<Record<string, string[]>> {
  const facts: Record<string, string[]> = {};
  for (const table of TABLES) {
    const rows = await shop.rows<{ row: string }>(
      `select (to_jsonb(t) - array['shop_key', 'source', 'label_id'])::text as row from ${table} t where shop_key = $1 order by 1`,
      [shopKey],
    );
    facts[table] = rows.map(({ row }) => row);
  }
  return facts;
}

const domainOf = (shopKey: number): string => `shop-${shopKey}.example`;

async function register(shop: ImportWorkspace, shopKey: number): Promise<void> {
  await shop.rows(
    "insert into shop_directory (shop_domain, shop_key) overriding system value values ($2, $1::bigint)",
    [shopKey, domainOf(shopKey)],
  );
}

/** Labels of two sources that name a tracking number, an order's name, or nothing known. */
async function addLabels(shop: ImportWorkspace, shopKey: number): Promise<void> {
  const [tracked] = await shop.rows<{ number: string }>(
    `select t.tracking_number as number from return_tracking t
       join return_request r on r.shop_key = t.shop_key and r.return_id = t.return_id and r.units > 0
      where t.shop_key = $1 order by 1 limit 1`,
    [shopKey],
  );
  assert.ok(tracked !== undefined, "the shop has returns with tracking numbers");
  await shop.import(shopKey, {
    "return_labels.csv": csv(
      "label_id,tracking_number,charged_at,amount",
      `b1,${tracked.number},2026-03-01T00:00:00Z,5.55`,
      "b2,never seen,2026-03-02T00:00:00Z,4.44",
    ),
  });
  await shop.rows(
    `insert into data_source (shop_key, source, kind, status, currency_code, last_synced_at)
     values ($1, 'shipstation', 'label_cost', 'ok', 'EUR', now())`,
    [shopKey],
  );
  await shop.rows(
    `insert into return_label (shop_key, source, label_id, source_order_name, charged_at, amount_minor, currency_code)
     select $1::bigint, 'shipstation', 'b1', n.order_name, '2026-04-01', 333, 'EUR'
       from order_reference n
       join return_event e on e.shop_key = n.shop_key and e.order_id = n.order_id and e.returned_units > 0
      where n.shop_key = $1 order by 4 limit 1`,
    [shopKey],
  );
  await shop.database.transaction((connection) => rebuildWorkspace(connection, shopKey));
}

for (const { seed, currencyCode, orders } of [
  { seed: 11, currencyCode: "EUR", orders: 150 },
  { seed: 12, currencyCode: "KWD", orders: 60 },
]) {
  test(`the export of a fetched store in ${currencyCode} gives the same facts and rollups`, async () => {
    const sync = await startShopifySync({ seed, currencyCode, orders, products: 20 });
    const { shop } = sync;
    try {
      const synced = await sync.connect();
      const { shopKey } = synced;
      await synced.sync("backfill");
      await register(shop, shopKey);
      if (currencyCode === "EUR") await addLabels(shop, shopKey);
      // A platform may state a return that is closed without a time, and a refund of more than was sold.
      await shop.rows(
        `update order_document set document = jsonb_set(document, '{returns,0}', (document #> '{returns,0}') - 'closedAt')
          where shop_key = $1 and document #>> '{returns,0,closedAt}' is not null
            and order_id in (select order_id from order_document where shop_key = $1 and document ? 'returns' order by 1 limit 40)`,
        [shopKey],
      );
      await shop.rows(
        `update order_document set document = jsonb_set(document, '{refunds,0,units}', '9')
          where shop_key = $1 and order_id in (select order_id from order_document where shop_key = $1 and document ? 'refunds' order by 1 limit 3)`,
        [shopKey],
      );
      const redacted = await shop.rows<{ order_id: string }>(
        "select order_id from order_reference where shop_key = $1 order by 1 limit 5",
        [shopKey],
      );
      await shop.database.transaction(async (connection) => {
        await redactOrders(
          connection,
          shopKey,
          redacted.map((row) => row.order_id),
          [],
        );
        await rebuildWorkspace(connection, shopKey);
      });
      await withExport(shop.database, domainOf(shopKey), async (folder) => {
        const store = await filesOf(join(folder, "store"));
        assert.match(store["returns.csv"] ?? "", /,true\r$/mu);
        assert.match(store["refunds.csv"] ?? "", /,true\r$/mu);
        const copyKey = await shop.open(currencyCode);
        await register(shop, copyKey);
        const result = await importFolder({
          database: shop.database,
          actor: OPERATOR,
          shopKey: copyKey,
          currencyCode,
          folder: join(folder, "store"),
          asOf: new Date(AS_OF),
          now: new Date(AS_OF),
          skipInvalid: false,
        });
        assert.deepEqual(result.invalid, []);
        assert.deepEqual(await factsOf(shop, copyKey), await factsOf(shop, shopKey));
        await withExport(shop.database, domainOf(copyKey), async (again) =>
          assert.deepEqual(await filesOf(join(again, "store")), store),
        );
      });
    } finally {
      await sync.stop();
    }
  });
}
