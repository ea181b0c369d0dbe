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

const NOW = "2026-11-20T00:00:00Z";
const OPTIONS = { seed: 11, orders: 1200, products: 80, now: NOW, bucketPoints: 1_000_000 };

type Cells = Record<string, string>;
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
});
