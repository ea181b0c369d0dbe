import type { Input } from "../contract/endpoint.ts";
import type { ReportBreakdown, ReportData, ReportSection, report as contract } from "../contract/report.ts";
import { currencyExponent } from "../metrics/money.ts";
import { sumTotals } from "../metrics/totals.ts";
import { windowDays } from "../metrics/window.ts";
import type { Queryable } from "../store/database.ts";
import { loadReportFigures } from "../store/queries/report-figures.ts";
import type { BreakdownBy } from "../store/queries/report-breakdown.ts";
import type { ReportFigures, SaleEventRow } from "../store/queries/report-figures.ts";
import type { Selection } from "../store/queries/selection.ts";
import type { Workspace } from "../store/workspace.ts";
import { cohortMonths, comparedRange, coverageOf } from "./cohort-months.ts";
import type { MonthRange } from "./cohort-months.ts";
import { labelCostsIncluded } from "./label-costs.ts";
import { requestBreakdown } from "./report-breakdown.ts";
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
import { requestSelection, requireFound, selectorEcho } from "./selection.ts";

export type ReportInput = Omit<Input<typeof contract>, "reportSection">;

export type BuiltReport = {
  data: WholeReport;
  /** null = not asked for. */
  breakdown: ReportBreakdown | null;
  selector: ReturnType<typeof selectorEcho>;
};

/** What of a report to load: unmatched labels are null in a section that does not show them. */
export type ReportScope = { section: ReportSection; breakdownBy: BreakdownBy | null };

/** The report of a selection. */
export async function buildReport(
  database: Queryable,
  workspace: Workspace,
  input: ReportInput,
  { section, breakdownBy }: ReportScope,
): Promise<BuiltReport> {
  const { selector, selection } = requestSelection(input, input.vendor ?? null);
  const before = comparedRange(workspace, input);
  const [figures, outlooks, breakdown] = await Promise.all([
    loadFigures(database, workspace, { input, selection, section, before }),
    loadOutlooks(database, workspace, {
      range: input,
      selection,
      windowDays: daysOfWindow(workspace, input),
    }),
    breakdownBy === null
      ? null
      : requestBreakdown(database, workspace, {
          by: breakdownBy,
          selection,
          windowDays: daysOfWindow(workspace, input),
          countedMonths: countedMonths(workspace, input),
        }),
  ]);
  requireFound(selector, figures);
  const saleEvent = await requestSaleEvent(database, workspace, input, {
    selection,
    events: figures.sale_events,
  });

  return {
    selector: selectorEcho(selector, figures.skus),
    breakdown,
    data: presentReport(workspace, input, { before, figures, outlooks, saleEvent }),
  };
}

type LoadedReport = {
  before: MonthRange | null;
  figures: ReportFigures;
  outlooks: ReportOutlooks;
  saleEvent: ReportData["sale_event"];
};

function presentReport(
  workspace: Workspace,
  input: ReportInput,
  { before, figures, outlooks, saleEvent }: LoadedReport,
): WholeReport {
  const months = cohortMonths(workspace, input, figures.months);
  const totals = sumTotals(months.map((month) => month.totals));
  const basis = {
    coverage: coverageOf(workspace, input),
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
          totals: sumTotals(cohortMonths(workspace, before, figures.months).map((month) => month.totals)),
        };
  return {
    currency_code: workspace.currencyCode,
    window_days: daysOfWindow(workspace, input),
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
  section: ReportSection;
  before: MonthRange | null;
};

function loadFigures(database: Queryable, workspace: Workspace, request: FiguresRequest) {
  const { input, selection, section, before } = request;
  const range = { startMonth: input.start_month, endMonth: input.end_month };
  const showsUnmatched =
    selection.kind === "workspace" &&
    selection.vendor === null &&
    (section === "overview" || section === "costs") &&
    labelCostsIncluded(workspace);
  return loadReportFigures(database, workspace, {
    selection,
    windowDays: daysOfWindow(workspace, input),
    startMonth: before?.start_month ?? input.start_month,
    endMonth: input.end_month,
    countedMonths: countedMonths(workspace, input),
    saleEvent: input.saleEvent ?? null,
    charged: showsUnmatched ? range : null,
  });
}

function countedMonths(workspace: Workspace, input: ReportInput): string[] {
  return cohortMonths(workspace, input, []).map(({ month }) => month);
}

async function requestSaleEvent(
  database: Queryable,
  workspace: Workspace,
  input: ReportInput,
  { selection, events }: { selection: Selection; events: readonly SaleEventRow[] },
): Promise<ReportData["sale_event"]> {
  if (input.saleEvent === undefined) return null;
  return loadSaleEvent(database, workspace, {
    slug: input.saleEvent,
    events,
    baseline: input.saleEventBaseline ?? "matched_prior",
    scope: input.saleEventScope ?? "current_selection",
    selection,
    startMonth: input.start_month,
    endMonth: input.end_month,
    windowDays: daysOfWindow(workspace, input),
    includeIncomplete: input.include_incomplete === true,
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

function daysOfWindow(workspace: Workspace, input: ReportInput): number | null {
  return windowDays(input.window ?? "primary", workspace.primaryWindowDays);
}
