import { once } from "node:events";
import { PassThrough } from "node:stream";
import type { DocumentLine, DocumentRefund, DocumentReturn } from "../../../metrics/order.ts";
import type { Connection } from "../../../store/database.ts";
import { indexStagedRows, loadStagedRows } from "../../../store/queries/ordered-import.ts";
import { mergeDocument } from "../../document-merge.ts";
import type { SaidOrder, SaidOrders } from "../../documents.ts";
import { DELETED, readOrderLine } from "./file-formats.ts";
import type { FolderFile } from "./folder-files.ts";
import { readRows } from "./stage-files.ts";
import type { StageOptions } from "./stage-files.ts";

/** The folder is not one that can be read in one go; nothing is wrong with it for that. */
export class NotInOrder extends Error {
  override name = "NotInOrder";
}

export type OrderedOrders = SaidOrders & {
  /** Lines and orders handed out so far. */
  counts(): { lines: number; orders: number };
  /** Throws NotInOrder unless every staged return and refund went out with its order. */
  finish(): void;
  /** Ends the reading; afterwards nothing of it runs any more. */
  close(): Promise<void>;
};

const LINES_PER_PORTION = 2000;
const PORTIONS_AHEAD = 4;

/**
 * The orders of a file in which the lines of each order stand together, for a shop that has no orders: they go from
 * the file to their documents, without the stage. Returns and refunds are staged already. The file is read ahead while
 * the database works. `next` throws NotInOrder for whatever the stage would have to look at: a row that cannot be
 * used, a line named twice, a return or refund that does not fit its line. An order that turns up again breaks the
 * primary key of its document.
 */
export async function openOrderedLines(
  file: FolderFile,
  options: StageOptions,
  onBytes: (bytes: number) => void,
): Promise<OrderedOrders> {
  const { connection } = options;
  const stagedRows = await indexStagedRows(connection);
  const portions = readPortions(file, options, onBytes);
  let lines = 0;
  let orders = 0;
  let takenRows = 0;
  const next = async (): Promise<SaidOrder[]> => {
    const portion = await portions.next();
    if (options.problems.count() > 0) throw new NotInOrder("a row cannot be used");
    if (portion.length > 0 && stagedRows > 0) takenRows += await addStagedRows(connection, portion);
    for (const { said } of portion) {
      lines += said.lines.length;
      requireFitting(said);
    }
    orders += portion.length;
    return portion;
  };
  return {
    next,
    merge: mergeDocument,
    areFirst: true,
    counts: () => ({ lines, orders }),
    finish: () => {
      if (takenRows !== stagedRows) throw new NotInOrder("a return or refund names an unknown order");
    },
    close: portions.close,
  };
}

type Portions = { next: () => Promise<SaidOrder[]>; close: () => Promise<void> };

/** Portions of whole orders, some of them read ahead; an empty one is the end. */
function readPortions(file: FolderFile, options: StageOptions, onBytes: (bytes: number) => void): Portions {
  const queue = new PassThrough({ objectMode: true, highWaterMark: PORTIONS_AHEAD });
  let portion: SaidOrder[] = [];
  let linesInPortion = 0;
  let last: SaidOrder | undefined;
  const put = async (): Promise<void> => {
    if (portion.length > 0 && !queue.write(portion)) await once(queue, "drain");
    portion = [];
    linesInPortion = 0;
  };
  const reading = readRows(file, options, {
    read: (row, context) => {
      if (row.flag(DELETED)) throw new NotInOrder("a line is to be removed");
      return readOrderLine(row, context);
    },
    onBytes,
    onRow: ({ orderId, line }) => {
      if (last?.orderId !== orderId) {
        last = { orderId, stored: null, said: { lines: [], returns: [], refunds: [] } };
        portion.push(last);
      }
      last.said.lines.push(line);
      linesInPortion += 1;
    },
    onChunk: async () => {
      if (queue.destroyed) throw new NotInOrder("the reading was ended");
      // The order that the chunk ended in may continue in the next one.
      if (linesInPortion < LINES_PER_PORTION || last === undefined) return;
      const open = portion.pop() as SaidOrder;
      await put();
      portion = [open];
    },
  })
    .then(put)
    .then(() => void queue.end())
    .catch((error: Error) => void queue.destroy(error));
  // The iterator reports the error to its consumer; without a listener the process would end.
  queue.on("error", () => {});
  const iterator = queue[Symbol.asyncIterator]() as AsyncIterator<SaidOrder[]>;
  return {
    next: async () => {
      const { done, value } = await iterator.next();
      return done === true ? [] : value;
    },
    close: async () => {
      queue.destroy(new NotInOrder("the reading was ended"));
      await reading;
    },
  };
}

/** Lays the staged returns and refunds beside the lines of their orders; returns how many. */
async function addStagedRows(connection: Connection, portion: readonly SaidOrder[]): Promise<number> {
  const orderById = new Map(portion.map((order) => [order.orderId, order]));
  let taken = 0;
  for (const row of await loadStagedRows(connection, [...orderById.keys()])) {
    const said = orderById.get(row.order_id)?.said;
    const records = JSON.parse(row.records) as unknown[];
    if (row.kind === "return") said?.returns.push(...(records as DocumentReturn[]));
    else said?.refunds.push(...(records as DocumentRefund[]));
    taken += records.length;
  }
  return taken;
}

function requireFitting({ lines, returns, refunds }: SaidOrder["said"]): void {
  const lineById = new Map<string, DocumentLine>(lines.map((line) => [line.lineId, line]));
  if (lineById.size < lines.length) throw new NotInOrder("a line is named twice");
  if (returns.some((row) => !lineById.has(row.lineId))) throw new NotInOrder("a return has no line");
  for (const refund of refunds) {
    const line = lineById.get(refund.lineId);
    if (line === undefined || refund.units > line.units) throw new NotInOrder("a refund has no line");
  }
}
