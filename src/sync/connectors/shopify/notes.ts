import type { WarningCounts } from "../../project.ts";
import type { OrderAccess } from "./install/access.ts";
import type { HistoryLimit } from "./cursor.ts";
import type { OrderOddities } from "./map/map-order.ts";

const WARNINGS = {
  refund_exceeds_line: "refunds claim more units than their line has left; the rest counts as money only",
  return_exceeds_line: "returns claim more units than their line has left; the rest is not counted",
  negative_lag: "returns or refunds lie before their order; they count on the day of the order",
  unknown_line: "returns or refunds name lines that their order does not have",
  unusable_image:
    "products have an image address that does not begin with http:// or https://; it is left out",
} as const;

/** What the operator should know of a run that succeeded. */
export function notesOf(oddities: OrderOddities, warnings: WarningCounts): string[] {
  const notes: string[] = [];
  const { unverifiedReturnLines, undatedClosedReturns, foreignOrders } = oddities;
  if (unverifiedReturnLines > 0) {
    notes.push(`${unverifiedReturnLines} returned units belong to no order line that Shopify knows.`);
  }
  if (undatedClosedReturns > 0) {
    notes.push(`${undatedClosedReturns} closed returns have no closing time; they are not counted.`);
  }
  if (foreignOrders > 0) {
    notes.push(`${foreignOrders} orders are in an earlier currency of the shop; their money is left out.`);
  }
  for (const [kind, count] of warnings) notes.push(`${count} ${WARNINGS[kind]}.`);
  return notes;
}

/** What of the shop's history is not there, and why. */
export function limitNotes(limit: HistoryLimit | null, { hasAllOrders }: OrderAccess): string[] {
  if (limit === null) return [];
  if (hasAllOrders) {
    return [
      "The app has the scope read_all_orders now: a backfill of the orders it did not see was asked for.",
    ];
  }
  const { historyFrom, unread } = limit;
  const since =
    historyFrom === null
      ? "earlier orders stay as they were last read."
      : `figures begin with ${historyFrom.slice(0, 7)}, and what happens to an order after 60 days is not seen.`;
  const notes = [
    `Shopify shows this app only the orders of the last 60 days, because it lacks the scope read_all_orders: ${since}`,
  ];
  if (unread !== null) {
    notes.push(
      `Nothing was read between ${unread.from} and ${unread.until}, and Shopify shows those days no more: ` +
        "their cohorts lack orders and returns until the app has the scope read_all_orders.",
    );
  }
  return notes;
}
