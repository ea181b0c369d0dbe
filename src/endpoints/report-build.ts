import type { Input } from "../contract/endpoint.ts";
import type {
  report as contract,
  ReportCurves,
  ReportData,
  ReportExtras,
  ReportSection,
} from "../contract/report.ts";
import { monthsBetween, monthOfDate, monthToDate } from "../lib/month.ts";
import { usualMonths } from "../metrics/completeness.ts";
import { INDEPENDENT_UNITS, type Orders } from "../metrics/design-effect.ts";
import { currencyExponent } from "../metrics/money.ts";
import { CURVE_AGES, curveAges, observedDays, pooledAges } from "../metrics/return-curve.ts";
import type { CohortCurve, CurveFigures } from "../metrics/return-curve.ts";
import { sumTotals } from "../metrics/totals.ts";
import type { Queryable } from "../store/database.ts";
import { listReturnCurves, loadReportFigures } from "../store/queries/report-figures.ts";
import type { CurveRow, ReportFigures, SaleEventRow } from "../store/queries/report-figures.ts";
import { loadOutcomes } from "../store/queries/report-outcomes.ts";
import type { Selection } from "../store/queries/selection.ts";
import type { Workspace } from "../store/workspace.ts";
import { cohortMonths, comparedRange, countedMonths, coverageOf, requestRange } from "./cohort-months.ts";
import type { CohortRange } from "./cohort-months.ts";
import { loadOrders } from "./design-effects.ts";
import { labelCostsIncluded } from "./meta.ts";
import { loadOrderPeriods, type PeriodFigures } from "./order-periods.ts";
import { requestBreakdown } from "./report-breakdown.ts";
import { loadBridge } from "./report-bridge.ts";
import { loadFit } from "./report-fit.ts";
import { loadLiability, loadOutlooks, type ReportOutlooks } from "./report-outlook.ts";
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
import type { ReportParts, WholeReport } from "./report-rows.ts";
import { loadSaleEvent, type SaleEventRequest } from "./report-sale-event.ts";
import { requestSelection, requireFound } from "./selection.ts";

/** M19: the return curve of every month of the range, zeros included, oldest first, and of all of them together. */
async function loadReturnCurves(
  database: Queryable,
  workspace: Workspace,
  { range, selection, orders }: { range: CohortRange; selection: Selection; orders: Orders },
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

type ReportInput = Omit<Input<typeof contract>, "reportSection">;

/** Parts that were not requested are null. */
export type BuiltReport = ReportParts & {
  data: WholeReport;
  selection: Selection;
  skus: readonly string[] | null;
};

/** The parts of a report to load: unmatched labels are null in a section that does not show them. */
type ReportScope = {
  section: ReportSection;
  withCurves: boolean;
  breakdownBy: string | null;
  withOutcomes: boolean;
  /** With `lines`, the bridge's steps are divided by SKU and month of order, too. */
  bridge: "steps" | "lines" | null;
  withLiability: boolean;
  withFit: boolean;
};

export async function buildReport(
  database: Queryable,
  workspace: Workspace,
  input: ReportInput,
  scope: ReportScope,
): Promise<BuiltReport> {
  const { section, withCurves, breakdownBy } = scope;
  const selection = requestSelection(input, input.vendor ?? null);
  const range = requestRange(workspace, input);
  const before = comparedRange(range);
  const figures = await loadFigures(database, workspace, { input, range, selection, section, before });
  await requireFound({ database, workspace }, selection, figures);
  const rangeMonths = monthsBetween(range.startMonth, range.endMonth);
  const [orders = INDEPENDENT_UNITS] = await loadOrders(database, workspace, [[selection]], rangeMonths);
  const outlooks = await loadOutlooks(database, workspace, { range, selection });
  const { interval = "month" } = input;
  const hasPeriods = interval !== "month" && (section === "overview" || section === "trend");
  const periods = hasPeriods
    ? await loadOrderPeriods(database, workspace, { selection, range, interval })
    : null;
  const curves = withCurves
    ? await loadReturnCurves(database, workspace, { range, selection, orders })
    : null;
  const breakdown =
    breakdownBy === null
      ? null
      : await requestBreakdown(database, workspace, {
          by: breakdownBy,
          selection,
          order: input.breakdownOrder ?? null,
          windowDays: range.windowDays,
          countedMonths: countedMonths(range),
          compared: before,
          usualMonths: usualMonths(range.startMonth, range.windowDays, range.asOfDay),
          orders,
        });
  const saleEvent = await requestSaleEvent(database, workspace, input, {
    range,
    selection,
    orders,
    events: figures.sale_events,
  });

  return {
    selection,
    skus: figures.skus,
    curves,
    breakdown,
    outcomes: scope.withOutcomes ? await requestOutcomes(database, workspace, { range, selection }) : null,
    bridge:
      scope.bridge === null
        ? null
        : await loadBridge(database, workspace, {
            selection,
            range,
            before,
            withLines: scope.bridge === "lines",
          }),
    fit: scope.withFit ? await loadFit(database, workspace, { range, selection }) : null,
    liability: scope.withLiability ? await loadLiability(database, workspace, { range, selection }) : null,
    data: presentReport(workspace, input, { range, before, figures, outlooks, periods, saleEvent, orders }),
  };
}

type LoadedReport = {
  range: CohortRange;
  before: CohortRange | null;
  figures: ReportFigures;
  outlooks: ReportOutlooks;
  /** null = the trend is by month. */
  periods: PeriodFigures[] | null;
  saleEvent: ReportData["sale_event"];
  orders: Orders;
};

function presentReport(
  workspace: Workspace,
  input: ReportInput,
  { range, before, figures, outlooks, periods, saleEvent, orders }: LoadedReport,
): WholeReport {
  const months = cohortMonths(range, figures.months);
  const totals = sumTotals(months.map((month) => month.totals));
  const basis = {
    coverage: coverageOf(range),
    months,
    totals,
    figures,
    outlooks,
    orders,
    labelCostsIncluded: labelCostsIncluded(workspace),
    currencyExponent: currencyExponent(workspace.currencyCode),
  };
  const compared =
    before === null
      ? null
      : {
          range: before,
          totals: sumTotals(cohortMonths(before, figures.months).map((month) => month.totals)),
        };
  return {
    currency_code: workspace.currencyCode,
    window_days: range.windowDays,
    label_costs_included: basis.labelCostsIncluded,
    summary: presentSummary(basis),
    comparison: compared === null ? null : presentComparison(totals, compared),
    trend: presentTrend(basis, periods),
    return_reasons: presentReasons(basis),
    refunds: presentRefunds(basis),
    timing_buckets: presentTiming(basis),
    lifecycle_coverage: presentLifecycle(basis),
    costs: presentCosts(basis),
    sale_event: saleEvent,
    sale_events: figures.sale_events.map(presentSaleEvent),
    sale_event_unknown: input.saleEvent !== undefined && saleEvent === null,
  };
}

type FiguresRequest = {
  input: ReportInput;
  selection: Selection;
  range: CohortRange;
  section: ReportSection;
  before: CohortRange | null;
};

function loadFigures(database: Queryable, workspace: Workspace, request: FiguresRequest) {
  const { input, range, selection, section, before } = request;
  const showsUnmatched =
    selection.kind === "workspace" &&
    selection.vendor === null &&
    (section === "overview" || section === "costs") &&
    labelCostsIncluded(workspace);
  return loadReportFigures(database, workspace, {
    selection,
    windowDays: range.windowDays,
    startMonth: before?.startMonth ?? range.startMonth,
    endMonth: range.endMonth,
    countedMonths: countedMonths(range),
    saleEvent: input.saleEvent ?? null,
    charged: showsUnmatched ? range : null,
  });
}

async function requestOutcomes(
  database: Queryable,
  workspace: Workspace,
  { range, selection }: { range: CohortRange; selection: Selection },
): Promise<ReportExtras["outcomes"]> {
  const figures = await loadOutcomes(database, workspace, {
    ...range,
    selection,
    countedMonths: countedMonths(range),
  });
  return presentOutcomes(figures, currencyExponent(workspace.currencyCode));
}

async function requestSaleEvent(
  database: Queryable,
  workspace: Workspace,
  input: ReportInput,
  { range, selection, orders, events }: Pick<SaleEventRequest, "range" | "selection" | "orders" | "events">,
): Promise<ReportData["sale_event"]> {
  if (input.saleEvent === undefined) return null;
  return loadSaleEvent(database, workspace, {
    slug: input.saleEvent,
    events,
    baseline: input.saleEventBaseline ?? "matched_prior",
    scope: input.saleEventScope ?? "current_selection",
    selection,
    orders,
    range,
  });
}

/** The events that `saleEvent` takes. */
function presentSaleEvent({
  slug,
  label,
  starts_on,
  ends_on,
}: SaleEventRow): ReportData["sale_events"][number] {
  return { slug, label, starts_on, ends_on };
}
