import { isDeepStrictEqual } from "node:util";
import { exchangeName, type OrderRules } from "../metrics/order-rules.ts";
import type { DocumentLine, DocumentTracking, OrderDocument } from "../metrics/order.ts";
import type { Connection } from "../store/database.ts";
import { listRedactedOrders, removeDocuments } from "../store/queries/order-document.ts";
import type { ChangedKeys } from "./changed-keys.ts";
import { openCopyBuffer } from "./copy.ts";
import { loadRules } from "./order-rules.ts";
import { inPortions } from "./portions.ts";
import { openFactWriter, type WarningCounts } from "./project.ts";
import { ORDER_DEFAULTS, storedText } from "./stored-document.ts";

/** A source's report of one order; `removed` lists deleted rows. */
export type DocumentPart = Omit<OrderDocument, "orderId"> & { removed?: RemovedRows };

/** The three kinds of rows of a document. */
export const ROW_KINDS = ["lines", "returns", "refunds"] as const;
export type RowKind = (typeof ROW_KINDS)[number];

/** The ids that identify a row among those of its kind. */
export type RowIds = { lineId: string; returnId?: string | null; refundId?: string };

/** Rows by their ids. A line takes its returns and refunds with it. */
type RemovedRows = Record<RowKind, readonly RowIds[]>;

/** The document that takes the stored one's place (null = none stored); null when nothing would change. */
type DocumentMerge = (
  stored: OrderDocument | null,
  orderId: string,
  part: DocumentPart,
) => OrderDocument | null;

export function rowKey(kind: RowKind, { lineId, returnId, refundId }: RowIds): string {
  if (kind === "lines") return lineId;
  return `${kind === "returns" ? returnId : refundId}\n${lineId}`;
}

/** The units that a line ever had: those placed with the order, and those added later. */
export function unitsEver({ units, changes = [] }: Pick<DocumentLine, "units" | "changes">): number {
  return changes.reduce((sum, change) => sum + Math.max(0, change.units), units);
}

/**
 * For a source that sends only changes: merges its rows into the stored document; a row replaces the one with its key, and
 * omitted rows are kept unless they are in `removed`. Rows are in key order, so that the same rows give the same document in any
 * order of arrival. A document without lines means a deleted order. Null: nothing would change.
 */
export function mergeDocument(
  stored: OrderDocument | null,
  orderId: string,
  part: DocumentPart,
): OrderDocument | null {
  const goneLines = new Set(part.removed?.lines.map(({ lineId }) => lineId));
  let isChanged = stored === null;
  const merge = <Row extends RowIds>(
    kind: RowKind,
    storedRows: readonly Row[],
    incoming: readonly Row[],
  ): Row[] => {
    const left = storedRows.filter(({ lineId }) => !goneLines.has(lineId));
    const rows = new Map(left.map((row) => [rowKey(kind, row), row]));
    for (const row of part.removed?.[kind] ?? []) rows.delete(rowKey(kind, row));
    isChanged ||= rows.size < storedRows.length;
    for (const row of incoming) {
      const before = rows.get(rowKey(kind, row));
      if (before !== undefined && isSameRow(before, row)) continue;
      rows.set(rowKey(kind, row), row);
      isChanged = true;
    }
    return [...rows].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
  };
  const lines = merge("lines", stored?.lines ?? [], part.lines);
  const returns = merge("returns", stored?.returns ?? [], part.returns);
  const refunds = merge("refunds", stored?.refunds ?? [], part.refunds);
  if (stored === null && part.removed !== undefined && lines.length === 0) return null;
  return isChanged ? { ...stored, orderId, lines, returns, refunds } : null;
}

/**
 * For a source that always sends the whole order: omitted rows are removed. An order without lines no longer exists at the
 * source. A line keeps its product and variant after the source has deleted them.
 */
export function replaceDocument(
  stored: OrderDocument | null,
  orderId: string,
  part: DocumentPart,
): OrderDocument | null {
  const document = mergeDocument(null, orderId, part) as OrderDocument;
  const { removed: _removed, ...members } = part;
  const { lines, returns, refunds } = document;
  const whole = { ...ORDER_DEFAULTS, ...members, orderId, lines, returns, refunds };
  whole.trackings = sortedTrackings(whole.trackings);
  if (stored === null) return whole.lines.length === 0 ? null : whole;
  whole.lines = keepProducts(stored.lines, whole.lines);
  return isDeepStrictEqual(stored, whole) ? null : whole;
}

/** Sales keep their product, whose history would end otherwise. */
function keepProducts(stored: readonly DocumentLine[], lines: readonly DocumentLine[]): DocumentLine[] {
  const storedById = new Map(stored.map((line) => [line.lineId, line]));
  return lines.map((line) => {
    const known = storedById.get(line.lineId);
    if (known === undefined) return line;
    const productId = line.productId ?? known.productId;
    const isSameProduct = productId === known.productId;
    return { ...line, productId, variantId: line.variantId ?? (isSameProduct ? known.variantId : null) };
  });
}

function sortedTrackings(trackings: readonly DocumentTracking[]): DocumentTracking[] {
  const byKey = new Map(trackings.map((row) => [`${row.returnId}\n${row.trackingNumber}`, row]));
  return [...byKey].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, row]) => row);
}

/** How many of the removed rows are not in the stored document (null = none stored). */
export function countUnknown(
  stored: OrderDocument | null,
  kind: RowKind,
  removed: readonly RowIds[],
): number {
  if (removed.length === 0) return 0;
  const known = new Set(stored?.[kind].map((row) => rowKey(kind, row)));
  return removed.filter((row) => !known.has(rowKey(kind, row))).length;
}

/** Rows are flat: every member is text, a number, a flag or null, except the changes of a line. */
function isSameRow<Row extends object>(left: Row, right: Row): boolean {
  const names = Object.keys(right) as (keyof Row)[];
  return (
    Object.keys(left).length === names.length &&
    names.every((name) => left[name] === right[name] || isDeepStrictEqual(left[name], right[name]))
  );
}

/** An order as a source reports it, and its stored document. */
export type SourceOrder = { orderId: string; stored: OrderDocument | null; part: DocumentPart };

/** The orders of a run, read from its stage in portions. */
export type SourceOrders = {
  /**
   * The next orders, each order once in a run; empty at the end. Nothing else runs on the connection meanwhile. An order is read
   * when it is merged, while the database works; null = it says nothing.
   */
  next(): Promise<(() => SourceOrder | null)[]>;
  /** How the source's rows and the stored document become one. */
  merge: DocumentMerge;
  /** The rules that their facts are to follow; by default, those of the other facts. */
  rules?: OrderRules;
  /** Called when all orders have been merged; may throw. */
  end?(): void;
};

export type MergedOrders = { changedOrders: number; unchangedOrders: number; warnings: WarningCounts };

/**
 * Merges orders reported by a source into their stored documents; changed documents and their facts replace the stored ones, and
 * their dependents are marked. An order without remaining lines is removed. `onOrders` gets the number of orders done.
 */
export async function mergeOrders(
  connection: Connection,
  shopKey: number,
  orders: SourceOrders,
  changedKeys: ChangedKeys,
  onOrders: (done: number) => void,
): Promise<MergedOrders> {
  const redacted = new Set(await listRedactedOrders(connection, shopKey));
  const facts = await openFactWriter(connection, shopKey, changedKeys, orders.rules);
  const { wanted: rules } = await loadRules(connection, shopKey);
  let changedOrders = 0;
  let unchangedOrders = 0;
  await inPortions(
    () => orders.next(),
    () => {
      const documents = openCopyBuffer(connection, "order_document (shop_key, order_id, document)");
      const portion = facts.open();
      const replacedIds: string[] = [];
      return {
        add: (read) => {
          const order = read();
          if (order === null) return;
          const { orderId, stored, part } = order;
          const kept = redacted.has(orderId) ? withoutNames(part, rules) : part;
          const document = orders.merge(stored, orderId, kept);
          if (document === null) {
            unchangedOrders += 1;
            return;
          }
          changedOrders += 1;
          if (stored !== null) replacedIds.push(orderId);
          if (document.lines.length > 0) documents.add([shopKey, orderId, storedText(document)]);
          portion.add({ document, existed: stored !== null });
        },
        write: async () => {
          if (replacedIds.length > 0) await removeDocuments(connection, shopKey, replacedIds);
          await documents.send();
          await portion.write();
          onOrders(changedOrders + unchangedOrders);
        },
      };
    },
  );
  orders.end?.();
  if (changedOrders > 0) await facts.finish();
  return { changedOrders, unchangedOrders, warnings: facts.warnings };
}

/** A redacted order as stored again: only the prefix of its name that marks an exchange is kept. */
function withoutNames(
  { orderName = null, trackings: _trackings, ...part }: DocumentPart,
  rules: OrderRules,
): DocumentPart {
  const beginning = exchangeName(orderName, rules);
  return beginning === null ? part : { ...part, orderName: beginning };
}
