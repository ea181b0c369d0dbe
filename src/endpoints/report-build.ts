import type { Input } from "../contract/endpoint.ts";
import type {
  ReportBreakdown,
  ReportCurves,
  ReportData,
  ReportSection,
  report as contract,
} from "../contract/report.ts";
import { currencyExponent } from "../metrics/money.ts";
import { sumTotals } from "../metrics/totals.ts";
import type { Queryable } from "../store/database.ts";
import { loadReportFigures } from "../store/queries/report-figures.ts";
import type { BreakdownBy } from "../store/queries/report-breakdown.ts";
import type { ReportFigures, SaleEventRow } from "../store/queries/report-figures.ts";
import type { Selection } from "../store/queries/selection.ts";
import type { Workspace } from "../store/workspace.ts";
import { cohortMonths, comparedRange, coverageOf, requestRange } from "./cohort-months.ts";
import type { CohortRange } from "./cohort-months.ts";
import { labelCostsIncluded } from "./label-costs.ts";
import { requestBreakdown } from "./report-breakdown.ts";
import { loadReturnCurves } from "./report-curves.ts";
import { loadOutlooks } from "./report-outlook.ts";
import type { ReportOutlooks } from "./report-outlook.ts";
import {
  presentComparison,
  presentCosts,
  presentLifecycle,
  presentReasons,
  presentRefunds,
  presentSummary,
  presentTiming,
  presentTrend,
} from "./report-parts.ts";
import type { WholeReport } from "./report-rows.ts";
import { loadSaleEvent } from "./report-sale-event.ts";
import { requestSelection, requireFound } from "./selection.ts";

export type ReportInput = Omit<Input<typeof contract>, "reportSection">;

export type BuiltReport = {
  data: WholeReport;
  /** null = not asked for, as with the breakdown. */
  curves: ReportCurves | null;
  breakdown: ReportBreakdown | null;
  selection: Selection;
  skus: readonly string[] | null;
};

/** What of a report to load: unmatched labels are null in a section that does not show them. */
export type ReportScope = { section: ReportSection; withCurves: boolean; breakdownBy: BreakdownBy | null };

/** The report of a selection. */
export async function buildReport(
  database: Queryable,
  workspace: Workspace,
  input: ReportInput,
  { section, withCurves, breakdownBy }: ReportScope,
): Promise<BuiltReport> {
  const selection = requestSelection(input, input.vendor ?? null);
  const range = requestRange(workspace, input);
  const before = comparedRange(range);
  const figures = await loadFigures(database, workspace, { input, range, selection, section, before });
  requireFound(selection, figures);
  const outlooks = await loadOutlooks(database, workspace, { range, selection });
  const curves = withCurves ? await loadReturnCurves(database, workspace, { range, selection }) : null;
  const breakdown =
    breakdownBy === null
      ? null
      : await requestBreakdown(database, workspace, {
          by: breakdownBy,
          selection,
          windowDays: range.windowDays,
          countedMonths: countedMonths(range),
        });
  const saleEvent = await requestSaleEvent(database, workspace, input, {
    range,
    selection,
    events: figures.sale_events,
  });

  return {
    selection,
    skus: figures.skus,
    curves,
    breakdown,
    data: presentReport(workspace, input, { range, before, figures, outlooks, saleEvent }),
  };
}

type LoadedReport = {
  range: CohortRange;
  before: CohortRange | null;
  figures: ReportFigures;
  outlooks: ReportOutlooks;
  saleEvent: ReportData["sale_event"];
};

function presentReport(
  workspace: Workspace,
  input: ReportInput,
  { range, before, figures, outlooks, saleEvent }: LoadedReport,
): WholeReport {
  const months = cohortMonths(range, figures.months);
  const totals = sumTotals(months.map((month) => month.totals));
  const basis = {
    coverage: coverageOf(range),
    months,
    totals,
    figures,
    outlooks,
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
    trend: presentTrend(basis),
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

function countedMonths(range: CohortRange): number[] {
  return cohortMonths(range, []).map(({ month }) => month);
}

async function requestSaleEvent(
  database: Queryable,
  workspace: Workspace,
  input: ReportInput,
  { range, selection, events }: { range: CohortRange; selection: Selection; events: readonly SaleEventRow[] },
): Promise<ReportData["sale_event"]> {
  if (input.saleEvent === undefined) return null;
  return loadSaleEvent(database, workspace, {
    slug: input.saleEvent,
    events,
    baseline: input.saleEventBaseline ?? "matched_prior",
    scope: input.saleEventScope ?? "current_selection",
    selection,
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
