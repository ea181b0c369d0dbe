import { projectOrder } from "../metrics/classify.ts";
import type { EventFact, LineFact, ProjectionWarning } from "../metrics/classify.ts";
import { dayToText, firstDayOfMonth } from "../lib/month.ts";
import type { OrderDocument } from "../metrics/order.ts";
import type { Connection } from "../store/database.ts";
import { insertFacts, markChangedOrders, removeFacts } from "../store/queries/facts.ts";
import { openCopyBuffer } from "./copy.ts";
import { productGidOf } from "./product-gid.ts";

/** How often each warning of a run came up: of the projection, and of the catalogue. */
export type WarningCounts = Map<ProjectionWarning["kind"] | "unusable_image", number>;

/** Projects documents into the run's fact tables. */
export type FactWriter = {
  /** `existed`: the shop has facts of this order already. */
  add(document: OrderDocument, existed: boolean): void;
  /** Writes what was added so far. */
  send(): Promise<void>;
  warnings: WarningCounts;
};

export function openFactWriter(connection: Connection): FactWriter {
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
  const references = openReferenceWriter(connection);
  const warnings: WarningCounts = new Map();
  return {
    warnings,
    add: (document, existed) => {
      const { orderId } = document;
      const facts = projectOrder(document);
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
      references.add(document);
      for (const { kind } of facts.warnings) warnings.set(kind, (warnings.get(kind) ?? 0) + 1);
    },
    send: async () => {
      for (const buffer of [orders, lines, events, requests, references]) await buffer.send();
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

/** What label sources may call an order or its returns. */
function openReferenceWriter(connection: Connection): Pick<FactWriter, "send"> & {
  add(document: OrderDocument): void;
} {
  const names = openCopyBuffer(connection, "fact_order_name (order_id, order_name)");
  const trackings = openCopyBuffer(connection, "fact_tracking (order_id, return_id, tracking_number)");
  return {
    add: ({ orderId, orderName = null, trackings: parcels = [] }) => {
      if (orderName !== null) names.add([orderId, orderName]);
      for (const { returnId, trackingNumber } of parcels) trackings.add([orderId, returnId, trackingNumber]);
    },
    send: async () => {
      for (const buffer of [names, trackings]) await buffer.send();
    },
  };
}

const FACT_TABLES = "fact_line, fact_event, fact_request, fact_order_name, fact_tracking";

/**
 * Puts the projected facts in the place of those the changed orders had, and marks the months, products, SKUs and
 * labels that hang on either.
 */
export async function replaceFacts(connection: Connection, shopKey: number): Promise<void> {
  await connection.client.query(`analyze changed_order, ${FACT_TABLES}`);
  await markChangedOrders(connection, shopKey);
  await removeFacts(connection, shopKey);
  await insertFacts(connection, shopKey);
  await markChangedOrders(connection, shopKey);
}

/** Gives the planner the sizes of the projected facts. */
export async function analyzeFacts(connection: Connection): Promise<void> {
  await connection.client.query(`analyze ${FACT_TABLES}`);
}

/** Moves the facts projected so far, all of new orders, to their place; more may follow. */
export async function placeFacts(connection: Connection, shopKey: number): Promise<void> {
  await insertFacts(connection, shopKey);
  await connection.client.query(`truncate ${FACT_TABLES}`);
}

/** Moves the rest of the facts of a shop's first orders to their place, and marks what hangs on all of them. */
export async function finishFirstFacts(connection: Connection, shopKey: number): Promise<void> {
  await placeFacts(connection, shopKey);
  await connection.client.query("analyze changed_order");
  await markChangedOrders(connection, shopKey);
}
