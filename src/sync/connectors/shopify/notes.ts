import { monthOfDate, monthToText } from "../../../lib/month.ts";
import { WARNING_TEXTS } from "../kit/warnings.ts";
import type { WarningCounts } from "../../project.ts";
import type { OrderAccess } from "./install/access.ts";
import type { HistoryLimit } from "./cursor.ts";
import type { OrderAnomalies } from "./map/map-order.ts";

/** What the operator should know of a run that succeeded. */
export function notesOf(anomalies: OrderAnomalies, warnings: WarningCounts): string[] {
  const notes: string[] = [];
  const { unverifiedReturnLines, undatedClosedReturns, foreignOrders } = anomalies;
  if (unverifiedReturnLines > 0) {
    notes.push(`${unverifiedReturnLines} returned units belong to no order line that Shopify knows.`);
  }
  if (undatedClosedReturns > 0) {
    notes.push(`${undatedClosedReturns} closed returns have no closing time; they are not counted.`);
  }
  if (foreignOrders > 0) {
    notes.push(`${foreignOrders} orders are in an earlier currency of the shop; their money is left out.`);
  }
  for (const [kind, count] of warnings) notes.push(`${count} ${WARNING_TEXTS[kind]}.`);
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
      : `figures begin with ${monthToText(monthOfDate(historyFrom))}, and what happens to an order after 60 days is not seen.`;
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
