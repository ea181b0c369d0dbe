import type { Connection } from "../../../store/database.ts";
import { setCursor } from "../../../store/queries/data-source.ts";
import { createStage, lockShopForRun } from "../../../store/queries/import-stage.ts";
import { addGoneOrders } from "../../../store/queries/shopify-record.ts";
import { clearRecords } from "../../../store/queries/sync-record.ts";
import { analyzeData, analyzeRecords } from "../../../store/statistics.ts";
import { applyStage, MANY_ROWS } from "../../apply.ts";
import { openCopyBuffer } from "../../copy.ts";
import { replaceDocument } from "../../document-merge.ts";
import type { SourceOrder, SourceOrders } from "../../documents.ts";
import { publishStoreRun } from "../../publish.ts";
import type { WarningCounts } from "../../project.ts";
import { readStored } from "../../stored-document.ts";
import { openFetchedOrders, openFetchedProducts } from "./map/assemble.ts";
import type { FetchedOrder } from "./map/assemble.ts";
import type { ShopifyCursor } from "./cursor.ts";
import { limitAfter, surelyVisibleFrom } from "./fetch/history.ts";
import { mapOrder, NO_ANOMALIES } from "./map/map-order.ts";
import type { MappedOrder, OrderAnomalies } from "./map/map-order.ts";
import { mapProduct } from "./map/map-product.ts";
import type { MappedProduct } from "./map/map-product.ts";
import { SHOPIFY } from "./run.ts";
import type { ShopifyRun } from "./run.ts";

/** What a run has applied. */
const NO_COUNTS = { orders: 0, order_lines: 0, returns: 0, refunds: 0, products: 0, variants: 0 };

export type Applied = {
  counts: typeof NO_COUNTS & { changed_orders: number };
  anomalies: OrderAnomalies;
  warnings: WarningCounts;
};

/**
 * Applies and publishes all that was fetched, in one transaction with the cursor that says so. The shop's as-of becomes
 * `asOf` (M5).
 */
export async function applyFetched(run: ShopifyRun, asOf: Date): Promise<Applied> {
  const { backfill } = run.cursor;
  const limit = limitAfter(run.cursor, run.access, asOf);
  const cursor: ShopifyCursor = { watermark: asOf.toISOString(), listedAt: null, backfill: null, limit };
  if (backfill !== null) await analyzeRecords(run.database, run.shopKey);
  const applied = await run.database.transaction(async (connection) => {
    const { shopKey, currencyCode } = run;
    await lockShopForRun(connection, shopKey);
    await createStage(connection);
    if (backfill !== null) {
      const visibleFrom = backfill.hasAllOrders ? null : surelyVisibleFrom(asOf);
      await addGoneOrders(connection, shopKey, SHOPIFY, visibleFrom);
    }
    const tally: Tally = { counts: { ...NO_COUNTS }, anomalies: { ...NO_ANOMALIES } };
    await stageProducts(run, connection, tally);
    const { changes, merged } = await applyStage({
      connection,
      shopKey,
      currencyCode,
      labels: null,
      orders: await sourceOrders(run, connection, tally, limit?.historyFrom ?? null),
      onProgress: (stage, done) => run.progress({ stage, done, total: null }),
    });
    await publishStoreRun(connection, {
      shopKey,
      source: SHOPIFY,
      asOf,
      isChanged: changes > 0,
      backfilledOrders: backfill === null ? null : merged.changedOrders,
    });
    await clearRecords(connection, shopKey, SHOPIFY);
    await setCursor(connection, shopKey, SHOPIFY, cursor);
    const counts = { ...tally.counts, changed_orders: merged.changedOrders };
    return { counts, anomalies: tally.anomalies, warnings: merged.warnings };
  }, run.signal);
  run.cursor = cursor;
  if (applied.counts.changed_orders >= MANY_ROWS) await analyzeData(run.database, run.shopKey);
  return applied;
}

type Tally = { counts: typeof NO_COUNTS; anomalies: OrderAnomalies };

async function stageProducts(run: ShopifyRun, connection: Connection, { counts }: Tally): Promise<void> {
  const next = await openFetchedProducts(connection, run.shopKey, SHOPIFY);
  const products = openCopyBuffer(
    connection,
    `staged_product (line_number, product_gid, title, handle, vendor, family, analytics_category, image_url, image_alt)`,
  );
  const variants = openCopyBuffer(
    connection,
    "staged_variant (line_number, variant_id, product_gid, sku, title, used, counterpart_sku, unit_cost_minor)",
  );
  for (let portion = await next(); portion.length > 0; portion = await next()) {
    for (const sourceProduct of portion) {
      const product = mapProduct(sourceProduct, run.shop, run.currencyCode);
      products.add([(counts.products += 1), ...productRow(product)]);
      for (const variant of product.variants) {
        variants.add([
          (counts.variants += 1),
          variant.variantId,
          product.productGid,
          variant.sku,
          variant.title,
          variant.used,
          variant.counterpartSku,
          variant.unitCostMinor,
        ]);
      }
    }
    await products.send();
    await variants.send();
  }
}

function productRow(product: MappedProduct): (string | null)[] {
  return [
    product.productGid,
    product.title,
    product.handle,
    product.vendor,
    product.family,
    product.analyticsCategory,
    product.imageUrl,
    product.imageAlt,
  ];
}

/** The platform sends whole orders: what one leaves out is gone. Orders of before `historyFrom` are left out. */
async function sourceOrders(
  run: ShopifyRun,
  connection: Connection,
  tally: Tally,
  historyFrom: string | null,
): Promise<SourceOrders> {
  const next = await openFetchedOrders(connection, run.shopKey, SHOPIFY);
  const source = ({ orderId, order, document }: FetchedOrder): SourceOrder => {
    const mapped = order === null ? GONE : mapOrder(order, run.currencyCode);
    count(tally, mapped);
    const stored = document === null ? null : readStored(orderId, document);
    return { orderId, stored, part: mapped.part };
  };
  return {
    merge: replaceDocument,
    next: async () => {
      for (let portion = await next(); portion.length > 0; portion = await next()) {
        const counted = portion.filter((fetched) => !isBefore(fetched, historyFrom));
        if (counted.length > 0) return counted.map(source);
      }
      return [];
    },
  };
}

function isBefore({ order }: FetchedOrder, historyFrom: string | null): boolean {
  return historyFrom !== null && order !== null && order.order.processedAt < historyFrom;
}

/** An order without lines is one that the platform no longer has. */
const GONE: MappedOrder = { part: { lines: [], returns: [], refunds: [] }, anomalies: NO_ANOMALIES };

function count({ counts, anomalies }: Tally, { part, anomalies: found }: MappedOrder): void {
  counts.orders += 1;
  counts.order_lines += part.lines.length;
  counts.returns += part.returns.length;
  counts.refunds += part.refunds.length;
  for (const [name, units] of Object.entries(found)) anomalies[name as keyof OrderAnomalies] += units;
}
