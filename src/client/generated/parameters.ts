// Made from the contract by tools/client/generated-files.ts; not edited by hand.

/** Parameters of /api/v1/entities. */
export interface EntitiesParameters {
  /** Search text over SKU, label, product title and vendor; case and accents do not matter. */
  q?: string | undefined;
  /** Kind of entity to list. Default: "all". */
  type?: "all" | "sku" | "product" | "product_group" | undefined;
  /** Rows to return, 1 to 100. Default: 20. */
  limit?: number | undefined;
  /** meta.next_cursor of the previous page, passed back verbatim. */
  cursor?: string | undefined;
  /** Exact vendor name; filters the rows. */
  vendor?: string | undefined;
}

/**
 * One selector at most: sku, or product_gid (or an alias), or product_group_type with
 * product_group_key.
 * None = the whole workspace.
 */
export interface SelectorParameters {
  /** SKU selector, as listed by entities. */
  sku?: string | undefined;
  /** Product selector, as listed by entities. */
  product_gid?: string | undefined;
  /** Alias of product_gid. */
  store_product_gid?: string | undefined;
  /** Alias of product_gid. */
  shopify_product_gid?: string | undefined;
  /** Kind of product group; goes with product_group_key. */
  product_group_type?: "family" | "analytics_category" | undefined;
  /** Key of the product group; goes with product_group_type. */
  product_group_key?: string | undefined;
}

/** The range of order months, both ends included. */
export interface MonthParameters {
  /** First order-cohort month (UTC), YYYY-MM. */
  start_month: string;
  /** Last order-cohort month (UTC), YYYY-MM; at most 120 months from start_month. */
  end_month: string;
}

/** Which returns and which months count. */
export interface WindowParameters {
  /** Observation window: days after the order in which a returned unit counts. Default: "primary". */
  window?: "primary" | "30d" | "90d" | "lifetime" | undefined;
  /** Include cohorts whose window is still open. Default: false. */
  include_incomplete?: boolean | undefined;
}

/** Parameters of /api/v1/summary. */
export interface SummaryParameters extends SelectorParameters, MonthParameters, WindowParameters {
  /** Exact vendor name: counts only what is that vendor's, alone or within a selector. */
  vendor?: string | undefined;
  /** Add the used variants of the selected product or SKU. Default: false. */
  include_used_variants?: boolean | undefined;
}

/** A sale event to look at. */
export interface SaleEventParameters {
  /** Slug of a sale event, as sale_events of any report lists them; an unknown one is ignored. */
  saleEvent?: string | undefined;
  /** What the sale event is compared with. Default: "matched_prior". */
  saleEventBaseline?: "matched_prior" | "selected_non_sale" | "prior_year" | undefined;
  /**
   * Whether the sale event's figures cover the request's selection or the event's own SKUs. Default:
   * "current_selection".
   */
  saleEventScope?: "current_selection" | "event_scope" | undefined;
}

/** Parameters of /api/v1/report. */
export interface ReportParameters
  extends SelectorParameters, MonthParameters, WindowParameters, SaleEventParameters {
  /** Exact vendor name: counts only what is that vendor's, alone or within a selector. */
  vendor?: string | undefined;
  /** Add the used variants of the selected product or SKU. Default: false. */
  include_used_variants?: boolean | undefined;
  /**
   * Orders of one row: a month; a week from Monday, split at the end of a month (at most 60 months); or
   * a day (at most 12). Default: "month".
   */
  interval?: "month" | "week" | "day" | undefined;
  /**
   * What the section breakdown divides the selection by: vendor, product, sku, family,
   * analytics_category, or option:<name> for an option of variants, such as option:size; product, unless
   * one is given. An export has that section when one is given; unknown values count as none. YYYY-MM.
   */
  breakdownBy?: string | undefined;
  /**
   * How a breakdown is ordered: its 20 largest rows are listed. By rate and change, rows below the
   * workspace's min_sold_units come last. Default: "returns_cost".
   */
  breakdownOrder?:
    | "returns_cost"
    | "excess_return_cost"
    | "returned_units"
    | "sold_units"
    | "return_rate"
    | "return_rate_change"
    | undefined;
  /**
   * Part of the report to return; unknown values mean overview, which holds everything but curves,
   * breakdown, outcomes, bridge, liability and fit. Default: "overview".
   */
  reportSection?:
    | "overview"
    | "trend"
    | "reasons"
    | "refunds"
    | "timing"
    | "lifecycle"
    | "costs"
    | "curves"
    | "breakdown"
    | "outcomes"
    | "bridge"
    | "liability"
    | "fit"
    | undefined;
}

/** Parameters of /api/v1/timeseries. */
export interface TimeseriesParameters extends SelectorParameters, MonthParameters, WindowParameters {
  /** Exact vendor name: counts only what is that vendor's, alone or within a selector. */
  vendor?: string | undefined;
  /** Add the used variants of the selected product or SKU. Default: false. */
  include_used_variants?: boolean | undefined;
  /**
   * Orders of one row: a month; a week from Monday, split at the end of a month (at most 60 months); or
   * a day (at most 12). Default: "month".
   */
  interval?: "month" | "week" | "day" | undefined;
}

/** Parameters of /api/v1/leaderboards/return-rate. */
export interface ReturnRateLeaderboardParameters extends SelectorParameters {
  /** Add the used variants of the selected product or SKU. Default: false. */
  include_used_variants?: boolean | undefined;
  /** The latest complete order month, or the twelve up to it. Default: "year". */
  period?: "month" | "year" | undefined;
  /** Rows to return, 1 to 500. Default: 10. */
  limit?: number | undefined;
  /** Lowest return rate to list, a 0–1 fraction. */
  min_return_rate?: number | undefined;
  /** Fewest sold units to list. */
  min_sold_units?: number | undefined;
  /** Exact vendor name; filters the rows. */
  vendor?: string | undefined;
}

/** Parameters of /api/v1/leaderboards/return-cost. */
export interface ReturnCostLeaderboardParameters
  extends SelectorParameters, MonthParameters, WindowParameters {
  /** Add the used variants of the selected product or SKU. Default: false. */
  include_used_variants?: boolean | undefined;
  /** Rows to return, 1 to 100. Default: 10. */
  limit?: number | undefined;
  /** Lowest returns cost to list, in the shop's currency. */
  min_cost?: number | undefined;
  /** Exact vendor name; filters the rows. */
  vendor?: string | undefined;
}

/** Parameters of /api/v1/alerts. */
export interface AlertsParameters {
  /** Earliest created_at to return, inclusive. ISO 8601, such as 2026-01-31T00:00:00Z. */
  since?: string | undefined;
  /** return_rate_watchlist, backfill_completed, connection_stale or report_ready. */
  category?: string | undefined;
  /**
   * open: the alerts of problems that continue, which is what is wrong right now. ended: those that say
   * that a problem has ended.
   */
  state?: "open" | "ended" | undefined;
  /** Rows to return, 1 to 100. Default: 50. */
  limit?: number | undefined;
  /** meta.next_cursor of the previous page, passed back verbatim. */
  cursor?: string | undefined;
}

/** Parameters of /api/v1/export/report.csv. */
export interface ExportReportParameters
  extends SelectorParameters, MonthParameters, WindowParameters, SaleEventParameters {
  /** Exact vendor name: counts only what is that vendor's, alone or within a selector. */
  vendor?: string | undefined;
  /** Add the used variants of the selected product or SKU. Default: false. */
  include_used_variants?: boolean | undefined;
  /**
   * Orders of one row: a month; a week from Monday, split at the end of a month (at most 60 months); or
   * a day (at most 12). Default: "month".
   */
  interval?: "month" | "week" | "day" | undefined;
  /**
   * What the section breakdown divides the selection by: vendor, product, sku, family,
   * analytics_category, or option:<name> for an option of variants, such as option:size; product, unless
   * one is given. An export has that section when one is given; unknown values count as none. YYYY-MM.
   */
  breakdownBy?: string | undefined;
  /**
   * How a breakdown is ordered: its 20 largest rows are listed. By rate and change, rows below the
   * workspace's min_sold_units come last. Default: "returns_cost".
   */
  breakdownOrder?:
    | "returns_cost"
    | "excess_return_cost"
    | "returned_units"
    | "sold_units"
    | "return_rate"
    | "return_rate_change"
    | undefined;
  /** bridge adds the bridge and its lines; other values change nothing. */
  reportSection?:
    | "overview"
    | "trend"
    | "reasons"
    | "refunds"
    | "timing"
    | "lifecycle"
    | "costs"
    | "curves"
    | "breakdown"
    | "outcomes"
    | "bridge"
    | "liability"
    | "fit"
    | undefined;
}
