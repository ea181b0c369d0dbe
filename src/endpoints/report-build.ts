import type { Input } from "../contract/endpoint.ts";
import type { ReportBreakdown, ReportData, ReportSection, report as contract } from "../contract/report.ts";
import { monthFromText, monthToText } from "../metrics/month.ts";
import { currencyExponent } from "../metrics/money.ts";
import { sumTotals } from "../metrics/totals.ts";
import { windowDays } from "../metrics/window.ts";
import type { Queryable } from "../store/database.ts";
import { loadReportFigures } from "../store/queries/report-figures.ts";
import type { BreakdownBy } from "../store/queries/report-breakdown.ts";
import type { Selection } from "../store/queries/selection.ts";
import type { Workspace } from "../store/workspace.ts";
import { cohortMonths, monthNumber } from "./cohort-months.ts";
import type { MonthRange } from "./cohort-months.ts";
import { labelCostsIncluded } from "./label-costs.ts";
import { requestBreakdown } from "./report-breakdown.ts";
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

/** What of a report to load: of a section other than the overview, what it does not show is left null. */
export type ReportScope = { section: ReportSection; breakdownBy: BreakdownBy | null };

/** The report of a selection. */
export async function buildReport(
  database: Queryable,
  workspace: Workspace,
  input: ReportInput,
  { section, breakdownBy }: ReportScope,
): Promise<BuiltReport> {
  const { selector, selection } = requestSelection(input, input.vendor ?? null);
  const comparedRange = rangeBefore(input);
  const [figures, saleEvent, breakdown] = await Promise.all([
    loadFigures(database, workspace, { input, selection, section, comparedRange }),
    section === "overview" ? requestSaleEvent(database, workspace, input, selection) : null,
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

  const months = cohortMonths(workspace, input, figures.months);
  const totals = sumTotals(months.map((month) => month.totals));
  const basis = {
    months,
    totals,
    figures,
    labelCostsIncluded: labelCostsIncluded(workspace),
    currencyExponent: currencyExponent(workspace.currencyCode),
  };
  const compared =
    comparedRange === null
      ? null
      : {
          range: comparedRange,
          totals: sumTotals(
            cohortMonths(workspace, comparedRange, figures.months).map((month) => month.totals),
          ),
        };
  return {
    selector: selectorEcho(selector, figures.skus),
    breakdown,
    data: {
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
    },
  };
}

type FiguresRequest = {
  input: ReportInput;
  selection: Selection;
  section: ReportSection;
  comparedRange: MonthRange | null;
};

function loadFigures(database: Queryable, workspace: Workspace, request: FiguresRequest) {
  const { input, selection, section, comparedRange } = request;
  const range = { startMonth: input.start_month, endMonth: input.end_month };
  const showsUnmatched =
    selection.kind === "workspace" &&
    selection.vendor === null &&
    (section === "overview" || section === "costs") &&
    labelCostsIncluded(workspace);
  return loadReportFigures(database, workspace, {
    selection,
    windowDays: daysOfWindow(workspace, input),
    startMonth: comparedRange?.start_month ?? input.start_month,
    endMonth: input.end_month,
    countedMonths: countedMonths(workspace, input),
    charged: showsUnmatched ? range : null,
  });
}

function countedMonths(workspace: Workspace, input: ReportInput): string[] {
  return cohortMonths(workspace, input, []).map(({ month }) => month);
}

function requestSaleEvent(
  database: Queryable,
  workspace: Workspace,
  input: ReportInput,
  selection: Selection,
): Promise<Exclude<ReportData["sale_event"], undefined>> | null {
  if (input.saleEvent === undefined) return null;
  return loadSaleEvent(database, workspace, {
    slug: input.saleEvent,
    baseline: input.saleEventBaseline ?? "matched_prior",
    scope: input.saleEventScope ?? "current_selection",
    selection,
    startMonth: input.start_month,
    endMonth: input.end_month,
    windowDays: daysOfWindow(workspace, input),
    includeIncomplete: input.include_incomplete === true,
  });
}

/** The same number of months right before; null when they would begin before the year 1. */
function rangeBefore(range: MonthRange): MonthRange | null {
  const startMonth = monthNumber(range.start_month);
  const startMonthBefore = 2 * startMonth - monthNumber(range.end_month) - 1;
  const startText = monthToText(startMonthBefore);
  if (monthFromText(startText) === null) return null;
  return { ...range, start_month: startText, end_month: monthToText(startMonth - 1) };
}

function daysOfWindow(workspace: Workspace, input: ReportInput): number | null {
  return windowDays(input.window ?? "primary", workspace.primaryWindowDays);
}
