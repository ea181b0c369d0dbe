import type { OrderDocument } from "../../../metrics/order.ts";
import type { Connection } from "../../../store/database.ts";
import { setCursor } from "../../../store/queries/data-source.ts";
import { hasWork } from "../../../store/queries/dirty-month.ts";
import { createStage, lockWorkspaceForRun } from "../../../store/queries/import-stage.ts";
import {
  addGoneOrders,
  clearRecords,
  countPending,
  listPending,
  openOrderRecords,
  openProductRecords,
  removePending,
  SYNC_RECORD_COLUMNS,
  type OrderRecordRow,
  type PendingRecord,
  type ProductRecordRow,
} from "../../../store/queries/sync-record.ts";
import { analyzeData, analyzeRecords } from "../../../store/queries/statistics.ts";
import { planForRun, type NextRows } from "../../../store/query.ts";
import { applyStage, MANY_ROWS } from "../../apply.ts";
import type { SyncContext, SyncOutcome } from "../../connector.ts";
import { openCopyBuffer } from "../../copy.ts";
import { replaceDocument, type DocumentPart, type SourceOrder } from "../../document-merge.ts";
import { warningNotes } from "../../project.ts";
import { publishStoreRun } from "../../publish.ts";
import { readStored } from "../../stored-document.ts";
import type { MappedProduct } from "./map-product.ts";

/** A run of a store: records are fetched into `sync_record` step by step, then applied together. */
export type StoreRun<Cursor> = SyncContext & {
  source: string;
  /** As it is stored; replaced whenever it is written. */
  cursor: Cursor;
};

/** A record on its way to `sync_record`. */
export type FetchedRecord = { part: string; recordId: string; parentId: string | null; record: unknown };

/**
 * Runs `work` and stores the cursor it returns in one transaction, so that the stored cursor is right whenever the run ends.
 * `work` returns null to leave the cursor unchanged.
 */
export async function step<Cursor>(
  run: StoreRun<Cursor>,
  work: (connection: Connection) => Promise<Cursor | null>,
): Promise<void> {
  const cursor = await run.database.transaction(async (connection) => {
    const next = await work(connection);
    if (next !== null) await setCursor(connection, run.shopKey, run.source, next);
    return next;
  }, run.signal);
  if (cursor !== null) run.cursor = cursor;
}

type Place = Pick<StoreRun<unknown>, "shopKey" | "source">;

/** Its `add` takes records to `sync_record`. */
export function openRecordBuffer(connection: Connection, { shopKey, source }: Place) {
  const buffer = openCopyBuffer(connection, SYNC_RECORD_COLUMNS);
  const add = ({ part, recordId, parentId, record }: FetchedRecord): void =>
    buffer.add([shopKey, source, part, recordId, parentId, JSON.stringify(record)]);
  return { ...buffer, add };
}

export async function storeRecords(
  connection: Connection,
  place: Place,
  records: readonly FetchedRecord[],
): Promise<void> {
  const buffer = openRecordBuffer(connection, place);
  for (const record of records) buffer.add(record);
  await buffer.send();
}

/**
 * Fetches every requested record of a kind, by id, in chunks; one is fetched while the previous one is stored. A chunk's records and
 * the end of their requests are stored together, so an interrupted run resumes after it. A record requested again meanwhile is
 * fetched, since the run's as-of (M5) covers it. Newer ids wait for the next run: orders may arrive as fast as they are fetched.
 */
export async function drainPending<Cursor>(
  run: StoreRun<Cursor>,
  { kind, stage = kind }: { kind: string; stage?: string },
  portion: () => number,
  fetchRecords: (ids: readonly string[]) => Promise<FetchedRecord[]>,
): Promise<void> {
  const { database, shopKey, source } = run;
  const { pending, last } = await countPending(database, shopKey, source, kind);
  if (pending === 0) return;
  type Portion = { asked: PendingRecord[]; fetched: FetchedRecord[] };
  const fetchAfter = async (after: string): Promise<Portion> => {
    run.signal.throwIfAborted();
    const asked = await listPending(database, shopKey, source, kind, { after, last, limit: portion() });
    const ids = asked.map((row) => row.record_id);
    return { asked, fetched: ids.length === 0 ? [] : await fetchRecords(ids) };
  };
  const store = ({ asked, fetched }: Portion): Promise<void> =>
    step(run, async (connection) => {
      await storeRecords(connection, run, fetched);
      await removePending(connection, shopKey, source, kind, asked);
      return null;
    });
  let done = 0;
  let next = fetchAfter("");
  for (let current = await next; current.asked.length > 0; current = await next) {
    next = fetchAfter(current.asked.at(-1)?.record_id ?? "");
    // Pending work is awaited even if storing fails: it must not outlive the run.
    const [stored] = await Promise.allSettled([store(current), next]);
    if (stored.status === "rejected") throw stored.reason;
    done += current.asked.length;
    run.progress({ stage, done, total: Math.max(done, pending) });
  }
}

/** How the records that a store run has fetched are applied. */
type StoreRunEnd<Cursor> = {
  /** M5. The source's as-of after this run. */
  asOf: Date;
  /** The cursor once everything is applied. */
  cursor: Cursor;
  isBackfill: boolean;
  /** The records of orders that a backfill reads: stored orders that none of them names are gone. */
  listed: Parameters<typeof addGoneOrders>[3];
  /** The products among the records of one. */
  productsOf(rows: ProductRecordRow[]): MappedProduct[];
  /** The whole order of its records; null = none of it is counted. `stored` is the order as it is stored, null = it is not. */
  orderOf(rows: OrderRecordRow[], stored: OrderDocument | null): DocumentPart | null;
};

/** An order without lines is one that the store no longer has. */
export const GONE: DocumentPart = { lines: [], returns: [], refunds: [] };

type AppliedStoreRun = SyncOutcome & { counts: typeof NO_COUNTS; isChanged: boolean };

/** Of the applied records. */
const NO_COUNTS = {
  orders: 0,
  order_lines: 0,
  returns: 0,
  refunds: 0,
  products: 0,
  variants: 0,
  changed_orders: 0,
};

/** Applies and publishes everything that a store run has fetched, in one transaction with its cursor. */
export async function applyStoreRun<Cursor>(
  run: StoreRun<Cursor>,
  end: StoreRunEnd<Cursor>,
): Promise<AppliedStoreRun> {
  const { database, shopKey, currencyCode, signal, source } = run;
  const { asOf, cursor, isBackfill } = end;
  if (isBackfill) await analyzeRecords(database, shopKey);
  const applied = await database.transaction(async (connection): Promise<AppliedStoreRun> => {
    await lockWorkspaceForRun(connection, shopKey);
    // Most polls find nothing: they set the as-of, and create no stage tables.
    if (!isBackfill && !(await hasWork(connection, shopKey, source))) {
      const found = { shopKey, source, asOf, isChanged: false, backfilledOrders: null };
      await publishStoreRun(connection, found);
      await setCursor(connection, shopKey, source, cursor);
      return { counts: NO_COUNTS, notes: [], isChanged: false };
    }
    await planForRun(connection, isBackfill ? "large" : "small");
    if (isBackfill) await addGoneOrders(connection, shopKey, source, end.listed);
    const counts = { ...NO_COUNTS };
    const products = await openProductRecords(connection, shopKey, source);
    const hasCatalogue = await stageProducts(
      connection,
      openGroups(
        products,
        (row) => row.product_id,
        (rows) => end.productsOf(rows),
      ),
      counts,
    );
    const orders = await openOrderRecords(connection, shopKey, source);
    const { changes, merged, dirtyMonths } = await applyStage({
      connection,
      shopKey,
      currencyCode,
      hasCatalogue,
      labels: null,
      orders: {
        // The store sends whole orders: parts that are missing are deleted.
        merge: replaceDocument,
        next: openGroups(
          orders,
          (row) => row.order_id,
          (rows) => [() => sourceOrder(rows, end, counts)],
        ),
      },
      onProgress: (stage, done) => run.progress({ stage, done, total: null }),
    });
    counts.changed_orders = merged.changedOrders;
    const backfilledOrders = isBackfill ? merged.changedOrders : null;
    await publishStoreRun(connection, { shopKey, source, asOf, isChanged: changes > 0, backfilledOrders });
    await clearRecords(connection, shopKey, source);
    await setCursor(connection, shopKey, source, cursor);
    return { counts, notes: warningNotes(merged.warnings), isChanged: changes + dirtyMonths.length > 0 };
  }, signal);
  run.cursor = cursor;
  const { products, variants, changed_orders: changedOrders } = applied.counts;
  if (Math.max(products, variants, changedOrders) >= MANY_ROWS) await analyzeData(database, shopKey);
  return applied;
}

function sourceOrder(
  rows: OrderRecordRow[],
  end: Pick<StoreRunEnd<unknown>, "orderOf">,
  counts: typeof NO_COUNTS,
): SourceOrder | null {
  const orderId = rows[0]?.order_id ?? "";
  const document = rows.find((row) => row.document !== null)?.document ?? null;
  const stored = document === null ? null : readStored(orderId, document);
  const part = end.orderOf(rows, stored);
  if (part === null) return null;
  counts.orders += 1;
  counts.order_lines += part.lines.length;
  counts.returns += part.returns.length;
  counts.refunds += part.refunds.length;
  return { orderId, stored, part };
}

/** "3 orders are …": of each anomaly that was found, its number and its text. */
export function anomalyNotes<Name extends string>(
  texts: Readonly<Record<Name, string>>,
  counts: Readonly<Partial<Record<Name, number>>>,
): string[] {
  return Object.entries<string>(texts).flatMap(([name, text]) => {
    const times = counts[name as Name] ?? 0;
    return times === 0 ? [] : [`${times} ${text}`];
  });
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

/** Whether the run has products: most have orders alone, and create no tables. */
async function stageProducts(
  connection: Connection,
  next: NextRows<MappedProduct>,
  counts: { products: number; variants: number },
): Promise<boolean> {
  let portion = await next();
  if (portion.length === 0) return false;
  await createStage(connection);
  const products = openCopyBuffer(connection, `staged_product (line_number, ${PRODUCT_COLUMNS.join(", ")})`);
  const variants = openCopyBuffer(connection, `staged_variant (line_number, ${VARIANT_COLUMNS.join(", ")})`);
  for (; portion.length > 0; portion = await next()) {
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
  return true;
}

/** Rows of one key are consecutive; those of a fetch's last key may continue in the next fetch. */
function openGroups<Fetched, Item>(
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
