import Type from "typebox";
import type { Static, TProperties, TSchema } from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import { cohortEcho, meta, monthCoverage, monthText, rate, units } from "./meta.ts";
import {
  BREAKDOWNS,
  REPORT_SECTIONS,
  breakdownParameter,
  cohortParameters,
  reportSectionParameter,
  reportStateParameters,
} from "./parameters.ts";

const closed = <Properties extends TProperties>(
  properties: Properties,
  options: { description?: string } = {},
) => Type.Object(properties, { ...options, additionalProperties: false });
const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

const amount = Type.Number({ description: "Decimal number in currency_code." });
const share = Type.Number({ minimum: 0, maximum: 1, description: "0–1 fraction of the returned units." });
const rateChange = Type.Number({ minimum: -1, maximum: 1, description: "Difference of two rates." });
const DAY_PATTERN = "^\\d{4}-\\d{2}-\\d{2}$";
const day = Type.String({ pattern: DAY_PATTERN });

const outlook = orNull(
  closed(
    {
      return_rate: rate,
      low: rate,
      high: rate,
      level: Type.Number({ description: "Chance that the rate will lie from low to high." }),
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
    },
  ),
);

const summary = closed({
  sold_units: units,
  returned_units: units,
  return_rate: rate,
  return_rate_interval: orNull(
    closed({ low: rate, high: rate }, { description: "95 % Wilson interval; null when nothing was sold." }),
  ),
  refunded_units: units,
  refunded_amount: amount,
  return_label_cost: amount,
  returns_cost: amount,
  cost_per_returned_unit: orNull(
    Type.Number({
      description: "returns_cost ÷ returned_units, to the decimals of the currency, halves away from zero.",
    }),
  ),
  median_days_to_return: orNull(Type.Number({ minimum: 0 })),
  ...monthCoverage,
  outlook,
});

const comparison = orNull(
  closed(
    {
      start_month: monthText,
      end_month: monthText,
      sold_units: units,
      returned_units: units,
      return_rate: rate,
      return_rate_change: orNull(rateChange),
    },
    {
      description:
        "As many complete months as summary.months_included, ending with the newest complete month before start_month " +
        "(lifetime: right before it); null when none is included, when none before is complete, and when they would " +
        "begin before the year 1.",
    },
  ),
);

const trend = Type.Array(
  closed({
    cohort_month: Type.String({ pattern: "^\\d{4}-\\d{2}-01$" }),
    sold_units: units,
    returned_units: units,
    return_rate: rate,
    is_complete: orNull(Type.Boolean({ description: "null for the open-ended lifetime window." })),
    refunded_units: units,
    refunded_amount: amount,
    return_label_cost: amount,
    returns_cost: amount,
    outlook,
  }),
);

const returnReasons = Type.Array(
  closed({
    reason: Type.String({
      description: "As the store has it; refund_only or unspecified where there is none, as kind says.",
    }),
    kind: Type.Enum(["stated", "refund_only", "unspecified"], {
      description:
        "stated: the store's own reason, whatever it reads. refund_only: no return, only a refund. unspecified: a " +
        "return without a reason. Two rows may share the reason and differ in kind.",
    }),
    label: Type.String(),
    returned_units: units,
    share,
  }),
);

const refunds = closed({
  refunded_units: units,
  refunded_amount: amount,
  returned_not_refunded_units: units,
  refunded_not_returned_units: units,
});

const timingBuckets = Type.Array(
  closed({
    bucket: Type.String(),
    from_day: Type.Integer({ minimum: 0 }),
    to_day: orNull(Type.Integer({ minimum: 0 })),
    returned_units: units,
    share: orNull(share),
    cumulative_share: orNull(share),
  }),
);

const lifecycleCoverage = closed(
  {
    requested_units: units,
    open_units: units,
    closed_units: units,
    declined_units: units,
    canceled_units: units,
    refund_only_units: units,
    share_with_reason: orNull(share),
    share_with_refund: orNull(share),
    share_with_label: orNull(share),
  },
  {
    description:
      "Units of return requests on the selected cohorts by their present state, whatever the window, and how much " +
      "is known of the returned units; share_with_label is null when label costs are not included.",
  },
);

const costs = closed({
  refunded_amount: amount,
  return_label_cost: amount,
  returns_cost: amount,
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
});

const countedDays = Type.Integer({
  minimum: 0,
  description: "Days that count: those whose window is still open are left out unless include_incomplete.",
});
const firstOrLastDay = (which: "First" | "Last") =>
  Type.String({
    pattern: DAY_PATTERN,
    description: `${which} day that counts; null when none does, and for selected_non_sale.`,
  });

const saleEvent = orNull(
  closed(
    {
      slug: Type.String(),
      label: Type.String(),
      starts_on: day,
      ends_on: day,
      baseline: Type.Enum(["matched_prior", "selected_non_sale", "prior_year"]),
      scope: Type.Enum(["current_selection", "event_scope"]),
      event: closed({ days: countedDays, sold_units: units, returned_units: units, return_rate: rate }),
      baseline_period: closed({
        days: countedDays,
        starts_on: orNull(firstOrLastDay("First")),
        ends_on: orNull(firstOrLastDay("Last")),
        sold_units: units,
        returned_units: units,
        return_rate: rate,
      }),
      return_rate_change: orNull(rateChange),
    },
    { description: "null unless saleEvent names a sale event of this workspace." },
  ),
);

const breakdown = closed(
  {
    breakdown_by: Type.Enum([...BREAKDOWNS]),
    rows: Type.Array(
      closed({
        key: Type.String(),
        label: Type.String(),
        selector: Type.Union([
          closed({ vendor: Type.String() }),
          closed({ product_gid: Type.String() }),
          closed({ sku: Type.String() }),
          closed({
            product_group_type: Type.Enum(["family", "analytics_category"]),
            product_group_key: Type.String(),
          }),
          Type.Null(),
        ]),
        sold_units: units,
        returned_units: units,
        return_rate: rate,
        return_rate_interval: orNull(closed({ low: rate, high: rate })),
        refunded_amount: amount,
        return_label_cost: amount,
        returns_cost: amount,
      }),
    ),
  },
  {
    description:
      "The 20 costliest, by returns_cost, then returned units, then key, and a last row other (selector null) for the " +
      "rest and for what has no key: together they are the selection.",
  },
);
/** A sale event that a report can be asked for. */
export const listedSaleEvent = closed({
  slug: Type.String(),
  label: Type.String(),
  starts_on: day,
  ends_on: day,
});

const data = closed({
  currency_code: Type.String(),
  window_days: orNull(Type.Integer({ minimum: 1 })),
  label_costs_included: Type.Boolean(),
  summary,
  comparison: Type.Optional(comparison),
  trend: Type.Optional(trend),
  return_reasons: Type.Optional(returnReasons),
  refunds: Type.Optional(refunds),
  timing_buckets: Type.Optional(timingBuckets),
  lifecycle_coverage: Type.Optional(lifecycleCoverage),
  costs: Type.Optional(costs),
  sale_event: saleEvent,
  sale_events: Type.Array(listedSaleEvent),
  sale_event_unknown: Type.Boolean({
    description: "Whether saleEvent was asked for and this workspace has no such event; false otherwise.",
  }),
  breakdown: Type.Optional(breakdown),
});

/** The report's data: the first four members and those of sale events always, the others as the section asks. */
export type ReportData = Static<typeof data>;
export type ReportOutlook = Exclude<Static<typeof outlook>, null>;
export type ReportBreakdown = Static<typeof breakdown>;
export type ReportSection = (typeof REPORT_SECTIONS)[number];

/** What the report and its export take alike. */
export const reportParameters = { ...cohortParameters, ...reportStateParameters, ...breakdownParameter };

export const report = defineEndpoint({
  name: "report",
  path: "/api/v1/report",
  scope: "read:reports",
  entitlements: ["api_access"],
  summary: "Everything about the returns of a selection",
  description:
    "Rate with its interval and the months before, monthly trend, return reasons, refunds, days to return, how much " +
    "is known of each return, costs, the workspace's sale events and, for the one asked for, its rate against a " +
    "baseline. reportSection narrows it to one part beside the summary and the sale event; breakdown divides it by " +
    "vendor, product, SKU or group.",
  parameters: Type.Object({ ...reportParameters, ...reportSectionParameter }),
  response: closed({ data, meta: meta({ ...cohortEcho, section: Type.Enum([...REPORT_SECTIONS]) }) }),
  toolName: "get_report",
});
