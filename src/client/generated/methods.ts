// Made from the contract by tools/client/generated-files.ts; not edited by hand.

import type { CsvExport } from "../csv-export.ts";
import type { RequestOptions, Result } from "../result.ts";
import type {
  Alert,
  AlertsMeta,
  EntitiesMeta,
  Entity,
  ReportData,
  ReportMeta,
  ReturnCostLeaderboardData,
  ReturnCostLeaderboardMeta,
  ReturnRateLeaderboardData,
  ReturnRateLeaderboardMeta,
  SummaryData,
  SummaryMeta,
  TimeseriesData,
  TimeseriesMeta,
} from "./answers.ts";
import type {
  AlertsParameters,
  EntitiesParameters,
  ExportReportParameters,
  ReportParameters,
  ReturnCostLeaderboardParameters,
  ReturnRateLeaderboardParameters,
  SummaryParameters,
  TimeseriesParameters,
} from "./parameters.ts";

/** One method for every endpoint, and an iterator for every endpoint that has pages. */
export interface EndpointMethods {
  /**
   * SKUs, products and product groups, as selectors. Without q: the whole catalogue in a fixed order,
   * page by page. With q: the best matches, on one page.
   * GET /api/v1/entities; needs the scope `read:dashboard`.
   */
  entities: (
    parameters?: EntitiesParameters,
    options?: RequestOptions,
  ) => Promise<Result<Entity[], EntitiesMeta>>;

  /** Every row of `entities`, page after page; each page is one request. */
  iterateEntities: (
    parameters?: EntitiesParameters,
    options?: RequestOptions,
  ) => AsyncGenerator<Entity, void, undefined>;

  /**
   * Cohort return rate of a selection. Units sold in a range of order months, units of those same
   * cohorts returned within the window, and their ratio; with what was sold is worth, and the share
   * refunded.
   * GET /api/v1/summary; needs the scope `read:dashboard`.
   */
  summary: (
    parameters: SummaryParameters,
    options?: RequestOptions,
  ) => Promise<Result<SummaryData, SummaryMeta>>;

  /**
   * Everything about the returns of a selection. Rate with its interval and the months before, monthly
   * trend, return reasons, refunds, days to return, how much is known of each return, costs, the
   * workspace's sale events and, for the one asked for, its rate against a baseline. reportSection
   * narrows it to one part beside the summary and the sale event; curves is the share returned by days
   * after the order, breakdown divides it by vendor, product, SKU or group, outcomes is how returned
   * units ended, bridge leads from what the store itself counts to these figures, liability is the
   * refunds still to come, fit is a product by size.
   * GET /api/v1/report; needs the scope `read:reports`.
   */
  report: (parameters: ReportParameters, options?: RequestOptions) => Promise<Result<ReportData, ReportMeta>>;

  /**
   * Cohort return rates of a selection by month, week or day. One row for every order-cohort month of
   * the range that is not left out as incomplete, zeros included; with interval for every week or day.
   * GET /api/v1/timeseries; needs the scope `read:reports`.
   */
  timeseries: (
    parameters: TimeseriesParameters,
    options?: RequestOptions,
  ) => Promise<Result<TimeseriesData, TimeseriesMeta>>;

  /**
   * SKUs by highest return rate. Ranks SKUs over the latest complete order month or year, in the
   * workspace's primary window, on one page.
   * GET /api/v1/leaderboards/return-rate; needs the scope `read:dashboard`.
   */
  returnRateLeaderboard: (
    parameters?: ReturnRateLeaderboardParameters,
    options?: RequestOptions,
  ) => Promise<Result<ReturnRateLeaderboardData, ReturnRateLeaderboardMeta>>;

  /**
   * SKUs by highest returns cost. Ranks SKUs by canonical returns cost (refunds without tax, plus return
   * labels where their cost is known).
   * GET /api/v1/leaderboards/return-cost; needs the scope `read:dashboard`.
   */
  returnCostLeaderboard: (
    parameters: ReturnCostLeaderboardParameters,
    options?: RequestOptions,
  ) => Promise<Result<ReturnCostLeaderboardData, ReturnCostLeaderboardMeta>>;

  /**
   * Workspace alerts, newest first. Poll with since, list open problems with state=open, or follow
   * meta.next_cursor through older alerts.
   * GET /api/v1/alerts; needs the scope `read:alerts`.
   */
  alerts: (parameters?: AlertsParameters, options?: RequestOptions) => Promise<Result<Alert[], AlertsMeta>>;

  /** Every row of `alerts`, page after page; each page is one request. */
  iterateAlerts: (
    parameters?: AlertsParameters,
    options?: RequestOptions,
  ) => AsyncGenerator<Alert, void, undefined>;

  /**
   * The report as CSV. Every figure of the whole report, its curves and outcomes once, one per row:
   * section, cohort_month, key, label, metric, value, unit. An empty value means null. Text that a
   * spreadsheet would read as a formula starts with an apostrophe. With reportSection=bridge it also has
   * the bridge, and in the section bridge_line the units of each step by SKU (else product) and month of
   * order.
   * GET /api/v1/export/report.csv; needs the scope `read:exports` and the entitlement `data_export`.
   */
  exportReport: (parameters: ExportReportParameters, options?: RequestOptions) => Promise<CsvExport>;
}
