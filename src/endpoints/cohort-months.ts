import { currencyExponent } from "../lib/currency.ts";
import { knownMonth, monthOfDate, monthToText } from "../lib/month.ts";
import { comparedMonths, completeThrough, isComplete, splitMonths } from "../metrics/completeness.ts";
import type { CohortRange } from "../metrics/completeness.ts";
import { areLabelCostsIncluded } from "../metrics/label.ts";
import { decimalFromMinor } from "../metrics/money.ts";
import { rate, share } from "../metrics/rate.ts";
import { sumTotals, refundShare, returnsCostMinor, type Totals } from "../metrics/totals.ts";
import { windowDays, type ObservationWindow } from "../metrics/window.ts";
import type { CohortMonthRow } from "../store/queries/cohort.ts";
import type { Workspace } from "../store/workspace.ts";

/** One cohort month that takes part in an answer; `isComplete` null for the open-ended lifetime window. */
export type CohortMonth = { month: number; isComplete: boolean | null; totals: Totals };

type RangeInput = {
  start_month: string;
  end_month: string;
  window?: ObservationWindow;
  include_incomplete?: boolean;
};

export function requestRange({ primaryWindowDays, asOfDay }: Workspace, input: RangeInput): CohortRange {
  return {
    startMonth: knownMonth(input.start_month),
    endMonth: knownMonth(input.end_month),
    windowDays: windowDays(input.window ?? "primary", primaryWindowDays),
    asOfDay,
    includeIncomplete: input.include_incomplete === true,
  };
}

/** Every month of the range that is not left out as incomplete (M5), zeros included, oldest first. */
export function cohortMonths(range: CohortRange, rows: readonly CohortMonthRow[]): CohortMonth[] {
  const { windowDays: days, asOfDay } = range;
  const totalsByMonth = new Map(rows.map((row) => [monthOfDate(row.cohort_month), totalsOf(row)]));
  return countedMonths(range).map((month) => ({
    month,
    isComplete: days === null ? null : isComplete(month, days, asOfDay),
    totals: totalsByMonth.get(month) ?? sumTotals([]),
  }));
}

/** The months of a range that count (M5). */
export function countedMonths(range: CohortRange): number[] {
  return splitMonths(range).counted;
}

/** M6: units and their rate, as every answer gives them. */
export function rateFigures({ soldUnits, returnedUnits }: Pick<Totals, "soldUnits" | "returnedUnits">) {
  return {
    sold_units: soldUnits,
    returned_units: returnedUnits,
    return_rate: rate(returnedUnits, soldUnits),
  };
}

/** The counted months of a range, as in every answer over cohort months (M5). */
export function coverageOf(range: CohortRange) {
  const { counted, excluded } = splitMonths(range);
  return {
    months_included: counted.length,
    excluded_months: excluded.map(monthToText),
    complete_through: textOrNull(completeThrough(range.windowDays, range.asOfDay)),
  };
}

/** M5: the newest complete month of a window, of the primary one unless it is one; null = none is complete, or all are. */
export function newestMonth({ primaryWindowDays, asOfDay }: Workspace, window: unknown): string | null {
  const isOther = window === "30d" || window === "90d" || window === "lifetime";
  return textOrNull(completeThrough(windowDays(isOther ? window : "primary", primaryWindowDays), asOfDay));
}

function textOrNull(month: number | null): string | null {
  return month === null ? null : monthToText(month);
}

/** The complete months before, as many as count in the range; null when there are none to compare with (M5). */
export function comparedRange(range: CohortRange): CohortRange | null {
  const compared = comparedMonths(range, countedMonths(range).length);
  return compared === null ? null : { ...range, ...compared };
}

/** The echoes of a range of cohort months, in every meta that has them; months are no interval to tell. */
export function rangeEcho(input: RangeInput & { interval?: "month" | "week" | "day" }) {
  return {
    start_month: input.start_month,
    end_month: input.end_month,
    window: input.window ?? "primary",
    include_incomplete: input.include_incomplete === true,
    ...(input.interval === undefined || input.interval === "month" ? {} : { interval: input.interval }),
  };
}

export function totalsOf(row: Omit<CohortMonthRow, "cohort_month">): Totals {
  return {
    soldUnits: row.sold_units,
    soldMinor: row.sold_minor,
    valuedSoldUnits: row.valued_sold_units,
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

/** How a workspace's amounts are presented. */
export type Money = { labelCostsIncluded: boolean; currencyExponent: number };

export function moneyOf(workspace: Workspace): Money {
  return {
    labelCostsIncluded: areLabelCostsIncluded(workspace),
    currencyExponent: currencyExponent(workspace.currencyCode),
  };
}

/** M9, M10, M11. */
export function presentCost(totals: Pick<Totals, "refundMinor" | "labelMinor">, money: Money) {
  const amount = (minor: number): number => decimalFromMinor(minor, money.currencyExponent);
  return {
    refunded_amount: amount(totals.refundMinor),
    return_label_cost: amount(money.labelCostsIncluded ? totals.labelMinor : 0),
    returns_cost: amount(returnsCostMinor(totals, money.labelCostsIncluded)),
  };
}

/** M20: the value of the units sold, as far as it is known, and the refunded share. */
export function presentSoldValue(
  totals: Pick<Totals, "soldUnits" | "valuedSoldUnits" | "soldMinor" | "refundMinor">,
  { currencyExponent: exponent }: Pick<Money, "currencyExponent">,
) {
  const { soldUnits, valuedSoldUnits, soldMinor } = totals;
  return {
    sold_amount: soldUnits > 0 && valuedSoldUnits === 0 ? null : decimalFromMinor(soldMinor, exponent),
    sold_amount_coverage: share(valuedSoldUnits, soldUnits),
    refund_share: refundShare(totals),
  };
}
