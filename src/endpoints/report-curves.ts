import type { ReportCurves } from "../contract/report.ts";
import { monthOfDate, monthToDate, monthsBetween } from "../lib/month.ts";
import { CURVE_AGES, curveAges, observedDays, pooledAges } from "../metrics/return-curve.ts";
import type { CohortCurve, CurveFigures } from "../metrics/return-curve.ts";
import type { Queryable } from "../store/database.ts";
import { listReturnCurves } from "../store/queries/report-curves.ts";
import type { CurveRow } from "../store/queries/report-curves.ts";
import type { Selection } from "../store/queries/selection.ts";
import type { Workspace } from "../store/workspace.ts";
import type { CohortRange } from "./cohort-months.ts";

/** M19: the return curve of every month of the range, zeros included, oldest first, and of all of them together. */
export async function loadReturnCurves(
  database: Queryable,
  workspace: Workspace,
  { range, selection }: { range: CohortRange; selection: Selection },
): Promise<ReportCurves> {
  const { startMonth, endMonth, asOfDay } = range;
  const rows = await listReturnCurves(database, workspace, {
    selection,
    startMonth,
    endMonth,
    ages: CURVE_AGES,
  });
  const curves = curvesOf(monthsBetween(startMonth, endMonth), rows);
  return {
    return_curves: curves.map((curve) => ({
      cohort_month: monthToDate(curve.month),
      sold_units: curve.soldUnits,
      observed_days: observedDays(curve.month, asOfDay),
      ages: curveAges(curve, range).map((age) => ({
        age_days: age.ageDays,
        ...presentFigures(age),
        is_complete: age.isComplete,
      })),
    })),
    pooled_return_curve: pooledAges(curves, asOfDay).map((age) => ({
      age_days: age.ageDays,
      months_included: age.monthsIncluded,
      sold_units: age.soldUnits,
      ...presentFigures(age),
    })),
  };
}

function curvesOf(months: readonly number[], rows: readonly CurveRow[]): CohortCurve[] {
  const rowsByMonth = Map.groupBy(rows, (row) => monthOfDate(row.cohort_month));
  return months.map((month) => {
    const ofMonth = rowsByMonth.get(month) ?? [];
    const unitsByAge = new Map(ofMonth.map((row) => [row.age_days, row.returned_units]));
    return {
      month,
      soldUnits: ofMonth[0]?.sold_units ?? 0,
      returnedUnits: CURVE_AGES.map((age) => unitsByAge.get(age) ?? 0),
    };
  });
}

function presentFigures({ returnedUnits, returnRate, interval }: CurveFigures) {
  return { returned_units: returnedUnits, return_rate: returnRate, return_rate_interval: interval };
}
