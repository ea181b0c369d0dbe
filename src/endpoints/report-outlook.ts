import type { ReportOutlook, ReportLiability } from "../contract/report.ts";
import { currencyExponent } from "../lib/currency.ts";
import { firstDayOfMonth, monthOfDay, dayToText, monthToDate } from "../lib/month.ts";
import { basePeriod, horizonDays } from "../metrics/age-curve.ts";
import { isComplete, latestCompleteMonth } from "../metrics/completeness.ts";
import { LIABILITY_MONTHS, liabilityOf, refundRate, sumLiabilities } from "../metrics/liability.ts";
import type { Liability, ReturnedMonth } from "../metrics/liability.ts";
import { decimalFromMinor, decimalOrNull, wholeMinor } from "../metrics/money.ts";
import {
  OUTLOOK_MONTHS,
  curveDaysOf,
  outlookModel,
  outlookOf,
  shareObserved,
  sumOutlooks,
} from "../metrics/outlook.ts";
import type { DayCurve, Outlook } from "../metrics/outlook.ts";
import { fractionInMillionths } from "../metrics/rate.ts";
import { loadDayCurves, loadReturnedMonths } from "../store/queries/outlook.ts";
import type { DayCurveRow, ReturnedMonthRow } from "../store/queries/outlook.ts";
import { countedMonths } from "./cohort-months.ts";
import type { CohortQuery } from "./selection.ts";

/** The outlook of each open month, and of the whole range; null: none. */
export type ReportOutlooks = {
  ofMonth: (month: number) => ReportOutlook | null;
  ofRange: ReportOutlook | null;
};

const NONE: ReportOutlooks = { ofMonth: () => null, ofRange: null };
const OUTLOOK_LEVEL = 0.8;

/** M18: the outlooks of the open months of a range. They are never part of a figure. */
export async function loadOutlooks(query: CohortQuery): Promise<ReportOutlooks> {
  const { asOfDay, windowDays } = query.range;
  const isOpen = (month: number): boolean => !isComplete(month, windowDays, asOfDay);
  if (windowDays === null || !countedMonths(query.range).some(isOpen)) return NONE;
  const byMonth = await loadMonthOutlooks(query);
  if (byMonth === null) return NONE;
  return {
    ofMonth: (month) => (isOpen(month) ? presentOutlook(byMonth.get(month)) : null),
    ofRange: presentOutlook(sumOutlooks([...byMonth.values()], [OUTLOOK_LEVEL])),
  };
}

/** M18: the outlooks of the months of a range that count, also of complete ones; null where there are none. */
async function loadMonthOutlooks({
  database,
  workspace,
  range,
  selection,
}: CohortQuery): Promise<Map<number, Outlook> | null> {
  const { asOfDay, windowDays } = range;
  const months = countedMonths(range);
  if (asOfDay === null || windowDays === null) return null;
  const horizon = horizonDays(Math.max(windowDays, workspace.primaryWindowDays));
  const base = basePeriod(asOfDay, horizon);
  const firstMonth = Math.min(
    ...months,
    monthOfDay(asOfDay - windowDays) - OUTLOOK_MONTHS,
    monthOfDay(base.fromDay),
  );
  const rows = await loadDayCurves(database, workspace, {
    selection,
    range: {
      fromDay: firstDayOfMonth(firstMonth),
      toDay: asOfDay,
      baseFromDay: base.fromDay,
      baseToDay: base.beforeDay - 1,
    },
  });
  const daysOf = (part: DayCurveRow["part"]): DayCurve[] =>
    rows.filter((row) => row.part === part).map(dayCurveOf);
  const ownDays = daysOf("own");
  const model = outlookModel({
    asOfDay,
    horizonDays: horizon,
    windowDays,
    curveDays: curveDaysOf(daysOf("category"), daysOf("store"), horizon),
    ownDays,
  });
  if (model === null) return null;
  const daysByMonth = Map.groupBy(ownDays, ({ day }) => monthOfDay(day));
  return new Map(
    months.map((month) => [month, outlookOf(model, daysByMonth.get(month) ?? [], [OUTLOOK_LEVEL])]),
  );
}

/** Null when nothing was sold. */
function presentOutlook(outlook: Outlook | undefined): ReportOutlook | null {
  if (outlook === undefined || outlook.soldUnits === 0) return null;
  const { returnedUnits, soldUnits, intervals } = outlook;
  const { low, high } = intervals[0] as (typeof intervals)[number];
  const rateOf = (units: number): number => fractionInMillionths(units / soldUnits);
  return {
    returned_units: returnedUnits,
    return_rate: rateOf(returnedUnits),
    low: rateOf(low),
    high: rateOf(high),
    level: OUTLOOK_LEVEL,
    share_observed: fractionInMillionths(shareObserved(outlook)),
  };
}

function dayCurveOf(row: DayCurveRow): DayCurve {
  return {
    day: row.day,
    soldUnits: row.sold_units,
    soldLines: row.sold_lines,
    lagDays: row.lag_days ?? [],
    returnedUnits: row.returned_units ?? [],
    returnedLines: row.returned_lines ?? [],
  };
}

/** M21: refunds still to come for the open months of a range, included or not; null where there is no outlook. */
export async function loadLiability(query: CohortQuery): Promise<ReportLiability | null> {
  const { database, workspace, range, selection } = query;
  const { asOfDay, windowDays } = range;
  if (asOfDay === null || windowDays === null) return null;
  const newest = latestCompleteMonth(windowDays, asOfDay);
  if (newest === null) return null;
  const outlooks = await loadMonthOutlooks({
    ...query,
    range: { ...range, startMonth: Math.max(range.startMonth, newest + 1), includeIncomplete: true },
  });
  const { own, category, store } = await loadReturnedMonths(database, workspace, {
    selection,
    windowDays,
    startMonth: newest - LIABILITY_MONTHS + 1,
    endMonth: newest,
  });
  const rate = refundRate(
    own.map(returnedMonthOf),
    category.map(returnedMonthOf),
    store.map(returnedMonthOf),
  );
  if (outlooks === null || rate === null) return null;
  const exponent = currencyExponent(workspace.currencyCode);
  const months = [...outlooks].filter(([, outlook]) => outlook.soldUnits > 0);
  const liabilities = months.map(([, outlook]) => liabilityOf(outlook, rate));
  const together = sumOutlooks(
    months.map(([, outlook]) => outlook),
    [OUTLOOK_LEVEL],
  );
  return {
    as_of: dayToText(asOfDay),
    level: OUTLOOK_LEVEL,
    unit_refund_amount: decimalFromMinor(wholeMinor(rate.refundMinorPerUnit), exponent),
    low_evidence: rate.isLowEvidence,
    ...presentLiability(sumLiabilities(liabilities, liabilityOf(together, rate)), exponent),
    months: liabilities.map((liability, place) => ({
      cohort_month: monthToDate((months[place] as (typeof months)[number])[0]),
      ...presentLiability(liability, exponent),
    })),
  };
}

function returnedMonthOf(row: ReturnedMonthRow): ReturnedMonth {
  return {
    returnedUnits: row.returned_units,
    refundMinor: row.refund_minor,
    restockedCostMinor: row.restocked_cost_minor,
    costedReturnedUnits: row.costed_returned_units,
  };
}

function presentLiability(
  { expectedUnits, refundMinor, lowMinor, highMinor, goodsMinor }: Liability,
  exponent: number,
) {
  return {
    expected_units: expectedUnits,
    refund_amount: decimalFromMinor(refundMinor, exponent),
    low_amount: decimalFromMinor(lowMinor, exponent),
    high_amount: decimalFromMinor(highMinor, exponent),
    goods_cost: decimalOrNull(goodsMinor, exponent),
  };
}
