import type { OrderDocument } from "../../../metrics/order.ts";
import type { Connection } from "../../../store/database.ts";
import {
  closeStagedOrders,
  nextStagedOrders,
  openStagedOrders,
} from "../../../store/queries/order-document.ts";
import type { StagedOrderRow } from "../../../store/queries/order-document.ts";
import { mergeDocument } from "../../document-merge.ts";
import type { DocumentPart } from "../../document-merge.ts";
import type { SaidOrders } from "../../documents.ts";

const ORDERS_PER_FETCH = 200;

/** The staged rows of a folder, order by order. A folder tells what changed: rows it leaves out stay as they are. */
export async function readStagedOrders(connection: Connection, shopKey: number): Promise<SaidOrders> {
  // Where the table was empty when last analysed the planner would read all of it for each order, as it fills.
  await connection.client.query("set local enable_seqscan = off");
  await openStagedOrders(connection, shopKey);
  await connection.client.query("set local enable_seqscan to default");
  return {
    merge: mergeDocument,
    next: async () => {
      const rows = await nextStagedOrders(connection, ORDERS_PER_FETCH);
      if (rows.length === 0) await closeStagedOrders(connection);
      return rows.map((row) => ({
        orderId: row.order_id,
        stored: row.document as OrderDocument | null,
        said: partOf(row),
      }));
    },
  };
}

function partOf(row: StagedOrderRow): DocumentPart {
  return {
    lines: JSON.parse(row.lines ?? "[]") as DocumentPart["lines"],
    returns: JSON.parse(row.returns ?? "[]") as DocumentPart["returns"],
    refunds: JSON.parse(row.refunds ?? "[]") as DocumentPart["refunds"],
  };
}
