import type { OrderDocument } from "../../../metrics/order.ts";
import type { Connection } from "../../../store/database.ts";
import {
  closeStagedOrders,
  nextStagedOrders,
  openStagedOrders,
} from "../../../store/queries/order-document.ts";
import type { StagedOrderRow } from "../../../store/queries/order-document.ts";
import { countUnknownRemovals, mergeDocument } from "../../document-merge.ts";
import type { DocumentPart, RemovedRows, UnknownRemovals } from "../../document-merge.ts";
import type { SaidOrders } from "../../documents.ts";

const ORDERS_PER_FETCH = 200;

/**
 * The staged rows of a folder, order by order. A folder has only what changed: rows it leaves out stay unchanged.
 * Deleted rows without a stored row are counted in `unknown`.
 */
export async function readStagedOrders(
  connection: Connection,
  shopKey: number,
  unknown: UnknownRemovals,
): Promise<SaidOrders> {
  // Where the table was empty when last analysed the planner would read all of it for each order, as it fills.
  await connection.client.query("set local enable_seqscan = off");
  await openStagedOrders(connection, shopKey);
  await connection.client.query("set local enable_seqscan to default");
  return {
    merge: mergeDocument,
    next: async () => {
      const rows = await nextStagedOrders(connection, ORDERS_PER_FETCH);
      if (rows.length === 0) await closeStagedOrders(connection);
      return rows.map((row) => {
        const stored = row.document as OrderDocument | null;
        const said = partOf(row);
        if (said.removed !== undefined) addUnknown(unknown, countUnknownRemovals(stored, said.removed));
        return { orderId: row.order_id, stored, said };
      });
    },
  };
}

function partOf({ lines, returns, refunds, removed }: StagedOrderRow): DocumentPart {
  return {
    lines: JSON.parse(lines ?? "[]") as DocumentPart["lines"],
    returns: JSON.parse(returns ?? "[]") as DocumentPart["returns"],
    refunds: JSON.parse(refunds ?? "[]") as DocumentPart["refunds"],
    ...(removed === null ? {} : { removed: removedOf(removed) }),
  };
}

function removedOf(rows: NonNullable<StagedOrderRow["removed"]>): RemovedRows {
  const { line = [], return: returns = [], refund = [] } = Object.groupBy(rows, ({ kind }) => kind);
  return {
    lines: line.map((row) => ({ lineId: row.line_id })),
    returns: returns.map((row) => ({ returnId: row.record_id, lineId: row.line_id })),
    refunds: refund.map((row) => ({ refundId: row.record_id, lineId: row.line_id })),
  };
}

function addUnknown(total: UnknownRemovals, more: UnknownRemovals): void {
  for (const kind of ["lines", "returns", "refunds"] as const) total[kind] += more[kind];
}
