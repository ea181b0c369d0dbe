import Type from "typebox";
import type { Static } from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import {
  body,
  cohortEcho,
  cohortMonth,
  excessReturnCost,
  figures,
  groupType,
  intervalEcho,
  monthCoverage,
  monthText,
  nullableText,
  periodStart,
  rate,
  rateInterval,
  soldValue,
  units,
} from "./meta.ts";
import {
  COHORT_LINE,
  REPORT_SECTIONS,
  SELECTOR_OBJECT_LINE,
  breakdownParameter,
  cohortParameters,
  intervalParameter,
  reportSectionParameter,
  reportStateParameters,
} from "./parameters.ts";
import { bridge, outcomes, listedSaleEvent, rateChange, saleEvent, fit } from "./report-sections.ts";
import { closed, count, oneOf, orNull, text } from "./schema.ts";

const ageDays = count("Days after the order, this day included.");
const curveFigures = {
  returned_units: orNull(count("Units that came back at this age or younger.")),
  return_rate: orNull(Type.Number({ minimum: 0, maximum: 1, description: "returned_units ÷ sold_units." })),
  return_rate_interval: rateInterval,
};

/** The return curve of one cohort month. */
const returnCurve = closed(
  {
    cohort_month: cohortMonth,
    sold_units: units,
    observed_days: count("Whole days for which every order of the month has been observed."),
    ages: Type.Array(
      closed(
        {
          age_days: ageDays,
          ...curveFigures,
          is_complete: Type.Boolean({
            description: "Whether every order of the month has reached this age.",
          }),
        },
        { component: "ReportCurveAge" },
      ),
      {
        description:
          "Ages of 7, 14, 30, 60, 90, 180 and 365 days. Figures of an age that is not complete are null; with " +
          "include_incomplete they are those so far, once the orders of the month's first day have reached it.",
      },
    ),
  },
  { component: "ReportReturnCurve" },
);

/** One age of the return curve of all months together. */
const pooledCurveAge = closed(
  {
    age_days: ageDays,
    months_included: count("Months of the range that are complete at this age; 0 = the figures are null."),
    sold_units: units,
    ...curveFigures,
  },
  { component: "ReportPooledCurveAge" },
);

const liabilityFigures = {
  expected_units: Type.Number({
    minimum: 0,
    description: "Units still expected to come back, to two decimals.",
  }),
  refund_amount: Type.Number({ description: "Refunds still expected, in currency_code." }),
  low_amount: Type.Number({ description: "Low end of the interval, in currency_code." }),
  high_amount: Type.Number({ description: "High end of the interval, in currency_code." }),
  goods_cost: orNull(
    Type.Number({
      description:
        "Unit cost of the goods expected back on the shelf, in currency_code; null where the cost of less than 95 % of the returned units is known.",
    }),
  ),
};
const liability = orNull(
  closed(
    {
      as_of: Type.String({ format: "date", description: "Day up to which returns are known." }),
      level: Type.Number({
        description: "Probability that the refunds will be between low_amount and high_amount.",
      }),
      unit_refund_amount: Type.Number({
        description: "Refund of a returned unit, by the six newest complete months.",
      }),
      low_evidence: Type.Boolean({
        description:
          "Whether fewer than 30 units came back in these months, so that the estimate uses other products.",
      }),
      ...liabilityFigures,
      months: Type.Array(closed({ cohort_month: cohortMonth, ...liabilityFigures }), {
        description: "The open months of the range with sales, oldest first; together they are the total.",
      }),
    },
    {
      description:
        "Refunds still to come inside the window for what is sold already, of the open months of the range, with include_incomplete or without. null for " +
        "lifetime, and when the store's history is too short for an outlook.",
      component: "ReportLiability",
    },
  ),
);

const amount = Type.Number({ description: "Decimal number in currency_code." });
const costAmounts = { refunded_amount: amount, return_label_cost: amount, returns_cost: amount };
const share = Type.Number({ minimum: 0, maximum: 1, description: "0–1 fraction of the returned units." });

const outlook = orNull(
  closed(
    {
      returned_units: Type.Number({
        minimum: 0,
        description:
          "Units that will have come back, to two decimals; of a range the sum of its open months and of what came back of the others.",
      }),
      return_rate: rate,
      low: rate,
      high: rate,
      level: Type.Number({ description: "Probability that the rate will be between low and high." }),
      share_observed: Type.Number({
        minimum: 0,
        maximum: 1,
        description: "The part of the expected returns that is old enough to have happened.",
      }),
    },
    {
      description:
        "Estimate of the rate when the window of what was sold so far has closed; in no figure. null without open " +
        "months, for lifetime, and when the store's history is too short.",
      component: "ReportOutlook",
    },
  ),
);

const summary = closed(
  {
    ...figures,
    return_rate_interval: rateInterval,
    refunded_units: units,
    ...costAmounts,
    cost_per_returned_unit: orNull(
      Type.Number({
        description: "returns_cost ÷ returned_units, to the decimals of the currency, halves away from zero.",
      }),
    ),
    median_days_to_return: orNull(
      Type.Number({
        minimum: 0,
        description: "Median days from order to return; null when nothing came back.",
      }),
    ),
    ...soldValue,
    ...monthCoverage,
    outlook,
  },
  { component: "ReportSummary" },
);

const comparison = orNull(
  closed(
    {
      start_month: monthText,
      end_month: monthText,
      ...figures,
      return_rate_change: orNull(rateChange),
    },
    {
      description:
        "As many complete months as summary.months_included, ending with the newest complete month before start_month " +
        "(lifetime: right before it); null when none is included, when none before is complete, and when they would " +
        "begin before the year 1.",
      component: "ReportComparison",
    },
  ),
);

const trendRow = closed(
  {
    cohort_month: cohortMonth,
    period_start: periodStart,
    ...figures,
    return_rate_interval: rateInterval,
    is_complete: orNull(Type.Boolean({ description: "null for the open-ended lifetime window." })),
    refunded_units: units,
    ...costAmounts,
    ...soldValue,
    outlook,
  },
  { component: "ReportTrendRow" },
);

const returnReason = closed(
  {
    reason: Type.String({
      description: "As the store has it; refund_only or unspecified where there is none, as kind says.",
    }),
    kind: Type.Enum(["stated", "refund_only", "unspecified"], {
      description:
        "stated: the store's own reason, whatever its text. refund_only: no return, only a refund. unspecified: a " +
        "return without a reason. Two rows may share the reason and differ in kind.",
    }),
    label: Type.String(),
    returned_units: units,
    share,
  },
  { component: "ReportReason" },
);

const refunds = closed(
  {
    refunded_units: units,
    refunded_amount: amount,
    returned_not_refunded_units: count("Units that came back without a refund, counted line by line."),
    refunded_not_returned_units: count("Units refunded without coming back, counted line by line."),
  },
  { component: "ReportRefunds" },
);

const timingBucket = closed(
  {
    bucket: text("Name of the bucket, such as 8-14."),
    from_day: count("First day of the bucket."),
    to_day: orNull(count("Last day of the bucket; null = open.")),
    returned_units: units,
    share: orNull(share),
    cumulative_share: orNull(share),
  },
  { component: "ReportTimingBucket" },
);

const lifecycleCoverage = closed(
  {
    requested_units: count(
      "Units of requests that wait for an answer; in every state, the processed units where any are reported.",
    ),
    open_units: count("Units of open returns."),
    closed_units: count("Units of closed returns."),
    declined_units: count("Units of declined requests."),
    canceled_units: count("Units of canceled returns."),
    refund_only_units: count("Returned units known from a refund alone."),
    share_with_reason: orNull(share),
    share_with_refund: orNull(share),
    share_with_label: orNull(share),
  },
  {
    description:
      "Units of return requests on the selected cohorts by their present state, whatever the window, and how much " +
      "is known of the returned units; share_with_label is null when label costs are not included.",
    component: "ReportLifecycleCoverage",
  },
);

const costs = closed(
  {
    ...costAmounts,
    unmatched_label_cost: orNull(
      Type.Number({
        description:
          "Labels charged in the requested months that match no return or order; null unless the whole workspace is " +
          "selected and label costs are included.",
      }),
    ),
    estimated_margin_impact: orNull(Type.Number({ description: "null when no unit cost is known." })),
    cogs_coverage: Type.Integer({
      minimum: 0,
      maximum: 100,
      description: "Whole percent of the returned units whose unit cost is known.",
    }),
  },
  { component: "ReportCosts" },
);

const usedVariants = Type.Optional(
  Type.Literal(true, { description: "With the used variants of the product or SKU." }),
);
const ofVendor = Type.Optional(Type.String());

/** The selector of a breakdown row: parameters of every endpoint over cohort months. */
const rowSelector = oneOf([
  closed({ vendor: Type.String() }),
  closed({ product_gid: Type.String(), include_used_variants: usedVariants, vendor: ofVendor }),
  closed({ sku: Type.String(), include_used_variants: usedVariants, vendor: ofVendor }),
  closed({ product_group_type: groupType, product_group_key: Type.String(), vendor: ofVendor }),
  Type.Null(),
]);

const breakdown = closed(
  {
    breakdown_by: text("What it is divided by; an option with its name as the store writes it."),
    rows: Type.Array(
      closed({
        key: text(
          "The vendor, product id, SKU, group, or value of an option in lower case; other for the rest, and of an option empty for no value.",
        ),
        label: Type.String(),
        selector: rowSelector,
        ...figures,
        return_rate_interval: orNull(closed({ low: rate, high: rate })),
        ...costAmounts,
        excess_return_cost: excessReturnCost,
        return_rate_change: orNull(rateChange),
        top_reason: orNull(
          closed(
            { reason: text("As the store has it."), label: Type.String(), share },
            {
              description:
                "The reason of more returned units than any other, if it is a stated one; otherwise null.",
            },
          ),
        ),
        ...soldValue,
        monthly_return_rates: Type.Array(orNull(rate), {
          description:
            "Of each month that counts, oldest first; null where nothing was sold. Empty in the last row.",
        }),
        product_title: nullableText,
        product_image_url: nullableText,
      }),
    ),
  },
  {
    description:
      "The 20 largest by breakdownOrder, then returns_cost, returned units and key (of an option without one by sold units, shown in the order of " +
      "sizes, and always with a row for what has no value), and a last row other (selector null) for the " +
      "rest and for what has no key: together they are the selection. A selector takes the row's lines and no others; " +
      "null where none does. The last row has neither excess, change (against the months of comparison) nor reason. Rows of products " +
      "and SKUs have the product's title and picture.",
  },
);

const data = closed(
  {
    currency_code: Type.String(),
    window_days: orNull(Type.Integer({ minimum: 1 })),
    label_costs_included: Type.Boolean(),
    summary,
    comparison: Type.Optional(comparison),
    trend: Type.Optional(Type.Array(trendRow)),
    return_reasons: Type.Optional(Type.Array(returnReason)),
    refunds: Type.Optional(refunds),
    timing_buckets: Type.Optional(Type.Array(timingBucket)),
    lifecycle_coverage: Type.Optional(lifecycleCoverage),
    costs: Type.Optional(costs),
    sale_event: saleEvent,
    sale_events: Type.Array(listedSaleEvent),
    sale_event_unknown: Type.Boolean({
      description: "Whether saleEvent was asked for and this workspace has no such event; false otherwise.",
    }),
    return_curves: Type.Optional(Type.Array(returnCurve)),
    pooled_return_curve: Type.Optional(Type.Array(pooledCurveAge)),
    breakdown: Type.Optional(breakdown),
    outcomes: Type.Optional(outcomes),
    bridge: Type.Optional(bridge),
    liability: Type.Optional(liability),
    fit: Type.Optional(fit),
  },
  { component: "Report" },
);

/** The report's data: the first four members and those of sale events always, the others depending on the section. */
export type ReportData = Static<typeof data>;
export type ReportOutlook = Exclude<Static<typeof outlook>, null>;
export type ReportLiability = Exclude<Static<typeof liability>, null>;
/** Parts that only their own sections and the export have. */
export type ReportParts = Pick<
  ReportData,
  "return_curves" | "pooled_return_curve" | "breakdown" | "outcomes" | "bridge" | "liability" | "fit"
>;
export type WholeReport = Required<Omit<ReportData, keyof ReportParts>>;
export type ReportBreakdown = Static<typeof breakdown>;
export type ReportSection = (typeof REPORT_SECTIONS)[number];

/** Parameters common to the report and its export. */
export const reportParameters = {
  ...cohortParameters,
  ...intervalParameter,
  ...reportStateParameters,
  ...breakdownParameter,
};

export const report = defineEndpoint({
  name: "report",
  path: "/api/v1/report",
  scope: "read:reports",
  entitlements: ["api_access"],
  tag: "Return rates",
  summary: "Everything about the returns of a selection",
  description:
    "Rate with its interval and the months before, monthly trend, return reasons, refunds, days to return, how much " +
    "is known of each return, costs, the workspace's sale events and, for the one asked for, its rate against a " +
    "baseline. reportSection narrows it to one part beside the summary and the sale event; curves is the share returned " +
    "by days after the order, breakdown divides it by vendor, product, SKU or group, outcomes is how returned units ended, " +
    "bridge reconciles the store's own count with these figures, liability is the refunds still to come, fit is a product by size.",
  parameters: Type.Object({ ...reportParameters, ...reportSectionParameter }),
  response: body(data, {
    ...cohortEcho,
    ...intervalEcho,
    section: Type.Enum([...REPORT_SECTIONS], { description: "The part of the report that was returned." }),
    normalized: Type.Optional(
      Type.Array(Type.String(), {
        description:
          "Parameters whose value is not in their list, and which took their default; absent when there is none.",
      }),
    ),
  }),
  example: "sku=LMP53-BRASS&start_month=2026-04&end_month=2026-05&window=30d",
  tool: {
    name: "get_report",
    title: "Get the returns report",
    listsSelectorObject: true,
    lines: [
      "Returns the full picture: rate with interval and outlook (where open months are heading), months before, trend by month (interval=week or day), reasons, days to return, costs, sale events.",
      "Use it to explain returns; for one figure use get_summary, for monthly rates alone get_timeseries. sale_events lists what saleEvent takes.",
      "reportSection picks one part: trend, reasons, breakdown by breakdownBy (vendor, product, sku, option:<name> as option:size), curves, outcomes, bridge (store's count), liability (refunds to come), fit.",
      SELECTOR_OBJECT_LINE,
      COHORT_LINE,
      'Example: {"selector": {"product_gid": "gid://shopify/Product/1"}, "start_month": "2026-01", "end_month": "2026-06"}',
    ],
  },
});
