import { monthOfDate } from "../lib/month.ts";
import { leaderboardMonths } from "../metrics/completeness.ts";
import { INDEPENDENT_UNITS, orderPattern, type Orders } from "../metrics/design-effect.ts";
import { loadOrderSums } from "../store/queries/order-sums.ts";
import type { Selection } from "../store/queries/selection.ts";
import type { Snapshot } from "../store/workspace.ts";

/**
 * M6: the pattern of each part's orders, in the newest twelve months complete for the primary window, and the squares of its own
 * orders of `months`. A part is a selection, or several together.
 */
export async function loadOrders(
  { database, workspace: { shopKey, primaryWindowDays: windowDays, asOfDay } }: Snapshot,
  parts: readonly (readonly Selection[])[],
  months: readonly number[],
): Promise<Orders[]> {
  const range = leaderboardMonths("year", windowDays, asOfDay);
  if (range === null || parts.length === 0) return parts.map(() => INDEPENDENT_UNITS);
  const rows = await loadOrderSums(database, shopKey, { windowDays, ...range, months, parts });
  return rows.map((row) => ({
    ...orderPattern(row.category, row.store),
    squaredSoldUnits: new Map(
      row.months.map((month) => [monthOfDate(month.cohort_month), month.squared_sold_units]),
    ),
  }));
}
