import { monthOfDate, monthToText } from "../../../lib/month.ts";
import { WARNING_TEXTS } from "../shared/warnings.ts";
import type { WarningCounts } from "../../project.ts";
import type { OrderAccess } from "./install/access.ts";
import type { HistoryLimit } from "./cursor.ts";
import type { OrderAnomalies } from "./map/map-order.ts";

/** What stands in a note behind the number of each anomaly. */
const ANOMALY_TEXTS: Readonly<Record<Exclude<keyof OrderAnomalies, "unbalancedLines">, string>> = {
  unverifiedReturnLines: "returned units belong to no order line that Shopify knows.",
  undatedClosedReturns: "closed returns have no closing time; they are not counted.",
  foreignOrders: "orders are in an earlier currency of the shop; their money is left out.",
  ordersWithoutLedger:
    "orders have lines that Shopify shows in no sales ledger; they are counted by their refund lines.",
  unbookedRefundUnits:
    "units of refund lines are in no entry of the sales ledger; they are not counted as refunded.",
  repeatedEntries: "entries of the sales ledger came twice; each is counted once.",
  earlyEntries: "entries of the sales ledger are dated before their order; they count in order of time.",
  unknownEntries: "entries of the sales ledger are of an unknown type; they are counted as order edits.",
  uncountedSales: "sales of the ledger state no units; the lines of their refund tell.",
  unexpectedSales:
    "sales of the ledger have units that do not fit their type; their sign counts, and a change of a price none.",
};

/** So many are named. */
const MOST_NAMED = 10;

/** What the operator should know of a run that succeeded. */
export function notesOf(
  { unbalancedLines, ...anomalies }: OrderAnomalies,
  warnings: WarningCounts,
): string[] {
  const notes = Object.entries(ANOMALY_TEXTS).flatMap(([name, text]) => {
    const count = anomalies[name as keyof typeof anomalies];
    return count === 0 ? [] : [`${count} ${text}`];
  });
  if (unbalancedLines.length > 0) {
    const named = unbalancedLines.slice(0, MOST_NAMED).join(", ");
    const others = unbalancedLines.length > MOST_NAMED ? ", …" : "";
    notes.push(
      `${unbalancedLines.length} lines have lost other units than their sales ledger says; ` +
        `they are counted by the ledger: ${named}${others}.`,
    );
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
