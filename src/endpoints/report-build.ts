import type { Input } from "../contract/endpoint.ts";
import type { report as contract, ReportParts, ReportSection, WholeReport } from "../contract/report.ts";
import { monthsBetween, monthOfDate, monthToDate } from "../lib/month.ts";
import type { CohortRange } from "../metrics/completeness.ts";
import { INDEPENDENT_UNITS, type Orders } from "../metrics/design-effect.ts";
import { CURVE_AGES, curveAges, observedDays, pooledAges } from "../metrics/return-curve.ts";
import type { CohortCurve, CurveFigures } from "../metrics/return-curve.ts";
import { sumTotals } from "../metrics/totals.ts";
import type { BridgeRow } from "../store/queries/report-bridge.ts";
import { listReturnCurves, loadReportFigures } from "../store/queries/report-figures.ts";
import type { CurveRow, ReportFigures } from "../store/queries/report-figures.ts";
import { loadOutcomes } from "../store/queries/report-outcomes.ts";
import type { Selection } from "../store/queries/selection.ts";
import type { Snapshot } from "../store/workspace.ts";
import { cohortMonths, comparedRange, countedMonths, coverageOf, moneyOf } from "./cohort-months.ts";
import { loadOrders } from "./design-effects.ts";
import { loadOrderPeriods } from "./order-periods.ts";
import { requestBreakdown } from "./report-breakdown.ts";
import { loadBridge } from "./report-bridge.ts";
import { loadFit } from "./report-fit.ts";
import { loadLiability, loadOutlooks } from "./report-outlook.ts";
import {
  presentComparison,
  presentCosts,
  presentLifecycle,
  presentOutcomes,
  presentReasons,
  presentRefunds,
  presentSummary,
  presentTiming,
  presentTrend,
} from "./report-parts.ts";
import { loadSaleEvent } from "./report-sale-event.ts";
import { cohortQuery, requireFound, type CohortQuery } from "./selection.ts";

type ReportCall = Snapshot & { input: Omit<Input<typeof contract>, "reportSection"> };

/** What a report is computed from, before its figures: `before` are the months of comparison, `orders` those of the selection (M6). */
export type ReportQuery = CohortQuery & { before: CohortRange | null; orders: Orders };

export type BuiltReport = {
  data: WholeReport;
  /** Those that were requested. */
  parts: ReportParts;
  /** Of the bridge's steps, by SKU and month of order. */
  bridgeLines: readonly BridgeRow[];
  selection: Selection;
  skus: readonly string[] | null;
};

/** The report that `section` shows, and the parts that it shows beside; unmatched labels are null in a section without them. */
export async function buildReport(
  call: ReportCall,
  section: ReportSection,
  parts: readonly ReportSection[],
): Promise<BuiltReport> {
  const { input } = call;
  const asked = cohortQuery(call);
  const { workspace, selection, range } = asked;
  const before = comparedRange(range);
  const figures = await loadFigures({ ...asked, before }, section, input.saleEvent ?? null);
  await requireFound(asked, figures);
  const rangeMonths = monthsBetween(range.startMonth, range.endMonth);
  const [orders = INDEPENDENT_UNITS] = await loadOrders(call, [[selection]], rangeMonths);
  const query = { ...asked, before, orders };
  const outlooks = await loadOutlooks(query);
  const { interval = "month" } = input;
  const hasPeriods = section === "overview" || section === "trend";
  const periods = hasPeriods && interval !== "month" ? await loadOrderPeriods(query, interval) : null;
  const bridge = parts.includes("bridge") ? await loadBridge(query, section === "overview") : null;
  const own = await loadParts(query, input, parts);
  const saleEvent = await loadSaleEvent(query, figures.sale_events, input);

  const months = cohortMonths(range, figures.months);
  const totals = sumTotals(months.map((month) => month.totals));
  const money = moneyOf(workspace);
  const basis = { coverage: coverageOf(range), months, totals, figures, outlooks, orders, ...money };
  return {
    selection,
    skus: figures.skus,
    parts: { ...own, ...(bridge !== null && { bridge: bridge.bridge }) },
    bridgeLines: bridge?.lines ?? [],
    data: {
      currency_code: workspace.currencyCode,
      window_days: range.windowDays,
      label_costs_included: money.labelCostsIncluded,
      summary: presentSummary(basis),
      comparison: before === null ? null : presentComparison(totals, before, figures.months),
      trend: presentTrend(basis, periods),
      return_reasons: presentReasons(basis),
      refunds: presentRefunds(basis),
      timing_buckets: presentTiming(basis),
      lifecycle_coverage: presentLifecycle(basis),
      costs: presentCosts(basis),
      sale_event: saleEvent,
      sale_events: figures.sale_events.map(({ skus: _skus, ...event }) => event),
      sale_event_unknown: input.saleEvent !== undefined && saleEvent === null,
    },
  };
}

/** The parts that no other section has, but for the bridge. */
async function loadParts(
  query: ReportQuery,
  { breakdownBy: by = "product", breakdownOrder: order }: ReportCall["input"],
  parts: readonly ReportSection[],
): Promise<ReportParts> {
  const has = (section: ReportSection): boolean => parts.includes(section);
  return {
    ...(has("curves") && (await loadReturnCurves(query))),
    ...(has("breakdown") && { breakdown: await requestBreakdown(query, { by, order }) }),
    ...(has("outcomes") && { outcomes: await requestOutcomes(query) }),
    ...(has("liability") && { liability: await loadLiability(query) }),
    ...(has("fit") && { fit: await loadFit(query) }),
  };
}

function loadFigures(
  { database, workspace, selection, range, before }: Omit<ReportQuery, "orders">,
  section: ReportSection,
  saleEvent: string | null,
): Promise<ReportFigures> {
  const showsUnmatched =
    selection.kind === "workspace" &&
    selection.vendor === null &&
    (section === "overview" || section === "costs") &&
    moneyOf(workspace).labelCostsIncluded;
  return loadReportFigures(database, workspace, {
    selection,
    windowDays: range.windowDays,
    startMonth: before?.startMonth ?? range.startMonth,
    endMonth: range.endMonth,
    countedMonths: countedMonths(range),
    saleEvent,
    charged: showsUnmatched ? range : null,
  });
}

async function requestOutcomes({ database, workspace, selection, range }: ReportQuery) {
  const counted = countedMonths(range);
  const figures = await loadOutcomes(database, workspace, { ...range, selection, countedMonths: counted });
  return presentOutcomes(figures, moneyOf(workspace));
}

/** M19: the return curve of every month of the range, zeros included, oldest first, and of all of them together. */
async function loadReturnCurves({ database, workspace, range, selection, orders }: ReportQuery) {
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
      ages: curveAges(curve, { ...range, orders }).map((age) => ({
        age_days: age.ageDays,
        ...presentFigures(age),
        is_complete: age.isComplete,
      })),
    })),
    pooled_return_curve: pooledAges(curves, { asOfDay, orders }).map((age) => ({
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
