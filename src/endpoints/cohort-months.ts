import { comparedMonths, isComplete, isExcluded, monthCoverage } from "../metrics/completeness.ts";
import { monthFromText, monthToText, monthsBetween } from "../metrics/month.ts";
import { sumTotals } from "../metrics/totals.ts";
import type { Totals } from "../metrics/totals.ts";
import { windowDays } from "../metrics/window.ts";
import type { ObservationWindow } from "../metrics/window.ts";
import type { CohortMonthRow } from "../store/queries/cohort.ts";
import type { Workspace } from "../store/workspace.ts";

/** One cohort month that takes part in an answer; `isComplete` null for the open-ended lifetime window. */
export type CohortMonth = { month: string; isComplete: boolean | null; totals: Totals };

export type MonthRange = {
  start_month: string;
  end_month: string;
  window?: ObservationWindow;
  include_incomplete?: boolean;
};

/** Every month of the range that is not left out as incomplete (M5), zeros included, oldest first. */
export function cohortMonths(
  workspace: Workspace,
  range: MonthRange,
  rows: readonly CohortMonthRow[],
): CohortMonth[] {
  const days = windowDays(range.window ?? "primary", workspace.primaryWindowDays);
  const totalsByMonth = new Map(rows.map((row) => [row.cohort_month.slice(0, 7), totalsOf(row)]));
  return monthsBetween(monthNumber(range.start_month), monthNumber(range.end_month))
    .filter((month) => !isExcluded(month, days, workspace.asOfDay, range.include_incomplete === true))
    .map((month) => {
      const text = monthToText(month);
      return {
        month: text,
        isComplete: days === null ? null : isComplete(month, days, workspace.asOfDay),
        totals: totalsByMonth.get(text) ?? sumTotals([]),
      };
    });
}

/** What of a range counts, as every answer over cohort months says it (M5). */
export function coverageOf(workspace: Workspace, range: MonthRange) {
  const { monthsIncluded, excludedMonths, completeThrough } = monthCoverage(
    { startMonth: monthNumber(range.start_month), endMonth: monthNumber(range.end_month) },
    windowDays(range.window ?? "primary", workspace.primaryWindowDays),
    workspace.asOfDay,
    range.include_incomplete === true,
  );
  return {
    months_included: monthsIncluded,
    excluded_months: excludedMonths.map(monthToText),
    complete_through: completeThrough === null ? null : monthToText(completeThrough),
  };
}

/** The complete months before, as many as count in the range; null when there are none to compare with (M5). */
export function comparedRange(workspace: Workspace, range: MonthRange): MonthRange | null {
  const compared = comparedMonths(
    monthNumber(range.start_month),
    coverageOf(workspace, range).months_included,
    windowDays(range.window ?? "primary", workspace.primaryWindowDays),
    workspace.asOfDay,
  );
  if (compared === null) return null;
  return {
    ...range,
    start_month: monthToText(compared.startMonth),
    end_month: monthToText(compared.endMonth),
  };
}

/** The echoes of a range of cohort months, in every meta that has them. */
export function rangeEcho(range: MonthRange) {
  return {
    start_month: range.start_month,
    end_month: range.end_month,
    window: range.window ?? "primary",
    include_incomplete: range.include_incomplete === true,
  };
}

export function totalsOf(row: Omit<CohortMonthRow, "cohort_month">): Totals {
  return {
    soldUnits: row.sold_units,
    returnedUnits: row.returned_units,
    refundedUnits: row.refunded_units,
    restockedUnits: row.restocked_units,
    restockedCostMinor: row.restocked_cost_minor,
    costedSoldUnits: row.costed_sold_units,
    costedReturnedUnits: row.costed_returned_units,
    refundMinor: row.refund_minor,
    labelMinor: row.label_minor,
  };
}

/** The month index of a month that the contract has already checked. */
export function monthNumber(text: string): number {
  const month = monthFromText(text);
  if (month === null) throw new RangeError(`not a month: ${text}`);
  return month;
}
