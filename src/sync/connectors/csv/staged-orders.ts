import type { DocumentLine, DocumentRefund, DocumentReturn, OrderDocument } from "../../../metrics/order.ts";
import type { Connection } from "../../../store/database.ts";
import { nextStagedOrders, openStagedOrders } from "../../../store/queries/import-stage.ts";
import { findDocuments } from "../../../store/queries/order-document.ts";
import { countUnknownRemovals, lineKey, mergeDocument, refundKey, returnKey } from "../../document-merge.ts";
import type { DocumentPart, UnknownRemovals } from "../../document-merge.ts";
import type { SourceOrder, SourceOrders } from "../../documents.ts";
import { readStored, USUAL_LINE, USUAL_REFUND, USUAL_RETURN } from "../../stored-document.ts";
import type { OrderRowKind } from "./file-formats.ts";

const ORDERS_PER_FETCH = 200;

/** A staged row of the three order files. The row of a deleted one holds its key alone. */
type StagedRow<Row> = [lineNumber: number, kind: OrderRowKind, isDeleted: boolean, row: Row];
type OrderRows = {
  line: StagedRow<DocumentLine>[];
  return: StagedRow<DocumentReturn>[];
  refund: StagedRow<DocumentRefund>[];
};

/** What was found among the rows of the orders read so far. */
export type OrderTally = {
  /** Rows that can be used; the counts of lines, returns and refunds leave deleted ones out. */
  order_lines: number;
  returns: number;
  refunds: number;
  deleted_rows: number;
  /** Orders with any such row. */
  orders: number;
  /** Rows with the key of a later row. */
  repeated: Record<OrderRowKind, number>;
  /** Deleted rows that name nothing that is stored. */
  unknown: UnknownRemovals;
};

export type StagedOrdersOptions = {
  connection: Connection;
  shopKey: number;
  /** Gets each row that does not fit the other rows of its order, which is then left out. */
  onProblem: (kind: OrderRowKind, problem: { line: number; column: string; reason: string }) => void;
  /** Gets the number of rows read so far after every portion. */
  onRows: (done: number) => void;
  /** false: the remaining orders are only checked. */
  isWanted: () => boolean;
  /** Called when all orders have been read; may throw. */
  onEnd: (tally: OrderTally) => void;
};

export type StagedOrders = SourceOrders & { tally: OrderTally };

/**
 * The staged orders in key order, each with what is stored of it. Of rows with one key the last counts; returns and
 * refunds must name a line of the folder or of an earlier import that the folder does not delete; a refund must not
 * exceed its line. A folder has only what changed: rows it leaves out stay unchanged.
 */
export async function readStagedOrders(options: StagedOrdersOptions): Promise<StagedOrders> {
  const { connection, shopKey, onRows, isWanted, onEnd } = options;
  const tally: OrderTally = {
    order_lines: 0,
    returns: 0,
    refunds: 0,
    deleted_rows: 0,
    orders: 0,
    repeated: { line: 0, return: 0, refund: 0 },
    unknown: { lines: 0, returns: 0, refunds: 0 },
  };
  let doneRows = 0;
  const read = (orderId: string, text: string, found: unknown): SourceOrder[] => {
    const stored = found === undefined ? null : readStored(orderId, found);
    const staged = JSON.parse(text) as StagedRow<never>[];
    doneRows += staged.length;
    const rows = usableRows({ orderId, stored, rows: lastRows(staged, tally), onProblem: options.onProblem });
    if (rows.line.length + rows.return.length + rows.refund.length === 0) return [];
    return [{ orderId, stored, part: partOf(rows, stored, tally) }];
  };
  await openStagedOrders(connection);
  const next = async (): Promise<SourceOrder[]> => {
    const staged = await nextStagedOrders(connection, ORDERS_PER_FETCH);
    if (staged.length === 0) {
      onEnd(tally);
      return [];
    }
    const orderIds = staged.map((row) => row.order_id);
    const stored = await findDocuments(connection, shopKey, orderIds);
    const portion = staged.flatMap(({ order_id, rows }) => read(order_id, rows, stored.get(order_id)));
    onRows(doneRows);
    return portion.length > 0 && isWanted() ? portion : next();
  };
  return { tally, merge: mergeDocument, next };
}

/** Of rows with one key the last. */
function lastRows(staged: readonly StagedRow<never>[], { repeated }: OrderTally): OrderRows {
  const byKind = Object.groupBy(staged, ([, kind]) => kind);
  const lastOf = <Row extends Key, Key>(
    kind: OrderRowKind,
    keyOf: (row: Key) => string,
  ): StagedRow<Row>[] => {
    const rows: readonly StagedRow<Row>[] = byKind[kind] ?? [];
    const lastByKey = new Map<string, StagedRow<Row>>();
    for (const row of rows) {
      const known = lastByKey.get(keyOf(row[3]));
      if (known === undefined || known[0] < row[0]) lastByKey.set(keyOf(row[3]), row);
    }
    repeated[kind] += rows.length - lastByKey.size;
    return [...lastByKey.values()];
  };
  return {
    line: lastOf("line", lineKey),
    return: lastOf("return", returnKey),
    refund: lastOf("refund", refundKey),
  };
}

type CheckedOrder = Pick<StagedOrdersOptions, "onProblem"> & {
  orderId: string;
  stored: OrderDocument | null;
  rows: OrderRows;
};

/** The rows without the returns and refunds that do not fit the lines of their order. */
function usableRows({ orderId, stored, rows, onProblem }: CheckedOrder): OrderRows {
  if (rows.return.length + rows.refund.length === 0) return rows;
  const unitsByLine = new Map(stored?.lines.map((line) => [line.lineId, line.units]));
  for (const [, , isDeleted, { lineId, units = USUAL_LINE.units }] of rows.line) {
    if (isDeleted) unitsByLine.delete(lineId);
    else unitsByLine.set(lineId, units);
  }
  const fits = ([line, kind, isDeleted, row]: StagedRow<DocumentReturn | DocumentRefund>): boolean => {
    const lineUnits = unitsByLine.get(row.lineId);
    const name = `the line ${JSON.stringify(row.lineId)} of order ${JSON.stringify(orderId)}`;
    if (isDeleted) return true;
    if (lineUnits === undefined) {
      onProblem(kind, { line, column: "line_id", reason: `names ${name}, which is unknown or deleted` });
      return false;
    }
    if (kind !== "refund" || (row.units ?? USUAL_REFUND.units) <= lineUnits) return true;
    onProblem(kind, { line, column: "units", reason: `is more than the units of ${name}` });
    return false;
  };
  return { line: rows.line, return: rows.return.filter(fits), refund: rows.refund.filter(fits) };
}

function partOf(rows: OrderRows, stored: OrderDocument | null, tally: OrderTally): DocumentPart {
  const kept = <Row>(staged: readonly StagedRow<Row>[], usual: Partial<Row>): Row[] =>
    staged.flatMap(([, , isDeleted, row]) => (isDeleted ? [] : [{ ...usual, ...row }]));
  const deleted = <Row>(staged: readonly StagedRow<Row>[]): Row[] =>
    staged.flatMap(([, , isDeleted, row]) => (isDeleted ? [row] : []));
  const part = {
    lines: kept(rows.line, USUAL_LINE),
    returns: kept(rows.return, USUAL_RETURN),
    refunds: kept(rows.refund, USUAL_REFUND),
  };
  const removed = {
    lines: deleted(rows.line),
    returns: deleted(rows.return),
    refunds: deleted(rows.refund),
  };
  const deletedRows = removed.lines.length + removed.returns.length + removed.refunds.length;
  tally.order_lines += part.lines.length;
  tally.returns += part.returns.length;
  tally.refunds += part.refunds.length;
  tally.deleted_rows += deletedRows;
  tally.orders += 1;
  if (deletedRows === 0) return part;
  const unknown = countUnknownRemovals(stored, removed);
  for (const kind of ["lines", "returns", "refunds"] as const) tally.unknown[kind] += unknown[kind];
  return { ...part, removed };
}
