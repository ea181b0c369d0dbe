import { projectOrder } from "../metrics/classify.ts";
import { dayToText, firstDayOfMonth } from "../lib/month.ts";
import type { EventFact, OrderFacts, ProjectionWarning } from "../metrics/classify.ts";
import type { OrderDocument } from "../metrics/order.ts";
import type { Connection } from "../store/database.ts";
import { hasLabels, listLabelsOfOrders, removeFacts } from "../store/queries/facts.ts";
import { openCopyBuffer } from "./copy.ts";
import type { CopyBuffer } from "./copy.ts";
import { openLineWriter } from "./lines.ts";
import type { OrderLine } from "./lines.ts";
import { touchKeys, touchPlaces } from "./touched.ts";
import type { Touched } from "./touched.ts";

/** How often each warning of a run came up: of the projection, and of the catalogue. */
export type WarningCounts = Map<ProjectionWarning["kind"] | "unusable_image", number>;

/** `existed`: the shop has facts of this order already, which these replace. */
export type ChangedDocument = { document: OrderDocument; existed: boolean };

/** Projects documents into facts, those of an order once. */
export type FactWriter = {
  /** The returned function writes the facts. */
  project(changed: readonly ChangedDocument[]): () => Promise<void>;
  /** Touches what hangs on the orders that it has not been looked for yet. */
  finish(): Promise<void>;
  warnings: WarningCounts;
};

/** So many orders at once are asked for their labels: it joins tables that are the same for one and for many. */
const ORDERS_PER_LOOK = 5000;

/**
 * Opens a writer in a transaction in which `createStage` was called. Facts travel by COPY to the node of the shop; what hangs on
 * them is touched.
 */
export function openFactWriter(connection: Connection, shopKey: number, touched: Touched): FactWriter {
  const warnings: WarningCounts = new Map();
  const lines = openLineWriter(connection, shopKey, touched);
  let mayHaveLabels: boolean | null = null;
  let waitingIds: string[] = [];
  const touchLabelsOf = async (orderIds: readonly string[]): Promise<void> => {
    if (mayHaveLabels) touchKeys(touched, await listLabelsOfOrders(connection, shopKey, orderIds));
  };
  const lookForLabels = async (): Promise<void> => {
    await touchLabelsOf(waitingIds);
    waitingIds = [];
  };
  return {
    warnings,
    project: (changed) => {
      const rows = openFactRows(connection, shopKey);
      for (const { document } of changed) {
        const facts = projectOrder(document);
        rows.add(document, facts);
        for (const { kind } of facts.warnings) warnings.set(kind, (warnings.get(kind) ?? 0) + 1);
      }
      const replacedIds = changed.filter(({ existed }) => existed).map(({ document }) => document.orderId);
      return async () => {
        mayHaveLabels ??= await hasLabels(connection, shopKey);
        if (replacedIds.length > 0) {
          await touchLabelsOf(replacedIds);
          touchPlaces(touched, await removeFacts(connection, shopKey, replacedIds));
        }
        await rows.send();
        await lines.put(rows.lines);
        for (const { document } of changed) waitingIds.push(document.orderId);
        if (waitingIds.length >= ORDERS_PER_LOOK) await lookForLabels();
      };
    },
    finish: lookForLabels,
  };
}

/** The rows of facts on their way to their tables; `lines` still have to be resolved. */
function openFactRows(
  connection: Connection,
  shopKey: number,
): Pick<CopyBuffer, "send"> & {
  add(document: OrderDocument, facts: OrderFacts): void;
  lines: OrderLine[];
} {
  const events = openCopyBuffer(
    connection,
    `return_event (shop_key, order_id, line_id, event_number, cohort_month, lag_days, occurred_on, reason, returned_units,
                   refunded_units, restocked_units, refund_minor)`,
  );
  const requests = openCopyBuffer(
    connection,
    "return_request (shop_key, order_id, line_id, return_id, cohort_month, status, units)",
  );
  const names = openCopyBuffer(connection, "order_reference (shop_key, order_id, order_name)");
  const parcels = openCopyBuffer(
    connection,
    "return_tracking (shop_key, order_id, return_id, tracking_number)",
  );
  const lines: OrderLine[] = [];
  return {
    lines,
    add: ({ orderId, orderName = null, trackings = [] }, facts) => {
      const months = new Map(
        facts.lines.map((line) => [line.lineId, dayToText(firstDayOfMonth(line.cohortMonth))]),
      );
      const monthOf = (lineId: string): string => months.get(lineId) ?? "";
      for (const line of facts.lines) lines.push({ orderId, cohortMonth: monthOf(line.lineId), line });
      for (const [index, event] of facts.events.entries()) {
        const place = [shopKey, orderId, event.lineId, index, monthOf(event.lineId)];
        events.add([...place, ...eventFigures(event)]);
      }
      for (const { lineId, returnId, status, units } of facts.requests) {
        requests.add([shopKey, orderId, lineId, returnId, monthOf(lineId), status, units]);
      }
      if (orderName !== null) names.add([shopKey, orderId, orderName]);
      for (const { returnId, trackingNumber } of trackings) {
        parcels.add([shopKey, orderId, returnId, trackingNumber]);
      }
    },
    send: async () => {
      for (const buffer of [events, requests, names, parcels]) await buffer.send();
    },
  };
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
