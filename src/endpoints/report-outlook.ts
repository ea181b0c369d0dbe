import type { ReportOutlook } from "../contract/report.ts";
import { basePeriod, horizonDays } from "../metrics/age-curve.ts";
import { isComplete } from "../metrics/completeness.ts";
import { firstDayOfMonth, monthOfDay } from "../lib/month.ts";
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
import type { Queryable } from "../store/database.ts";
import { loadDayCurves } from "../store/queries/outlook.ts";
import type { DayCurveRow } from "../store/queries/outlook.ts";
import type { Selection } from "../store/queries/selection.ts";
import type { Workspace } from "../store/workspace.ts";
import { countedMonths } from "./cohort-months.ts";
import type { CohortRange } from "./cohort-months.ts";

/** The outlook of each open month, and of the whole range; null where there is none. */
export type ReportOutlooks = {
  ofMonth: (month: number) => ReportOutlook | null;
  ofRange: ReportOutlook | null;
};

const NONE: ReportOutlooks = { ofMonth: () => null, ofRange: null };
const LEVEL = 0.8;

/** M18: where the open months of a range are heading. Nothing of it enters a figure. */
export async function loadOutlooks(
  database: Queryable,
  workspace: Workspace,
  { range, selection }: { range: CohortRange; selection: Selection },
): Promise<ReportOutlooks> {
  const { asOfDay, windowDays } = range;
  const months = countedMonths(range);
  const isOpen = (month: number): boolean => !isComplete(month, windowDays, asOfDay);
  if (asOfDay === null || windowDays === null || !months.some(isOpen)) return NONE;
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
  if (model === null) return NONE;
  const daysByMonth = Map.groupBy(ownDays, ({ day }) => monthOfDay(day));
  const byMonth = new Map(
    months.map((month) => [month, outlookOf(model, daysByMonth.get(month) ?? [], [LEVEL])]),
  );
  return {
    ofMonth: (month) => (isOpen(month) ? presentOutlook(byMonth.get(month)) : null),
    ofRange: presentOutlook(sumOutlooks([...byMonth.values()], [LEVEL])),
  };
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
    level: LEVEL,
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
