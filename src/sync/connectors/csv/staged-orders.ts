import type {
  DocumentLine,
  DocumentRefund,
  DocumentReturn,
  LineChange,
  OrderDocument,
} from "../../../metrics/order.ts";
import type { Connection } from "../../../store/database.ts";
import {
  MOST_ORDER_BYTES,
  openStagedOrders,
  type StagedOrderRow,
} from "../../../store/queries/import-stage.ts";
import { findDocuments } from "../../../store/queries/order-document.ts";
import { openCopyBuffer, type CopyBuffer, type CopyValue } from "../../copy.ts";
import { countUnknown, mergeDocument, ROW_KINDS, rowKey, unitsEver } from "../../document-merge.ts";
import type { DocumentPart, RowIds, RowKind, SourceOrder, SourceOrders } from "../../document-merge.ts";
import { readStored, ROW_DEFAULTS } from "../../stored-document.ts";
import type { RowProblem } from "./problems.ts";

/** A staged row of the three order files, as JSON; `row` leaves out defaults, and of a deleted row everything but its ids. */
type StagedRow = [
  lineNumber: number,
  kind: RowKind,
  isDeleted: boolean,
  row: RowIds & { units?: number; changes?: LineChange[]; isAsStated?: true },
];

/** Characters of an order that are staged together. */
const MOST_TOGETHER = 64 * 1024;

/**
 * Stages rows of the order files. Consecutive rows of an order, as in exports, become one staged row: a thirtieth as many to
 * write and sort. `values` are those of `orderFormat`, and whether the row is deleted.
 */
export function openOrderStage(connection: Connection): CopyBuffer {
  const buffer = openCopyBuffer(connection, "staged_order_row (line_number, order_id, rows)");
  let [line, orderId, rows]: [CopyValue, CopyValue, string] = [0, null, ""];
  const put = (): void => {
    if (rows !== "") buffer.add([line, orderId, rows]);
    rows = "";
  };
  return {
    add: ([lineNumber = 0, kind, id = null, record, isDeleted]) => {
      if (id !== orderId || rows.length > MOST_TOGETHER) put();
      if (rows === "") [line, orderId] = [lineNumber, id];
      rows += `${rows === "" ? "" : ","}[${lineNumber},"${kind}",${isDeleted},${record}]`;
    },
    sendIfFull: () => buffer.sendIfFull(),
    send: () => {
      put();
      return buffer.send();
    },
  };
}

type ByKind<Value> = Record<RowKind, Value>;

/** Findings in the rows of the orders read so far. */
export type OrderTally = {
  /** Rows that can be used and are not deleted. */
  used: ByKind<number>;
  deletedRows: number;
  /** Orders with any row that can be used, deleted or not. */
  orders: number;
  /** Rows with the key of a later row. */
  repeated: ByKind<number>;
  /** Deleted rows that name nothing that is stored. */
  unknown: ByKind<number>;
};

type StagedOrdersOptions = {
  connection: Connection;
  shopKey: number;
  /** Gets each row that does not fit the other rows of its order, which is then left out. */
  onProblem: (kind: RowKind, problem: Omit<RowProblem, "file">) => void;
  /** Gets the number of rows read so far, portion by portion. */
  onRows: (done: number) => void;
  /** false: the remaining orders are only checked. */
  isWanted: () => boolean;
  /** Called when all orders have been merged; may throw. */
  onEnd: (tally: OrderTally) => void;
};

export type StagedOrders = SourceOrders & { tally: OrderTally };

/**
 * The staged orders in key order, each with its stored document. Of rows with the same key the last counts; returns and refunds
 * must name a line of the folder or of an earlier import that the folder does not delete; a refund must not exceed its line. A
 * folder may be partial: omitted rows are unchanged.
 */
export async function readStagedOrders(options: StagedOrdersOptions): Promise<StagedOrders> {
  const { connection, shopKey, onProblem, onRows, isWanted, onEnd } = options;
  const zeros = (): ByKind<number> => ({ lines: 0, returns: 0, refunds: 0 });
  const tally = { used: zeros(), deletedRows: 0, orders: 0, repeated: zeros(), unknown: zeros() };
  let doneRows = 0;
  const read = (orderId: string, text: string, found: unknown): SourceOrder | null => {
    const stored = found === undefined ? null : readStored(orderId, found);
    const staged = JSON.parse(`[${text}]`) as StagedRow[];
    doneRows += staged.length;
    const rows = usableRows(orderId, stored, lastRows(staged, tally), onProblem);
    if (rows.length === 0) return null;
    const part = partOf(rows, stored, tally);
    return isWanted() ? { orderId, stored, part } : null;
  };
  /** `start`: of its rows. */
  const refuseOrder = (start: string): null => {
    const [, line = "", kind = "lines"] = /^\[(\d+),"(\w+)"/.exec(start) ?? [];
    const most = `${MOST_ORDER_BYTES / 1024 ** 2} MiB`;
    const reason = `is of an order that has more than ${most} of rows`;
    onProblem(kind as RowKind, {
      line: Number(line),
      column: "order_id",
      reason,
      allowed: `an order of at most ${most}, which is some 30,000 rows`,
    });
    return null;
  };
  const nextRows = await openStagedOrders(connection);
  let waiting: StagedOrderRow[] = [];
  return {
    tally,
    merge: mergeDocument,
    next: async () => {
      if (doneRows > 0) onRows(doneRows);
      const staged = waiting.length > 0 ? waiting : await nextRows();
      if (staged.length === 0) return [];
      const orderIds = staged.map((row) => row.order_id);
      const { documents, left } = await findDocuments(connection, shopKey, orderIds);
      waiting = staged.filter((row) => left.has(row.order_id));
      return staged
        .filter((row) => !left.has(row.order_id))
        .map(
          ({ order_id, is_too_large, rows }) =>
            () =>
              is_too_large ? refuseOrder(rows) : read(order_id, rows, documents.get(order_id)),
        );
    },
    end: () => {
      onRows(doneRows);
      onEnd(tally);
    },
  };
}

/** Of rows with one key the last: those of a kind are in the order of their file. */
function lastRows(staged: readonly StagedRow[], { repeated }: OrderTally): StagedRow[] {
  const lastByKey: ByKind<Map<string, StagedRow>> = {
    lines: new Map(),
    returns: new Map(),
    refunds: new Map(),
  };
  for (const staging of staged) {
    const [, kind, , row] = staging;
    repeated[kind] += 1;
    lastByKey[kind].set(rowKey(kind, row), staging);
  }
  for (const kind of ROW_KINDS) repeated[kind] -= lastByKey[kind].size;
  return ROW_KINDS.flatMap((kind) => [...lastByKey[kind].values()]);
}

/** The rows without the returns and refunds that do not fit the lines of their order. */
function usableRows(
  orderId: string,
  stored: OrderDocument | null,
  rows: StagedRow[],
  onProblem: StagedOrdersOptions["onProblem"],
): StagedRow[] {
  if (rows.every(([, kind]) => kind === "lines")) return rows;
  const unitsByLine = new Map(stored?.lines.map((line) => [line.lineId, unitsEver(line)]));
  return rows.filter(([line, kind, isDeleted, { lineId, units = 1, changes = [], isAsStated }]) => {
    if (kind === "lines") {
      if (isDeleted) unitsByLine.delete(lineId);
      else unitsByLine.set(lineId, unitsEver({ units, changes }));
    }
    // Lines stand before the rows that name them.
    const lineUnits = unitsByLine.get(lineId);
    const name = `the line ${JSON.stringify(lineId)} of order ${JSON.stringify(orderId)}`;
    if (kind === "lines" || isDeleted) return true;
    if (lineUnits === undefined) {
      const reason = `names ${name}, which is unknown or deleted`;
      const allowed = "a line of order_lines.csv, or of an earlier import";
      onProblem(kind, { line, column: "line_id", reason, allowed });
      return false;
    }
    if (kind === "returns" || units <= lineUnits || isAsStated) return true;
    const reason = `is more than the units of ${name}`;
    onProblem(kind, { line, column: "units", reason, allowed: `at most ${lineUnits}` });
    return false;
  });
}

function partOf(staged: readonly StagedRow[], stored: OrderDocument | null, tally: OrderTally): DocumentPart {
  const kept: ByKind<unknown[]> = { lines: [], returns: [], refunds: [] };
  const removed: ByKind<RowIds[]> = { lines: [], returns: [], refunds: [] };
  for (const [, kind, isDeleted, row] of staged) {
    if (isDeleted) removed[kind].push(row);
    else kept[kind].push({ ...ROW_DEFAULTS[kind], ...withoutMark(row) });
  }
  tally.orders += 1;
  let deletedRows = 0;
  for (const kind of ROW_KINDS) {
    tally.used[kind] += kept[kind].length;
    tally.unknown[kind] += countUnknown(stored, kind, removed[kind]);
    deletedRows += removed[kind].length;
  }
  tally.deletedRows += deletedRows;
  const part = {
    lines: kept.lines as DocumentLine[],
    returns: kept.returns as DocumentReturn[],
    refunds: kept.refunds as DocumentRefund[],
  };
  return deletedRows === 0 ? part : { ...part, removed };
}

/** The stored row does not contain how it was checked. */
function withoutMark(row: StagedRow[3]): RowIds {
  if (row.isAsStated === undefined) return row;
  const { isAsStated: _isAsStated, ...stated } = row;
  return stated;
}
