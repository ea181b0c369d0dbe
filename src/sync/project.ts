import { projectOrder } from "../metrics/classify.ts";
import { dayToText, firstDayOfMonth } from "../lib/month.ts";
import type { EventFact, LineFact, OrderFacts, ProjectionWarning } from "../metrics/classify.ts";
import type { OrderDocument } from "../metrics/order.ts";
import type { Connection } from "../store/database.ts";
import { addFacts, replaceFacts } from "../store/queries/facts.ts";
import { openCopyBuffer } from "./copy.ts";
import type { CopyBuffer } from "./copy.ts";
import { productGidOf } from "./product-gid.ts";

/** How often each warning of a run came up: of the projection, and of the catalogue. */
export type WarningCounts = Map<ProjectionWarning["kind"] | "unusable_image", number>;

/** `existed`: the shop has facts of this order already, which these replace. */
export type ChangedDocument = { document: OrderDocument; existed: boolean };

/** Projects documents into facts, those of an order once. */
export type FactWriter = {
  /** The returned function writes the facts; those of many lines go to their place. */
  project(changed: readonly ChangedDocument[]): () => Promise<void>;
  /** Brings the rest to its place. */
  finish(): Promise<void>;
  warnings: WarningCounts;
};

/** So many lines go to their place at once: more would leave memory meanwhile, fewer cost statements each. */
const LINES_PER_SLICE = 20_000;
const RUN_TABLES = "changed_order, fact_line, fact_event, fact_request, fact_order_name, fact_tracking";

/** Opens a writer in a transaction in which `createStage` was called. */
export function openFactWriter(connection: Connection, shopKey: number): FactWriter {
  const warnings: WarningCounts = new Map();
  let waitingLines = 0;
  let replaces = false;
  let isAnalyzed = false;
  const placeSlice = async (): Promise<void> => {
    // One slice is like another.
    if (!isAnalyzed) await connection.client.query(`analyze ${RUN_TABLES}`);
    isAnalyzed = true;
    await (replaces ? replaceFacts : addFacts)(connection, shopKey);
    waitingLines = 0;
    replaces = false;
    await connection.client.query(`truncate ${RUN_TABLES}`);
  };
  return {
    warnings,
    project: (changed) => {
      const rows = openFactRows(connection);
      let lines = 0;
      for (const { document, existed } of changed) {
        const facts = projectOrder(document);
        lines += facts.lines.length;
        rows.add(document, facts, existed);
        for (const { kind } of facts.warnings) warnings.set(kind, (warnings.get(kind) ?? 0) + 1);
      }
      return async () => {
        await rows.send();
        waitingLines += lines;
        replaces ||= changed.some(({ existed }) => existed);
        if (waitingLines >= LINES_PER_SLICE) await placeSlice();
      };
    },
    finish: placeSlice,
  };
}

/** The rows of facts on their way to the tables of the run. */
function openFactRows(connection: Connection): Pick<CopyBuffer, "send"> & {
  add(document: OrderDocument, facts: OrderFacts, existed: boolean): void;
} {
  const orders = openCopyBuffer(connection, "changed_order (order_id, existed)");
  const lines = openCopyBuffer(
    connection,
    "fact_line (order_id, line_id, ordered_on, cohort_month, sold_units, product_gid, variant_id, sku, title, vendor)",
  );
  const events = openCopyBuffer(
    connection,
    `fact_event (order_id, line_id, event_number, cohort_month, lag_days, occurred_on, reason, returned_units, refunded_units,
                 restocked_units, refund_minor)`,
  );
  const requests = openCopyBuffer(
    connection,
    "fact_request (order_id, line_id, return_id, cohort_month, status, units)",
  );
  const names = openCopyBuffer(connection, "fact_order_name (order_id, order_name)");
  const parcels = openCopyBuffer(connection, "fact_tracking (order_id, return_id, tracking_number)");
  return {
    add: ({ orderId, orderName = null, trackings = [] }, facts, existed) => {
      const months = new Map(
        facts.lines.map((line) => [line.lineId, dayToText(firstDayOfMonth(line.cohortMonth))]),
      );
      const monthOf = (lineId: string): string => months.get(lineId) ?? "";
      orders.add([orderId, existed]);
      for (const line of facts.lines) lines.add(lineRow(orderId, monthOf(line.lineId), line));
      for (const [index, event] of facts.events.entries()) {
        events.add([orderId, event.lineId, index, monthOf(event.lineId), ...eventFigures(event)]);
      }
      for (const { lineId, returnId, status, units } of facts.requests) {
        requests.add([orderId, lineId, returnId, monthOf(lineId), status, units]);
      }
      if (orderName !== null) names.add([orderId, orderName]);
      for (const { returnId, trackingNumber } of trackings) parcels.add([orderId, returnId, trackingNumber]);
    },
    send: async () => {
      for (const buffer of [orders, lines, events, requests, names, parcels]) await buffer.send();
    },
  };
}

function lineRow(orderId: string, cohortMonth: string, line: LineFact) {
  return [
    orderId,
    line.lineId,
    dayToText(line.orderedOnDay),
    cohortMonth,
    line.soldUnits,
    line.productId === null ? null : productGidOf(line.productId),
    line.variantId,
    line.sku,
    line.title,
    line.vendor,
  ];
}

function eventFigures(event: EventFact) {
  return [
    event.lagDays,
    dayToText(event.occurredOnDay),
    event.reason,
    event.returnedUnits,
    event.refundedUnits,
    event.restockedUnits,
    event.refundMinor,
  ];
}
