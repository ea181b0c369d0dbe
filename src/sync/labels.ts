import { allocateLabel } from "../metrics/label.ts";
import type { Connection } from "../store/database.ts";
import {
  insertShares,
  markLabelMonths,
  matchLabels,
  openTouchedLabels,
  removeShares,
} from "../store/queries/label-write.ts";
import type { LabelCandidate, TouchedLabelRow } from "../store/queries/label-write.ts";
import { refreshTouchedUnmatched } from "../store/queries/unmatched-label.ts";
import { openCopyBuffer } from "./copy.ts";
import type { CopyBuffer } from "./copy.ts";

// Statistics know nothing of rows that this transaction wrote, and `analyze` here would keep the runs of all other
// shops waiting until its end. The planner expects a single row of a new shop: no loop over it may follow from that.
const PLANNED_FOR_MANY_ROWS = "set local enable_nestloop = off";
const PLANNED_AS_USUAL = "set local enable_nestloop to default";

export type SplitLabels = { unmatched: number; foreign: number };

/**
 * M10: finds what every touched label belongs to, splits it over the lines of that, and marks the months that carried
 * or carry a part; what belongs to nothing becomes unmatched. Voided labels and those in another currency than the
 * shop's have no parts. Needs the facts in place. `run` is large when it may have
 * touched a thousand labels or more.
 */
export async function splitLabels(
  connection: Connection,
  shopKey: number,
  currencyCode: string,
  run: "large" | "small",
): Promise<SplitLabels> {
  if (run === "large") await connection.client.query(PLANNED_FOR_MANY_ROWS);
  await matchLabels(connection, shopKey);
  const counts = await replaceShares(connection, shopKey, currencyCode);
  await refreshTouchedUnmatched(connection, shopKey);
  if (run === "large") await connection.client.query(PLANNED_AS_USUAL);
  return counts;
}

async function replaceShares(
  connection: Connection,
  shopKey: number,
  currencyCode: string,
): Promise<SplitLabels> {
  const counts: SplitLabels = { unmatched: 0, foreign: 0 };
  const shares = openCopyBuffer(
    connection,
    "fact_share (order_id, line_id, source, label_id, lag_days, label_minor)",
  );
  const next = await openTouchedLabels(connection, shopKey, currencyCode);
  for (let rows = await next(); rows.length > 0; rows = await next()) {
    for (const row of rows) {
      if (row.is_voided) continue;
      if (row.is_foreign) counts.foreign += 1;
      else if (!addShares(shares, row)) counts.unmatched += 1;
    }
    await shares.send();
  }
  await markLabelMonths(connection, shopKey);
  await removeShares(connection, shopKey);
  await insertShares(connection, shopKey);
  await markLabelMonths(connection, shopKey);
  return counts;
}

/** A return reference beats an order reference; false when neither leads to returned units. */
function addShares(shares: CopyBuffer, row: TouchedLabelRow): boolean {
  const candidates = row.by_return ?? row.by_order ?? [];
  // The line id comes first: it breaks ties, also where a return spans orders.
  const keyOf = ([orderId, lineId]: LabelCandidate): string => `${lineId}\0${orderId}`;
  const parts = allocateLabel(
    row.amount_minor,
    candidates.map((candidate) => ({ key: keyOf(candidate), units: candidate[2] })),
  );
  if (parts === null) return false;
  for (const candidate of candidates) {
    const [orderId, lineId, , lagDays] = candidate;
    shares.add([orderId, lineId, row.source, row.label_id, lagDays, parts.get(keyOf(candidate)) ?? 0]);
  }
  return true;
}
