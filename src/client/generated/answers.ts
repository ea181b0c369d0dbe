// Made from the contract by tools/client/generated-files.ts; not edited by hand.

// oxlint-disable max-lines

export type EntitySelector =
  | { sku: string }
  | { product_gid: string }
  | { product_group_type: "family" | "analytics_category"; product_group_key: string };

export interface Entity {
  /** Kind of entity. */
  type: "sku" | "product" | "product_group";
  label: string;
  /** For a SKU its product's title, for a product its vendor, for a group its kind. */
  subtitle: string | null;
  product_gid: string | null;
  sku: string | null;
  product_title: string | null;
  vendor: string | null;
  product_group_type: "family" | "analytics_category" | null;
  product_group_key: string | null;
  product_image_url: string | null;
  selector: EntitySelector;
}

export interface FreshnessSource {
  /** Name of the source. */
  source: string;
  /** Last successful sync; null when there was none. ISO 8601, such as 2026-01-31T00:00:00Z. */
  last_synced_at: string | null;
  /** ok, syncing, failed or disconnected; null before the first run. */
  status: string | null;
  /** True when the source never synced, failed, or last synced more than 36 hours ago. */
  stale: boolean;
}

export interface Freshness {
  /** ISO 8601, such as 2026-01-31T00:00:00Z. */
  data_updated_at: string | null;
  sources: FreshnessSource[];
}

/** What every answer says about itself. */
export interface ApiMeta {
  api_version: "2026-07-05";
  organization_id: string;
  shop_id: string | null;
  shop_domain: string;
  freshness: Freshness | null;
}

export interface EntitiesMeta extends ApiMeta {
  /** The requested search text; empty when there was none. */
  query: string;
  /** The requested type. */
  type: "all" | "sku" | "product" | "product_group";
  vendor: string | null;
  limit: number;
  returned: number;
  next_cursor: string | null;
}

/** How much of the range of order months is counted. */
export interface MonthCoverage {
  /** Cohort months of the range that count. 0 = nothing was counted, so zeros are not results. */
  months_included: number;
  /** Months of the range left out because their window is still open, newest last. */
  excluded_months: string[];
  /** YYYY-MM. */
  complete_through: string | null;
}

/** What /api/v1/summary answers. */
export interface SummaryData extends MonthCoverage {
  sold_units: number;
  returned_units: number;
  /** 0–1 fraction, 6 decimals. */
  return_rate: number;
  currency_code: string;
  /** Value of the sold units, after discounts, without tax, as far as it is known; null where of none. */
  sold_amount: number | null;
  /** Share of the sold units whose value is known; null when nothing was sold. */
  sold_amount_coverage: number | null;
  /** Refunded money ÷ sold_amount of the same orders; null where sold_amount_coverage is below 0.95. */
  refund_share: number | null;
}

export type SelectorEcho =
  | { type: "workspace" }
  | { type: "sku"; primarySku: string; skus: string[] }
  | { type: "product"; product_gid: string; skus: string[] }
  | {
      type: "product_group";
      product_group_type: "family" | "analytics_category";
      product_group_key: string;
      label: string;
    };

/** The request over order months, as applied. */
export interface CohortEcho {
  selector: SelectorEcho;
  /** YYYY-MM. */
  start_month: string;
  /** YYYY-MM. */
  end_month: string;
  window: "primary" | "30d" | "90d" | "lifetime";
  include_incomplete: boolean;
  vendor: string | null;
}

export interface SummaryMeta extends ApiMeta, CohortEcho {
  /**
   * As-of of the figures: the store's data is complete up to then. Null before its first sync. No other
   * source moves it, so it may be older than freshness.data_updated_at. ISO 8601, such as
   * 2026-01-31T00:00:00Z.
   */
  data_as_of: string | null;
}

/** 95 % Wilson interval with orders as clusters; null when nothing was sold. */
export interface ReportSummaryReturnRateInterval {
  /** 0–1 fraction, 6 decimals. */
  low: number;
  /** 0–1 fraction, 6 decimals. */
  high: number;
}

/**
 * Estimate of the rate when the window of what was sold so far has closed; in no figure. null without
 * open months, for lifetime, and when the store's history is too short.
 */
export interface ReportSummaryOutlook {
  /**
   * Units that will have come back, to two decimals; of a range the sum of its open months and of what
   * came back of the others.
   */
  returned_units: number;
  /** 0–1 fraction, 6 decimals. */
  return_rate: number;
  /** 0–1 fraction, 6 decimals. */
  low: number;
  /** 0–1 fraction, 6 decimals. */
  high: number;
  /** Probability that the rate will be between low and high. */
  level: number;
  /** The part of the expected returns that is old enough to have happened. */
  share_observed: number;
}

export interface ReportSummary extends MonthCoverage {
  sold_units: number;
  returned_units: number;
  /** 0–1 fraction, 6 decimals. */
  return_rate: number;
  /** 95 % Wilson interval with orders as clusters; null when nothing was sold. */
  return_rate_interval: ReportSummaryReturnRateInterval | null;
  refunded_units: number;
  /** Decimal number in currency_code. */
  refunded_amount: number;
  /** Decimal number in currency_code. */
  return_label_cost: number;
  /** Decimal number in currency_code. */
  returns_cost: number;
  /** returns_cost ÷ returned_units, to the decimals of the currency, halves away from zero. */
  cost_per_returned_unit: number | null;
  /** Median days from order to return; null when nothing came back. */
  median_days_to_return: number | null;
  /** Value of the sold units, after discounts, without tax, as far as it is known; null where of none. */
  sold_amount: number | null;
  /** Share of the sold units whose value is known; null when nothing was sold. */
  sold_amount_coverage: number | null;
  /** Refunded money ÷ sold_amount of the same orders; null where sold_amount_coverage is below 0.95. */
  refund_share: number | null;
  /**
   * Estimate of the rate when the window of what was sold so far has closed; in no figure. null without
   * open months, for lifetime, and when the store's history is too short.
   */
  outlook: ReportSummaryOutlook | null;
}

/**
 * As many complete months as summary.months_included, ending with the newest complete month before
 * start_month (lifetime: right before it); null when none is included, when none before is complete,
 * and when they would begin before the year 1.
 */
export interface ReportComparison {
  /** YYYY-MM. */
  start_month: string;
  /** YYYY-MM. */
  end_month: string;
  sold_units: number;
  returned_units: number;
  /** 0–1 fraction, 6 decimals. */
  return_rate: number;
  /** Difference of two rates. */
  return_rate_change: number | null;
}

/** 95 % Wilson interval with orders as clusters; null when nothing was sold. */
export interface ReportTrendRowReturnRateInterval {
  /** 0–1 fraction, 6 decimals. */
  low: number;
  /** 0–1 fraction, 6 decimals. */
  high: number;
}

/**
 * Estimate of the rate when the window of what was sold so far has closed; in no figure. null without
 * open months, for lifetime, and when the store's history is too short.
 */
export interface ReportTrendRowOutlook {
  /**
   * Units that will have come back, to two decimals; of a range the sum of its open months and of what
   * came back of the others.
   */
  returned_units: number;
  /** 0–1 fraction, 6 decimals. */
  return_rate: number;
  /** 0–1 fraction, 6 decimals. */
  low: number;
  /** 0–1 fraction, 6 decimals. */
  high: number;
  /** Probability that the rate will be between low and high. */
  level: number;
  /** The part of the expected returns that is old enough to have happened. */
  share_observed: number;
}

export interface ReportTrendRow {
  /** YYYY-MM-01. */
  cohort_month: string;
  /**
   * First order day of the week or day; a week that a month's end splits is two rows. cohort_month is
   * the month that the row lies in. Absent in rows of months.
   */
  period_start?: string;
  sold_units: number;
  returned_units: number;
  /** 0–1 fraction, 6 decimals. */
  return_rate: number;
  /** 95 % Wilson interval with orders as clusters; null when nothing was sold. */
  return_rate_interval: ReportTrendRowReturnRateInterval | null;
  /** null for the open-ended lifetime window. */
  is_complete: boolean | null;
  refunded_units: number;
  /** Decimal number in currency_code. */
  refunded_amount: number;
  /** Decimal number in currency_code. */
  return_label_cost: number;
  /** Decimal number in currency_code. */
  returns_cost: number;
  /** Value of the sold units, after discounts, without tax, as far as it is known; null where of none. */
  sold_amount: number | null;
  /** Share of the sold units whose value is known; null when nothing was sold. */
  sold_amount_coverage: number | null;
  /** Refunded money ÷ sold_amount of the same orders; null where sold_amount_coverage is below 0.95. */
  refund_share: number | null;
  /**
   * Estimate of the rate when the window of what was sold so far has closed; in no figure. null without
   * open months, for lifetime, and when the store's history is too short.
   */
  outlook: ReportTrendRowOutlook | null;
}

export interface ReportReturnReason {
  /** As the store has it; refund_only or unspecified where there is none, as kind says. */
  reason: string;
  /**
   * stated: the store's own reason, whatever its text. refund_only: no return, only a refund.
   * unspecified: a return without a reason. Two rows may share the reason and differ in kind.
   */
  kind: "stated" | "refund_only" | "unspecified";
  label: string;
  returned_units: number;
  /** 0–1 fraction of the returned units. */
  share: number;
}

export interface ReportRefunds {
  refunded_units: number;
  /** Decimal number in currency_code. */
  refunded_amount: number;
  /** Units that came back without a refund, counted line by line. */
  returned_not_refunded_units: number;
  /** Units refunded without coming back, counted line by line. */
  refunded_not_returned_units: number;
}

export interface ReportTimingBucket {
  /** Name of the bucket, such as 8-14. */
  bucket: string;
  /** First day of the bucket. */
  from_day: number;
  /** Last day of the bucket; null = open. */
  to_day: number | null;
  returned_units: number;
  /** 0–1 fraction of the returned units. */
  share: number | null;
  /** 0–1 fraction of the returned units. */
  cumulative_share: number | null;
}

/**
 * Units of return requests on the selected cohorts by their present state, whatever the window, and
 * how much is known of the returned units; share_with_label is null when label costs are not included.
 */
export interface ReportLifecycleCoverage {
  /**
   * Units of requests that wait for an answer; in every state, the processed units where any are
   * reported.
   */
  requested_units: number;
  /** Units of open returns. */
  open_units: number;
  /** Units of closed returns. */
  closed_units: number;
  /** Units of declined requests. */
  declined_units: number;
  /** Units of canceled returns. */
  canceled_units: number;
  /** Returned units known from a refund alone. */
  refund_only_units: number;
  /** 0–1 fraction of the returned units. */
  share_with_reason: number | null;
  /** 0–1 fraction of the returned units. */
  share_with_refund: number | null;
  /** 0–1 fraction of the returned units. */
  share_with_label: number | null;
}

export interface ReportCosts {
  /** Decimal number in currency_code. */
  refunded_amount: number;
  /** Decimal number in currency_code. */
  return_label_cost: number;
  /** Decimal number in currency_code. */
  returns_cost: number;
  /**
   * Labels charged in the requested months that match no return or order; null unless the whole
   * workspace is selected and label costs are included.
   */
  unmatched_label_cost: number | null;
  /** null when no unit cost is known. */
  estimated_margin_impact: number | null;
  /** Whole percent of the returned units whose unit cost is known. */
  cogs_coverage: number;
}

/** 95 % Wilson interval with orders as clusters; null when nothing was sold. */
export interface ReportSaleEventEventReturnRateInterval {
  /** 0–1 fraction, 6 decimals. */
  low: number;
  /** 0–1 fraction, 6 decimals. */
  high: number;
}

export interface ReportSaleEventEvent {
  /** Days that count: those whose window is still open are left out unless include_incomplete. */
  days: number;
  sold_units: number;
  returned_units: number;
  /** 0–1 fraction, 6 decimals. */
  return_rate: number;
  /** 95 % Wilson interval with orders as clusters; null when nothing was sold. */
  return_rate_interval: ReportSaleEventEventReturnRateInterval | null;
}

/** 95 % Wilson interval with orders as clusters; null when nothing was sold. */
export interface ReportSaleEventBaselinePeriodReturnRateInterval {
  /** 0–1 fraction, 6 decimals. */
  low: number;
  /** 0–1 fraction, 6 decimals. */
  high: number;
}

export interface ReportSaleEventBaselinePeriod {
  /** Days that count: those whose window is still open are left out unless include_incomplete. */
  days: number;
  /** First day that counts; null when none does, and for selected_non_sale. YYYY-MM-DD. */
  starts_on: string | null;
  /** Last day that counts; null when none does, and for selected_non_sale. YYYY-MM-DD. */
  ends_on: string | null;
  sold_units: number;
  returned_units: number;
  /** 0–1 fraction, 6 decimals. */
  return_rate: number;
  /** 95 % Wilson interval with orders as clusters; null when nothing was sold. */
  return_rate_interval: ReportSaleEventBaselinePeriodReturnRateInterval | null;
}

/** null unless saleEvent names a sale event of this workspace. */
export interface ReportSaleEvent {
  /** The sale event's slug. */
  slug: string;
  label: string;
  /** YYYY-MM-DD. */
  starts_on: string;
  /** YYYY-MM-DD. */
  ends_on: string;
  /** What it is compared with. */
  baseline: "matched_prior" | "selected_non_sale" | "prior_year";
  /** Which SKUs its figures cover. */
  scope: "current_selection" | "event_scope";
  event: ReportSaleEventEvent;
  baseline_period: ReportSaleEventBaselinePeriod;
  /** Difference of two rates. */
  return_rate_change: number | null;
}

export interface SaleEvent {
  /** The sale event's slug. */
  slug: string;
  label: string;
  /** YYYY-MM-DD. */
  starts_on: string;
  /** YYYY-MM-DD. */
  ends_on: string;
}

/** 95 % Wilson interval with orders as clusters; null when nothing was sold. */
export interface ReportReturnCurveAgeReturnRateInterval {
  /** 0–1 fraction, 6 decimals. */
  low: number;
  /** 0–1 fraction, 6 decimals. */
  high: number;
}

export interface ReportReturnCurveAge {
  /** Days after the order, this day included. */
  age_days: number;
  /** Units that came back at this age or younger. */
  returned_units: number | null;
  /** returned_units ÷ sold_units. */
  return_rate: number | null;
  /** 95 % Wilson interval with orders as clusters; null when nothing was sold. */
  return_rate_interval: ReportReturnCurveAgeReturnRateInterval | null;
  /** Whether every order of the month has reached this age. */
  is_complete: boolean;
}

export interface ReportReturnCurve {
  /** YYYY-MM-01. */
  cohort_month: string;
  sold_units: number;
  /** Whole days for which every order of the month has been observed. */
  observed_days: number;
  /**
   * Ages of 7, 14, 30, 60, 90, 180 and 365 days. Figures of an age that is not complete are null; with
   * include_incomplete they are those so far, once the orders of the month's first day have reached it.
   */
  ages: ReportReturnCurveAge[];
}

/** 95 % Wilson interval with orders as clusters; null when nothing was sold. */
export interface ReportPooledReturnCurveRowReturnRateInterval {
  /** 0–1 fraction, 6 decimals. */
  low: number;
  /** 0–1 fraction, 6 decimals. */
  high: number;
}

export interface ReportPooledReturnCurveRow {
  /** Days after the order, this day included. */
  age_days: number;
  /** Months of the range that are complete at this age; 0 = the figures are null. */
  months_included: number;
  sold_units: number;
  /** Units that came back at this age or younger. */
  returned_units: number | null;
  /** returned_units ÷ sold_units. */
  return_rate: number | null;
  /** 95 % Wilson interval with orders as clusters; null when nothing was sold. */
  return_rate_interval: ReportPooledReturnCurveRowReturnRateInterval | null;
}

export interface ReportBreakdownRowReturnRateInterval {
  /** 0–1 fraction, 6 decimals. */
  low: number;
  /** 0–1 fraction, 6 decimals. */
  high: number;
}

/** The stated reason of most returned units; null without one, and where several tie. */
export interface ReportBreakdownRowTopReason {
  /** As the store has it. */
  reason: string;
  label: string;
  /** 0–1 fraction of the returned units. */
  share: number;
}

export interface ReportBreakdownRow {
  /**
   * The vendor, product id, SKU, group, or value of an option in lower case; other for the rest, and of
   * an option empty for no value.
   */
  key: string;
  label: string;
  selector:
    | { vendor: string }
    | { product_gid: string; include_used_variants?: true; vendor?: string }
    | { sku: string; include_used_variants?: true; vendor?: string }
    | { product_group_type: "family" | "analytics_category"; product_group_key: string; vendor?: string }
    | null;
  sold_units: number;
  returned_units: number;
  /** 0–1 fraction, 6 decimals. */
  return_rate: number;
  return_rate_interval: ReportBreakdownRowReturnRateInterval | null;
  /** Decimal number in currency_code. */
  refunded_amount: number;
  /** Decimal number in currency_code. */
  return_label_cost: number;
  /** Decimal number in currency_code. */
  returns_cost: number;
  /**
   * What returns beyond the usual rate cost: (returned_units − sold_units × usual rate) × cost per
   * returned unit, not below 0, in the currency of the workspace. The usual rate is that of the 12
   * complete months before, held to the category's by 20 units; null without any.
   */
  excess_return_cost: number | null;
  /** Difference of two rates. */
  return_rate_change: number | null;
  /** The stated reason of most returned units; null without one, and where several tie. */
  top_reason: ReportBreakdownRowTopReason | null;
  /** Value of the sold units, after discounts, without tax, as far as it is known; null where of none. */
  sold_amount: number | null;
  /** Share of the sold units whose value is known; null when nothing was sold. */
  sold_amount_coverage: number | null;
  /** Refunded money ÷ sold_amount of the same orders; null where sold_amount_coverage is below 0.95. */
  refund_share: number | null;
  /** Of each month that counts, oldest first; null where nothing was sold. Empty in the last row. */
  monthly_return_rates: (number | null)[];
  product_title: string | null;
  product_image_url: string | null;
}

/**
 * The 20 largest by breakdownOrder, then returns_cost, returned units and key (of an option by sold
 * units, shown in the order of sizes, and a row for what has no value), and a last row other (selector
 * null) for the rest and for what has no key: together they are the selection. A selector takes the
 * row's lines and no others; null where none does. The last row has neither excess, change (against
 * the months of comparison) nor reason. Rows of products and SKUs have the product's title and
 * picture.
 */
export interface ReportBreakdown {
  /** What it is divided by; an option with its name as the store writes it. */
  breakdown_by: string;
  rows: ReportBreakdownRow[];
}

export interface ReportOutcomesRow {
  /**
   * exchange: the return sent units out instead. refund: paid back. other: neither so far, such as store
   * credit.
   */
  outcome: "exchange" | "refund" | "other";
  returned_units: number;
  /** 0–1 fraction of the returned units. */
  share: number;
  /** Decimal number in currency_code. */
  refunded_amount: number;
  /** Value of what came back that an exchange kept and nobody paid back, in currency_code. */
  kept_amount: number;
}

/**
 * How the returned units ended, as is known now: three rows that add up to the summary's
 * returned_units and refunded_amount.
 */
export interface ReportOutcomes {
  rows: ReportOutcomesRow[];
  /**
   * Refunds of an amount that names no line, paid in the requested months; in no other figure. null
   * unless the whole workspace is selected.
   */
  unattributed_refund_amount: number | null;
}

export interface ReportBridgeStep {
  /**
   * left_out_orders: of orders and lines that do not count. order_edits: removed by edits.
   * canceled_before_fulfillment: refunded before they were sent. not_counted: refunded, or processed in
   * a return, without counting as returned. other_days: returned in these months but booked on days
   * outside, less the opposite. other_cohorts: of orders of other months. later_returns: of these
   * months' orders, returned outside them. beyond_window: later than the observation window.
   * open_months: of months left out.
   */
  step:
    | "left_out_orders"
    | "order_edits"
    | "canceled_before_fulfillment"
    | "not_counted"
    | "other_days"
    | "other_cohorts"
    | "later_returns"
    | "beyond_window"
    | "open_months";
  /** Units that the step adds; below 0, takes away. */
  units: number;
}

/**
 * Why the rate differs from that of comparison, as parts that add up: timing: the months compared with
 * had longer to come back. mix: other products were sold. rate: the same products come back more or
 * less often. null where return_rate_change is.
 */
export interface ReportBridgeRateChange {
  /** Difference of two rates. */
  timing: number;
  /** Difference of two rates. */
  mix: number;
  /** Difference of two rates. */
  rate: number;
  /** Difference of two rates. */
  return_rate_change: number;
}

/**
 * From what the source itself books as taken back in the requested calendar months to
 * summary.returned_units, step by step.
 */
export interface ReportBridge {
  /** Units that the source books as taken back in the requested calendar months, of all orders. */
  booked_units: number;
  /** booked_units and the first five are returned_in_months_units; with the other four, returned_units. */
  steps: ReportBridgeStep[];
  /** Units returned in the requested calendar months, whenever they were sold. */
  returned_in_months_units: number;
  returned_units: number;
  /**
   * Why the rate differs from that of comparison, as parts that add up: timing: the months compared with
   * had longer to come back. mix: other products were sold. rate: the same products come back more or
   * less often. null where return_rate_change is.
   */
  rate_change: ReportBridgeRateChange | null;
}

export interface ReportLiabilityMonth {
  /** YYYY-MM-01. */
  cohort_month: string;
  /** Units still expected to come back, to two decimals. */
  expected_units: number;
  /** Refunds still expected, in currency_code. */
  refund_amount: number;
  /** Low end of the interval, in currency_code. */
  low_amount: number;
  /** High end of the interval, in currency_code. */
  high_amount: number;
  /**
   * Unit cost of the goods expected back on the shelf, in currency_code; null where the cost of less
   * than 95 % of the returned units is known.
   */
  goods_cost: number | null;
}

/**
 * Refunds still to come inside the window for what is sold already, of the open months of the range,
 * with include_incomplete or without. null for lifetime, and when the store's history is too short for
 * an outlook.
 */
export interface ReportLiability {
  /** Day up to which returns are known. */
  as_of: string;
  /** Probability that the refunds will be between low_amount and high_amount. */
  level: number;
  /** Refund of a returned unit, by the six newest complete months. */
  unit_refund_amount: number;
  /** Whether fewer than 30 units came back in these months, so that the estimate uses other products. */
  low_evidence: boolean;
  /** Units still expected to come back, to two decimals. */
  expected_units: number;
  /** Refunds still expected, in currency_code. */
  refund_amount: number;
  /** Low end of the interval, in currency_code. */
  low_amount: number;
  /** High end of the interval, in currency_code. */
  high_amount: number;
  /**
   * Unit cost of the goods expected back on the shelf, in currency_code; null where the cost of less
   * than 95 % of the returned units is known.
   */
  goods_cost: number | null;
  /** The open months of the range with sales, oldest first; together they are the total. */
  months: ReportLiabilityMonth[];
}

/**
 * Share of a size's returns with a reason, held to the product's other sizes, with the ends of its 90
 * % interval.
 */
export interface ReportFitSizeTooSmall {
  /** Its mean. */
  share: number;
  /** Low end. */
  low: number;
  /** High end. */
  high: number;
}

/**
 * Share of a size's returns with a reason, held to the product's other sizes, with the ends of its 90
 * % interval.
 */
export interface ReportFitSizeTooLarge {
  /** Its mean. */
  share: number;
  /** Low end. */
  low: number;
  /** High end. */
  high: number;
}

export interface ReportFitSize {
  /** Value of the option in lower case; empty = none. */
  size: string;
  label: string;
  sold_units: number;
  returned_units: number;
  /** 0–1 fraction, 6 decimals. */
  return_rate: number;
  /** Returned units that were too small. */
  too_small_units: number;
  /** Returned units that were too large. */
  too_large_units: number;
  /** Returned units that were not as described. */
  not_as_described_units: number;
  /** Returned units that were damaged or defective. */
  damaged_units: number;
  /** Returned units of which the customer changed their mind. */
  changed_mind_units: number;
  /** Returned units that came late. */
  late_units: number;
  /** Returned units that were the wrong item. */
  wrong_item_units: number;
  /** Returned units of other reasons, and of reasons that nobody has put into a group. */
  other_units: number;
  /** Returned units without a stated reason. */
  no_reason_units: number;
  /** Orders that returned units of the size with a stated reason. */
  returns_with_reason: number;
  /**
   * Share of a size's returns with a reason, held to the product's other sizes, with the ends of its 90
   * % interval.
   */
  too_small: ReportFitSizeTooSmall | null;
  /**
   * Share of a size's returns with a reason, held to the product's other sizes, with the ends of its 90
   * % interval.
   */
  too_large: ReportFitSizeTooLarge | null;
  /** What the size runs; null = nothing is certain. */
  fit: "small" | "large" | null;
  /** Whether fewer than 20 such orders are behind the shares. */
  low_evidence: boolean;
}

/** Orders of two or more sizes of the product. */
export interface ReportFitBracketing {
  /** Orders with the product. */
  orders: number;
  /** Of them those with two or more of its sizes. */
  bracketed_orders: number;
  /** bracketed_orders ÷ orders; null without orders. */
  share: number | null;
  /** Of the product in these orders. */
  sold_units: number;
  /** Of them those that came back. */
  returned_units: number;
}

export interface ReportFitExchange {
  /** Value of the option in lower case; empty = none. */
  from: string;
  /** Size that was sent instead; null = of another product, of several sizes, or not known. */
  to: string | null;
  /** Exchanged units. */
  units: number;
}

export interface ReportFitUnmappedReason {
  /** As the store has it. */
  reason: string;
  returned_units: number;
}

/**
 * How a product fits: its sizes by reason group, orders of several sizes, exchanges. null for other
 * selections than a product, and for products whose variants have no option that is a size.
 */
export interface ReportFit {
  /** The option whose values are sizes. */
  option: string;
  /** Such as Runs small in M and L; null where the evidence leaves a doubt. */
  sentence: string | null;
  /** Share of the returns of other products. */
  usual_too_small_share: number;
  /** Share of the returns of other products. */
  usual_too_large_share: number;
  /** In the order of sizes; the reasons' units sum to returned_units. At most the 60 of most sold units. */
  sizes: ReportFitSize[];
  /** Orders of two or more sizes of the product. */
  bracketing: ReportFitBracketing;
  /** Units of exchanges by size. Empty where nothing was exchanged, or the source does not say. */
  exchanges: ReportFitExchange[];
  /** Up to ten stated reasons that count as other because the workspace has put them into no group. */
  unmapped_reasons: ReportFitUnmappedReason[];
}

/** What /api/v1/report answers. */
export interface ReportData {
  currency_code: string;
  window_days: number | null;
  label_costs_included: boolean;
  summary: ReportSummary;
  /**
   * As many complete months as summary.months_included, ending with the newest complete month before
   * start_month (lifetime: right before it); null when none is included, when none before is complete,
   * and when they would begin before the year 1.
   */
  comparison?: ReportComparison | null;
  trend?: ReportTrendRow[];
  return_reasons?: ReportReturnReason[];
  refunds?: ReportRefunds;
  timing_buckets?: ReportTimingBucket[];
  /**
   * Units of return requests on the selected cohorts by their present state, whatever the window, and
   * how much is known of the returned units; share_with_label is null when label costs are not included.
   */
  lifecycle_coverage?: ReportLifecycleCoverage;
  costs?: ReportCosts;
  /** null unless saleEvent names a sale event of this workspace. */
  sale_event: ReportSaleEvent | null;
  sale_events: SaleEvent[];
  /** Whether saleEvent was asked for and this workspace has no such event; false otherwise. */
  sale_event_unknown: boolean;
  return_curves?: ReportReturnCurve[];
  pooled_return_curve?: ReportPooledReturnCurveRow[];
  /**
   * The 20 largest by breakdownOrder, then returns_cost, returned units and key (of an option by sold
   * units, shown in the order of sizes, and a row for what has no value), and a last row other (selector
   * null) for the rest and for what has no key: together they are the selection. A selector takes the
   * row's lines and no others; null where none does. The last row has neither excess, change (against
   * the months of comparison) nor reason. Rows of products and SKUs have the product's title and
   * picture.
   */
  breakdown?: ReportBreakdown;
  /**
   * How the returned units ended, as is known now: three rows that add up to the summary's
   * returned_units and refunded_amount.
   */
  outcomes?: ReportOutcomes;
  /**
   * From what the source itself books as taken back in the requested calendar months to
   * summary.returned_units, step by step.
   */
  bridge?: ReportBridge;
  /**
   * Refunds still to come inside the window for what is sold already, of the open months of the range,
   * with include_incomplete or without. null for lifetime, and when the store's history is too short for
   * an outlook.
   */
  liability?: ReportLiability | null;
  /**
   * How a product fits: its sizes by reason group, orders of several sizes, exchanges. null for other
   * selections than a product, and for products whose variants have no option that is a size.
   */
  fit?: ReportFit | null;
}

export interface ReportMeta extends ApiMeta, CohortEcho {
  /**
   * As-of of the figures: the store's data is complete up to then. Null before its first sync. No other
   * source moves it, so it may be older than freshness.data_updated_at. ISO 8601, such as
   * 2026-01-31T00:00:00Z.
   */
  data_as_of: string | null;
  /** Absent for months. */
  interval?: "week" | "day";
  /** The part of the report that was returned. */
  section:
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
    | "fit";
  /**
   * Parameters whose value is not in their list, and which took their default; absent when there is
   * none.
   */
  normalized?: string[];
}

export interface TimeseriesRow {
  /** YYYY-MM-01. */
  cohort_month: string;
  /**
   * First order day of the week or day; a week that a month's end splits is two rows. cohort_month is
   * the month that the row lies in. Absent in rows of months.
   */
  period_start?: string;
  sold_units: number;
  returned_units: number;
  /** 0–1 fraction, 6 decimals. */
  return_rate: number;
  /** Whether the window has closed for every order of the row; absent for lifetime. */
  is_complete?: boolean;
}

/** What /api/v1/timeseries answers. */
export interface TimeseriesData {
  rows: TimeseriesRow[];
}

export interface TimeseriesMeta extends ApiMeta, CohortEcho, MonthCoverage {
  /**
   * As-of of the figures: the store's data is complete up to then. Null before its first sync. No other
   * source moves it, so it may be older than freshness.data_updated_at. ISO 8601, such as
   * 2026-01-31T00:00:00Z.
   */
  data_as_of: string | null;
  /** Absent for months. */
  interval?: "week" | "day";
  returned: number;
}

/** The product of a SKU; both ids are the same. */
export interface LeaderboardProduct {
  store_product_gid: string | null;
  shopify_product_gid: string | null;
  product_title: string | null;
  handle: string | null;
  vendor: string | null;
  product_image_url: string | null;
  product_image_alt_text: string | null;
}

export interface ReturnRateLeaderboardRow extends LeaderboardProduct {
  sku: string;
  sold_units: number;
  returned_units: number;
  /** 0–1 fraction, 6 decimals. */
  return_rate: number;
  /**
   * What returns beyond the usual rate cost: (returned_units − sold_units × usual rate) × cost per
   * returned unit, not below 0, in the currency of the workspace. The usual rate is that of the 12
   * complete months before, held to the category's by 20 units; null without any.
   */
  excess_return_cost: number | null;
}

/** What /api/v1/leaderboards/return-rate answers. */
export interface ReturnRateLeaderboardData {
  rows: ReturnRateLeaderboardRow[];
  total_eligible_count: number;
  /** Sold units that a SKU needed in order to be ranked. */
  min_sold_units: number;
}

export interface ReturnRateLeaderboardFilters {
  /** The requested lowest return rate. */
  min_return_rate: number | null;
  /** The requested fewest sold units. */
  min_sold_units: number | null;
  vendor: string | null;
}

export interface ReturnRateLeaderboardTotals {
  sold_units: number;
  returned_units: number;
  /** 0–1 fraction, 6 decimals. */
  return_rate: number;
  /** Value of the sold units, after discounts, without tax, as far as it is known; null where of none. */
  sold_amount: number | null;
  /** Share of the sold units whose value is known; null when nothing was sold. */
  sold_amount_coverage: number | null;
  /** Refunded money ÷ sold_amount of the same orders; null where sold_amount_coverage is below 0.95. */
  refund_share: number | null;
}

export interface ReturnRateLeaderboardMeta extends ApiMeta, MonthCoverage {
  /**
   * As-of of the figures: the store's data is complete up to then. Null before its first sync. No other
   * source moves it, so it may be older than freshness.data_updated_at. ISO 8601, such as
   * 2026-01-31T00:00:00Z.
   */
  data_as_of: string | null;
  selector: SelectorEcho;
  /** YYYY-MM. */
  start_month?: string;
  /** YYYY-MM. */
  end_month?: string;
  window: "primary";
  /** The period that was ranked. */
  period: "month" | "year";
  limit: number;
  returned: number;
  vendor: string | null;
  vendor_known: boolean | null;
  filters: ReturnRateLeaderboardFilters;
  totals: ReturnRateLeaderboardTotals;
  full_leaderboards: boolean;
}

export interface ReturnCostLeaderboardRow extends LeaderboardProduct {
  sku: string;
  total_cost_amount: number;
  total_refunded_amount: number;
  total_return_label_cost: number;
  sold_units: number;
  returned_units: number;
  /** 0–1 fraction, 6 decimals. */
  return_rate: number;
  refunded_units: number;
  /**
   * Returns cost less the unit cost of the units that went back to stock; null when no unit cost is
   * known.
   */
  estimated_margin_impact: number | null;
  cogs_coverage: number;
  /**
   * What returns beyond the usual rate cost: (returned_units − sold_units × usual rate) × cost per
   * returned unit, not below 0, in the currency of the workspace. The usual rate is that of the 12
   * complete months before, held to the category's by 20 units; null without any.
   */
  excess_return_cost: number | null;
}

/** What /api/v1/leaderboards/return-cost answers. */
export interface ReturnCostLeaderboardData {
  rows: ReturnCostLeaderboardRow[];
  currency_code: string;
  total_eligible_count: number;
  label_costs_included: boolean;
}

export interface ReturnCostLeaderboardFilters {
  /** The requested lowest returns cost. */
  min_cost: number | null;
  vendor: string | null;
}

export interface ReturnCostLeaderboardTotals {
  total_cost_amount: number;
  total_refunded_amount: number;
  total_return_label_cost: number;
  sold_units: number;
  returned_units: number;
  /** 0–1 fraction, 6 decimals. */
  return_rate: number;
  /** Value of the sold units, after discounts, without tax, as far as it is known; null where of none. */
  sold_amount: number | null;
  /** Share of the sold units whose value is known; null when nothing was sold. */
  sold_amount_coverage: number | null;
  /** Refunded money ÷ sold_amount of the same orders; null where sold_amount_coverage is below 0.95. */
  refund_share: number | null;
}

export interface ReturnCostLeaderboardMeta extends ApiMeta, CohortEcho, MonthCoverage {
  /**
   * As-of of the figures: the store's data is complete up to then. Null before its first sync. No other
   * source moves it, so it may be older than freshness.data_updated_at. ISO 8601, such as
   * 2026-01-31T00:00:00Z.
   */
  data_as_of: string | null;
  limit: number;
  returned: number;
  vendor_known: boolean | null;
  filters: ReturnCostLeaderboardFilters;
  totals: ReturnCostLeaderboardTotals;
  full_leaderboards: boolean;
}

export interface Alert {
  /** Id of the alert. */
  id: string;
  /** What happened: return_rate_watchlist, backfill_completed, connection_stale or report_ready. */
  category: string;
  /** How much it matters. */
  severity: "info" | "warning" | "critical";
  /** One line. */
  title: string;
  /** A few sentences. */
  body: string | null;
  /** Where to look further. */
  link_url: string | null;
  /** What the link is called. */
  link_label: string | null;
  /**
   * Facts of the alert, by its category; for a watchlist alert the selector, the month and its figures.
   * Alerts of one problem have the same episode_id and started_on; state is open, or ended in the alert
   * that ends it (kind ended).
   */
  metadata: Record<string, unknown> | null;
  /** When it was written. ISO 8601, such as 2026-01-31T00:00:00Z. */
  created_at: string;
}

export interface AlertsMeta extends ApiMeta {
  /**
   * As-of of the figures: the store's data is complete up to then. Null before its first sync. No other
   * source moves it, so it may be older than freshness.data_updated_at. ISO 8601, such as
   * 2026-01-31T00:00:00Z.
   */
  data_as_of: string | null;
  /** The requested floor. ISO 8601, such as 2026-01-31T00:00:00Z. */
  since: string | null;
  /** The requested category. */
  category: string | null;
  /** The requested state. */
  state: string | null;
  limit: number;
  returned: number;
  next_cursor: string | null;
}
