import { dayOfInstant, dayToText, monthToDate } from "../lib/month.ts";
import { projectOrder } from "../metrics/classify.ts";
import type { EventFact, LineFact, OrderFacts, ProjectionWarning } from "../metrics/classify.ts";
import type { OrderRules } from "../metrics/order-rules.ts";
import type { OrderDocument } from "../metrics/order.ts";
import type { Connection } from "../store/database.ts";
import { hasLabels, listLabelsOfOrders, removeFacts, resolveNames } from "../store/queries/facts.ts";
import type { LineNames, ResolvedRow } from "../store/queries/facts.ts";
import { addLabelKeys, addPlaces, type ChangedKeys } from "./changed-keys.ts";
import { openCopyBuffer, writtenCells, type CopyBuffer } from "./copy.ts";
import { loadRules } from "./order-rules.ts";
import { productGidOf } from "./stored-document.ts";

/** A row of order_line whose last cells follow from the catalogue; `key` is what its line names. */
type OrderLine = { key: string; names: LineNames; cells: string };

type LineWriter = {
  /** Writes lines, resolved with the catalogue, whose products and SKUs are marked. */
  put(lines: readonly OrderLine[]): Promise<void>;
};

/** Number of cached line names: a catalogue of that size is queried once. */
const MOST_REMEMBERED = 100_000;

/** Opens a writer of a run. The catalogue stays as it is meanwhile. */
function openLineWriter(connection: Connection, shopKey: number, changedKeys: ChangedKeys): LineWriter {
  /** By what lines name: the cells that follow from it. */
  const cellsByKey = new Map<string, string>();
  const buffer = openCopyBuffer(
    connection,
    `order_line (shop_key, order_id, line_id, ordered_on, cohort_month, left_out, sold_units, sold_minor, line_title, line_vendor,
                 line_product_gid, line_variant_id, line_sku, product_gid, sku, used, counterpart_sku, unit_cost_minor, variant_id)`,
  );
  const resolve = async (lines: readonly OrderLine[]): Promise<void> => {
    if (cellsByKey.size > MOST_REMEMBERED) cellsByKey.clear();
    const missing = new Map<string, LineNames>();
    for (const { key, names } of lines) if (!cellsByKey.has(key)) missing.set(key, names);
    if (missing.size === 0) return;
    const rows = await resolveNames(connection, shopKey, [...missing.values()]);
    for (const [place, [key, names]] of [...missing].entries()) {
      const row = rows[place] as ResolvedRow;
      cellsByKey.set(key, resolvedCells(names, row));
      if (row.product_gid !== null) changedKeys.products.add(row.product_gid);
      if (row.sku !== null) changedKeys.skus.add(row.sku);
    }
  };
  return {
    put: async (lines) => {
      await resolve(lines);
      for (const { key, cells } of lines) buffer.add([shopKey], `${cells}${cellsByKey.get(key)}`);
      await buffer.send();
    },
  };
}

function orderLineOf(
  orderId: string,
  leftOut: OrderFacts["leftOut"],
  cohortMonth: string,
  { lineId, orderedOnDay, soldUnits, soldMinor, title, vendor, productId, variantId, sku }: LineFact,
): OrderLine {
  const day = dayToText(orderedOnDay);
  return {
    // Text never holds control characters.
    key: `${productId ?? "\u0001"}\u0000${variantId ?? "\u0001"}\u0000${sku ?? "\u0001"}`,
    names: { productGid: productId === null ? null : productGidOf(productId), variantId, sku },
    cells: writtenCells([orderId, lineId, day, cohortMonth, leftOut, soldUnits, soldMinor, title, vendor]),
  };
}

function resolvedCells({ productGid, variantId, sku }: LineNames, row: ResolvedRow): string {
  const {
    product_gid: resolvedGid,
    sku: resolvedSku,
    used,
    counterpart_sku,
    unit_cost_minor,
    variant_id,
  } = row;
  return writtenCells([
    productGid,
    variantId,
    sku,
    resolvedGid,
    resolvedSku,
    used,
    counterpart_sku,
    unit_cost_minor,
    variant_id,
  ]);
}

/** How often each warning of a run came up: of the projection, and of the catalogue. */
export type WarningCounts = Map<ProjectionWarning["kind"] | "unusable_image", number>;

/** `existed`: the workspace has facts of this order already, which these replace. */
export type ChangedDocument = { document: OrderDocument; existed: boolean };

/** Projects documents into facts, each order once. */
type FactWriter = {
  /** The facts of some orders, to be written together. */
  open(): { add(changed: ChangedDocument): void; write(): Promise<void> };
  /** Marks the dependents of orders that have not been checked yet. */
  finish(): Promise<void>;
  warnings: WarningCounts;
};

/** Number of orders per label look-up: it joins tables at the same cost for one or many. */
const ORDERS_PER_LOOKUP = 5000;

/**
 * Opens a writer in a transaction in which `planForRun` was called. Facts are sent by COPY to the workspace's node; what depends
 * on them is marked. They follow the rules of the facts that are there, unless others are given.
 */
export async function openFactWriter(
  connection: Connection,
  shopKey: number,
  changedKeys: ChangedKeys,
  given?: OrderRules,
): Promise<FactWriter> {
  const rules = given ?? (await loadRules(connection, shopKey)).applied;
  const warnings: WarningCounts = new Map();
  const lines = openLineWriter(connection, shopKey, changedKeys);
  let mayHaveLabels: boolean | null = null;
  let waitingIds: string[] = [];
  const touchLabelsOf = async (orderIds: readonly string[]): Promise<void> => {
    if (mayHaveLabels) addLabelKeys(changedKeys, await listLabelsOfOrders(connection, shopKey, orderIds));
  };
  const lookForLabels = async (): Promise<void> => {
    await touchLabelsOf(waitingIds);
    waitingIds = [];
  };
  return {
    warnings,
    open: () => {
      const rows = openFactRows(connection, shopKey, changedKeys);
      const orderIds: string[] = [];
      const replacedIds: string[] = [];
      return {
        add: ({ document, existed }) => {
          const facts = projectOrder(document, rules);
          rows.add(document, facts);
          for (const { kind } of facts.warnings) warnings.set(kind, (warnings.get(kind) ?? 0) + 1);
          orderIds.push(document.orderId);
          if (existed) replacedIds.push(document.orderId);
        },
        write: async () => {
          mayHaveLabels ??= await hasLabels(connection, shopKey);
          if (replacedIds.length > 0) {
            await touchLabelsOf(replacedIds);
            addPlaces(changedKeys, await removeFacts(connection, shopKey, replacedIds));
          }
          await rows.send();
          await lines.put(rows.lines);
          waitingIds.push(...orderIds);
          if (waitingIds.length >= ORDERS_PER_LOOKUP) await lookForLabels();
        },
      };
    },
    finish: lookForLabels,
  };
}

/** The rows of facts on their way to their tables; `lines` still have to be resolved. */
function openFactRows(
  connection: Connection,
  shopKey: number,
  changedKeys: ChangedKeys,
): Pick<CopyBuffer, "send"> & {
  add(document: OrderDocument, facts: OrderFacts): void;
  lines: OrderLine[];
} {
  const events = openCopyBuffer(
    connection,
    `return_event (shop_key, order_id, line_id, event_number, cohort_month, lag_days, occurred_on, reason, returned_units,
                   refunded_units, restocked_units, refund_minor, exchanged_units, other_units, exchange_refund_minor,
                   kept_minor)`,
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
  const differences = openCopyBuffer(
    connection,
    "booking_difference (shop_key, order_id, line_id, booked_on, step, units)",
  );
  const amounts = openCopyBuffer(
    connection,
    "amount_refund (shop_key, order_id, refund_id, refunded_on, amount_minor)",
  );
  const lines: OrderLine[] = [];
  return {
    lines,
    add: ({ orderId, orderName = null, trackings = [] }, facts) => {
      // An order without lines does not exist any more: its name and parcels go, too.
      if (facts.lines.length === 0) return;
      const months = new Map<string, string>();
      const monthOf = (lineId: string): string => months.get(lineId) ?? "";
      for (const line of facts.lines) {
        const month = monthToDate(line.cohortMonth);
        months.set(line.lineId, month);
        lines.push(orderLineOf(orderId, facts.leftOut, month, line));
        changedKeys.months.add(month);
      }
      for (const [index, event] of facts.events.entries()) {
        const place = [shopKey, orderId, event.lineId, index, monthOf(event.lineId)];
        events.add([...place, ...eventFigures(event)]);
      }
      for (const { lineId, returnId, status, units } of facts.requests) {
        requests.add([shopKey, orderId, lineId, returnId, monthOf(lineId), status, units]);
      }
      for (const { lineId, bookedOnDay, step, units } of facts.differences) {
        differences.add([shopKey, orderId, lineId, dayToText(bookedOnDay), step, units]);
      }
      for (const { refundId, refundedAt, amountMinor } of facts.amountRefunds) {
        amounts.add([
          shopKey,
          orderId,
          refundId,
          dayToText(dayOfInstant(Date.parse(refundedAt))),
          amountMinor,
        ]);
      }
      if (orderName !== null) names.add([shopKey, orderId, orderName]);
      for (const { returnId, trackingNumber } of trackings) {
        parcels.add([shopKey, orderId, returnId, trackingNumber]);
      }
    },
    send: async () => {
      for (const buffer of [events, requests, names, parcels, differences, amounts]) await buffer.send();
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
    event.exchangedUnits,
    event.otherUnits,
    event.exchangeRefundMinor,
    event.keptMinor,
  ];
}

/** Anomalies in the projection of changed orders, as the rest of a sentence after a number. */
export const WARNING_TEXTS = {
  refund_exceeds_line: "refunds claim more units than their line has left; the rest counts as money only",
  return_exceeds_line: "returns claim more units than their line has left; the rest is not counted",
  negative_lag: "returns or refunds are dated before their order; they count on the day of the order",
  unknown_line: "returns or refunds name lines that their order does not have",
  unusable_image:
    "products or variants have an image address that does not begin with http:// or https://; it is left out",
} as const;

/** For the notes of a run. */
export function warningNotes(counts: WarningCounts): string[] {
  return [...counts].map(([kind, times]) => `${times} ${WARNING_TEXTS[kind]}.`);
}
