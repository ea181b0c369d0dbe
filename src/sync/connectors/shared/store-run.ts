import type { Connection } from "../../../store/database.ts";
import { setCursor } from "../../../store/queries/data-source.ts";
import { hasWork } from "../../../store/queries/dirty-month.ts";
import { createStage, lockWorkspaceForRun } from "../../../store/queries/import-stage.ts";
import { clearRecords } from "../../../store/queries/sync-record.ts";
import { analyzeData, analyzeRecords } from "../../../store/queries/statistics.ts";
import type { NextRows } from "../../../store/query.ts";
import { applyStage, MANY_ROWS } from "../../apply.ts";
import type { SyncContext } from "../../connector.ts";
import { openCopyBuffer } from "../../copy.ts";
import type { MergedOrders, SourceOrders } from "../../document-merge.ts";
import { publishStoreRun } from "../../publish.ts";
import type { MappedProduct } from "./map-product.ts";

/** The records that a store run has fetched into `sync_record`, and how to apply them. */
export type StoreRunEnd = {
  source: string;
  /** M5. The source's as-of after this run. */
  asOf: Date;
  /** The cursor once everything is applied. */
  cursor: unknown;
  isBackfill: boolean;
  /** Adds records of the orders that a backfill no longer found. */
  addGone(connection: Connection): Promise<void>;
  openProducts(connection: Connection): Promise<NextRows<MappedProduct>>;
  openOrders(connection: Connection): Promise<SourceOrders>;
};

export type AppliedStoreRun = Pick<MergedOrders, "changedOrders" | "warnings"> & {
  products: number;
  variants: number;
  /** Whether any served figure changed. */
  isChanged: boolean;
};

const NOTHING: AppliedStoreRun = {
  changedOrders: 0,
  warnings: new Map(),
  products: 0,
  variants: 0,
  isChanged: false,
};

/** Applies and publishes everything that a store run has fetched, in one transaction with its cursor. */
export async function applyStoreRun(context: SyncContext, end: StoreRunEnd): Promise<AppliedStoreRun> {
  const { database, shopKey, currencyCode, signal } = context;
  const { source, asOf, cursor, isBackfill } = end;
  if (isBackfill) await analyzeRecords(database, shopKey);
  const applied = await database.transaction(async (connection) => {
    await lockWorkspaceForRun(connection, shopKey);
    // Most polls find nothing: they set the as-of, and create no stage tables.
    if (!isBackfill && !(await hasWork(connection, shopKey, source))) {
      const found = { shopKey, source, asOf, isChanged: false, backfilledOrders: null };
      await publishStoreRun(connection, found);
      await setCursor(connection, shopKey, source, cursor);
      return NOTHING;
    }
    await createStage(connection);
    if (isBackfill) await end.addGone(connection);
    const staged = await stageProducts(connection, await end.openProducts(connection));
    const { changes, merged, dirtyMonths } = await applyStage({
      connection,
      shopKey,
      currencyCode,
      hasCatalogue: true,
      labels: null,
      orders: await end.openOrders(connection),
      onProgress: (stage, done) => context.progress({ stage, done, total: null }),
    });
    const { changedOrders, warnings } = merged;
    await publishStoreRun(connection, {
      shopKey,
      source,
      asOf,
      isChanged: changes > 0,
      backfilledOrders: isBackfill ? changedOrders : null,
    });
    await clearRecords(connection, shopKey, source);
    await setCursor(connection, shopKey, source, cursor);
    return { ...staged, changedOrders, warnings, isChanged: changes + dirtyMonths.length > 0 };
  }, signal);
  const { products, variants, changedOrders } = applied;
  if (Math.max(products, variants, changedOrders) >= MANY_ROWS) await analyzeData(database, shopKey);
  return applied;
}

const PRODUCT_COLUMNS = [
  "product_gid",
  "title",
  "handle",
  "vendor",
  "family",
  "analytics_category",
  "image_url",
  "image_alt",
] as const;
const VARIANT_COLUMNS = [
  "variant_id",
  "product_gid",
  "sku",
  "title",
  "used",
  "counterpart_sku",
  "unit_cost_minor",
  "image_url",
  "options",
] as const;

async function stageProducts(connection: Connection, next: NextRows<MappedProduct>) {
  const counts = { products: 0, variants: 0 };
  const products = openCopyBuffer(connection, `staged_product (line_number, ${PRODUCT_COLUMNS.join(", ")})`);
  const variants = openCopyBuffer(connection, `staged_variant (line_number, ${VARIANT_COLUMNS.join(", ")})`);
  for (let portion = await next(); portion.length > 0; portion = await next()) {
    for (const mapped of portion) {
      products.add([(counts.products += 1), ...PRODUCT_COLUMNS.map((column) => mapped.product[column])]);
      for (const variant of mapped.variants) {
        const row = { ...variant, options: JSON.stringify(variant.options) };
        variants.add([(counts.variants += 1), ...VARIANT_COLUMNS.map((column) => row[column])]);
      }
    }
    await products.send();
    await variants.send();
  }
  return counts;
}

/** Rows of one key stand together; the last key's rows of a fetch may go on in the next one. */
export function openGroups<Fetched, Item>(
  nextRows: NextRows<Fetched>,
  keyOf: (row: Fetched) => string,
  assemble: (rows: Fetched[]) => Item[],
): NextRows<Item> {
  let open: Fetched[] = [];
  return async () => {
    const items: Item[] = [];
    for (let isEnd = false; items.length === 0 && !isEnd;) {
      const rows = await nextRows();
      isEnd = rows.length === 0;
      for (const row of rows) {
        if (open[0] !== undefined && keyOf(open[0]) !== keyOf(row)) {
          items.push(...assemble(open));
          open = [];
        }
        open.push(row);
      }
      if (isEnd && open.length > 0) items.push(...assemble(open.splice(0)));
    }
    return items;
  };
}
