import { dayToText, lastDayOfMonth, monthToDate } from "../lib/month.ts";
import { isDayComplete } from "../metrics/completeness.ts";
import { orderPeriods, type OrderPeriod } from "../metrics/order-period.ts";
import type { Totals } from "../metrics/totals.ts";
import { listOrderPeriods } from "../store/queries/order-periods.ts";
import type { CohortQuery } from "./selection.ts";

/** A week or day that takes part in an answer; `isComplete` null for lifetime. */
export type PeriodFigures = {
  month: number;
  period: OrderPeriod;
  isComplete: boolean | null;
  totals: Omit<Totals, "restockedUnits" | "restockedCostMinor" | "costedSoldUnits" | "costedReturnedUnits">;
  /** M6; null = not known. */
  squaredSoldUnits: number | null;
};

/** M26: every week or day of the range that is not left out as incomplete, zeros included, oldest first. */
export async function loadOrderPeriods(
  { database, workspace, selection, range }: CohortQuery,
  interval: "week" | "day",
): Promise<PeriodFigures[]> {
  const { windowDays, asOfDay } = range;
  const periods = orderPeriods(range, interval);
  const rows = await listOrderPeriods(database, workspace, {
    selection,
    windowDays,
    starts: periods.map(({ startsOnDay }) => startsOnDay),
    lastDay: lastDayOfMonth(range.endMonth),
  });
  const rowByPlace = new Map(rows.map((row) => [row.place, row]));
  return periods.flatMap((period, place) => {
    const isComplete = isDayComplete(period.endsOnDay, windowDays, asOfDay);
    if (!isComplete && !range.includeIncomplete) return [];
    const row = rowByPlace.get(place);
    return {
      month: period.month,
      period,
      isComplete: windowDays === null ? null : isComplete,
      totals: {
        soldUnits: row?.sold_units ?? 0,
        soldMinor: row?.sold_minor ?? 0,
        valuedSoldUnits: row?.valued_sold_units ?? 0,
        returnedUnits: row?.returned_units ?? 0,
        refundedUnits: row?.refunded_units ?? 0,
        refundMinor: row?.refund_minor ?? 0,
        labelMinor: row?.label_minor ?? 0,
      },
      squaredSoldUnits: row === undefined ? 0 : row.squared_sold_units,
    };
  });
}

/** The place of a row over orders: a month, or a week or day within it. */
export function presentPlace({ month, period }: { month: number; period?: OrderPeriod }) {
  return {
    cohort_month: monthToDate(month),
    ...(period === undefined ? {} : { period_start: dayToText(period.startsOnDay) }),
  };
}
