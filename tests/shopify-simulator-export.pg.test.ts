import { OPERATOR } from "../src/actions/actor.ts";
import assert from "node:assert/strict";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { parse } from "csv-parse/sync";
import { exportFolder } from "../tools/simulators/shopify/export-folder.ts";
import { startShopifySimulator } from "../tools/simulators/shopify/start.ts";
import type { ShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { makeWorld } from "../tools/simulators/shopify/world/world.ts";
import { importFolder } from "../src/sync/connectors/csv/import-folder.ts";
import { startImportShop } from "./support/import-shop.ts";
import type { ImportShop } from "./support/import-shop.ts";
import { bulk, read, rowsOf } from "./support/simulator-client.ts";

const NOW = "2026-11-20T00:00:00Z";
const OPTIONS = { seed: 11, orders: 1200, products: 80, now: NOW, bucketPoints: 1_000_000 };

type Cells = Record<string, string>;
type Money = { shopMoney: { amount: string } };
type Sale = {
  id: string;
  __parentId: string;
  actionType: string;
  lineType: string;
  quantity: number;
  totalAmount: Money;
  totalTaxAmount: Money;
  lineItem?: { id: string };
};
type RefundLine = {
  quantity: number;
  restockType: string;
  lineItem: { id: string };
  subtotalSet: Money;
  totalTaxSet: Money;
};
type Refund = {
  id: string;
  processedAt: string;
  return: { id: string } | null;
  refundLineItems: { nodes: RefundLine[] };
};

suite("the simulated shop as an import folder", () => {
  let simulator: ShopifySimulator;
  let shop: ImportShop;
  let folder: string;
  const csv = async (name: string): Promise<Cells[]> =>
    parse(await readFile(join(folder, name), "utf8"), { columns: true });

  before(async () => {
    simulator = await startShopifySimulator(OPTIONS);
    shop = await startImportShop();
    folder = await mkdtemp(join(tmpdir(), "shopify-export-"));
    await simulator.control("export", { folder });
  });
  after(async () => {
    await simulator.stop();
    await shop.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test("every row of it can be imported", async () => {
    const shopKey = await shop.open("EUR");
    const { database } = shop;
    const result = await importFolder({
      actor: OPERATOR,
      database,
      shopKey,
      currencyCode: "EUR",
      folder,
      asOf: new Date(NOW),
      now: new Date(NOW),
      skipInvalid: false,
    });
    assert.deepEqual(result.invalid, []);
    assert.equal(result.imported, true);
    assert.equal(result.counts.changed_orders, 1200);
  });

  test("the same seed writes the same bytes in another process", async () => {
    const other = await mkdtemp(join(tmpdir(), "shopify-export-"));
    try {
      const now = Date.parse(NOW) / 1000;
      const world = makeWorld({ ...OPTIONS, now, currencyCode: "EUR", domain: "other.myshopify.com" });
      await exportFolder(world, other);
      for (const name of await readdir(folder)) {
        assert.equal(
          await readFile(join(other, name), "utf8"),
          await readFile(join(folder, name), "utf8"),
          name,
        );
      }
    } finally {
      await rm(other, { recursive: true, force: true });
    }
  });

  test("the shop holds every case that a sync has to survive", async () => {
    const lines = await csv("order_lines.csv");
    const returns = await csv("returns.csv");
    const refunds = await csv("refunds.csv");
    const variants = await csv("variants.csv");
    const cases: Record<string, boolean> = {
      "a line without sku": lines.some(({ sku }) => sku === ""),
      "a line without product": lines.some(({ product_id: id }) => id === ""),
      "a gift card": lines.some(({ gift_card: gift }) => gift === "true"),
      "a test order": lines.some(({ test: flag }) => flag === "true"),
      "a canceled order": lines.some(({ canceled_at: at }) => at !== ""),
      "an edited order": lines.some(({ removed_units: units }) => units !== "0"),
      "every state of a return": new Set(returns.map(({ status }) => status)).size === 5,
      "a return without reason": returns.some(({ reason }) => reason === ""),
      "a close that processed less": returns.some(
        ({ status, units, processed_units: done }) => status === "CLOSED" && units !== done,
      ),
      "every restock type": new Set(refunds.map(({ restock_type: type }) => type)).size === 4,
      "linked and unlinked refunds": new Set(refunds.map(({ return_id: id }) => id === "")).size === 2,
      "a refund of money only": refunds.some(({ units }) => units === "0"),
      "a used variant with its counterpart": variants.some(
        ({ condition, counterpart_sku: sku }) => condition === "used" && sku !== "",
      ),
      "an unknown unit cost": variants.some(({ unit_cost: cost }) => cost === ""),
    };
    assert.deepEqual(
      Object.keys(cases).filter((name) => cases[name] !== true),
      [],
    );
  });

  test("M1: units that edits removed are what the sales ledger took back in them", async () => {
    const state = await bulk(
      `{ orders { edges { node { id agreements { edges { node { id reason sales { edges { node { id actionType lineType
        quantity totalAmount { shopMoney { amount } } totalTaxAmount { shopMoney { amount } }
        ... on ProductSale { lineItem { id } } ... on GiftCardSale { lineItem { id } } } } } } } } } } } }`,
      simulator,
    );
    const rows = await rowsOf<Sale & { reason?: string }>(state.url);
    const edits = new Set(rows.flatMap(({ id, reason }) => (reason === "ORDER_EDIT" ? [id] : [])));
    const removed = new Map<string, number>();
    for (const { __parentId: parent, actionType, quantity, lineItem } of rows) {
      if (!edits.has(parent) || actionType !== "RETURN" || lineItem === undefined) continue;
      removed.set(lineItem.id, (removed.get(lineItem.id) ?? 0) - quantity);
    }
    const exported = (await csv("order_lines.csv")).filter(({ removed_units: units }) => units !== "0");
    assert.deepEqual(
      new Map(exported.map(({ line_id: id, removed_units: units }) => [id, Number(units)])),
      new Map([...removed].toSorted(([one], [other]) => Number(one.slice(23)) - Number(other.slice(23)))),
    );
  });

  test("M9: refund lines less their tax are the exported subtotals, also where prices hold the tax", async () => {
    const found = new Map<
      string,
      { units: number; cents: number; type: string; processedAt: string; return: string }
    >();
    for (let cursor: string | null = null; ;) {
      type Page = {
        orders: {
          pageInfo: { hasNextPage: boolean; endCursor: string };
          nodes: { taxesIncluded: boolean; refunds: Refund[] }[];
        };
      };
      const { orders }: Page = await read<Page>(
        `query Refunds($after: String) { orders(first: 100, after: $after, sortKey: ID) {
          pageInfo { hasNextPage endCursor } nodes { taxesIncluded refunds { id processedAt return { id }
            refundLineItems(first: 20) { nodes { quantity restockType lineItem { id }
              subtotalSet { shopMoney { amount } } totalTaxSet { shopMoney { amount } } } } } } } }`,
        { simulator, variables: { after: cursor } },
      );
      for (const { taxesIncluded, refunds } of orders.nodes) {
        for (const refund of refunds) {
          for (const line of refund.refundLineItems.nodes) {
            const key = `${refund.id} ${line.lineItem.id}`;
            const tax = taxesIncluded ? cents(line.totalTaxSet) : 0;
            const known = found.get(key);
            found.set(key, {
              units: line.quantity + (known?.units ?? 0),
              cents: cents(line.subtotalSet) - tax + (known?.cents ?? 0),
              type: line.restockType,
              processedAt: refund.processedAt,
              return: refund.return?.id ?? "",
            });
          }
        }
      }
      if (!orders.pageInfo.hasNextPage) break;
      cursor = orders.pageInfo.endCursor;
    }
    const exported = await csv("refunds.csv");
    assert.ok(exported.length > 200);
    assert.equal(found.size, exported.length);
    for (const row of exported) {
      assert.deepEqual(found.get(`${row["refund_id"]} ${row["line_id"]}`), {
        units: Number(row["units"]),
        cents: Math.round(Number(row["subtotal"]) * 100),
        type: row["restock_type"],
        processedAt: row["refunded_at"]?.replace(".000Z", "Z"),
        return: row["return_id"],
      });
    }
  });
});

function cents({ shopMoney: { amount } }: Money): number {
  return Math.round(Number(amount) * 100);
}
