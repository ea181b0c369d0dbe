import Type from "typebox";
import type { TProperties, TSchema } from "typebox";
import { closed, count, oneOf, orNull, text } from "./schema.ts";
import { API_VERSION } from "./endpoint.ts";

export const dateTime = Type.String({ format: "date-time" });
export const nullableText = orNull(Type.String());
export const monthText = Type.String({ pattern: "^\\d{4}-\\d{2}$" });
export const cohortMonth = Type.String({ pattern: "^\\d{4}-\\d{2}-01$" });
export const units = Type.Integer({ minimum: 0 });
export const rate = Type.Number({ minimum: 0, maximum: 1, description: "0–1 fraction, 6 decimals." });
export const rateInterval = orNull(
  closed(
    { low: rate, high: rate },
    {
      description: "95 % Wilson interval with orders as clusters; null when nothing was sold.",
      component: "RateInterval",
    },
  ),
);
/** Of a row of a week or day; absent in rows of months. */
export const periodStart = Type.Optional(
  Type.String({
    format: "date",
    description:
      "First order day of the week or day; a week that a month's end splits is two rows. cohort_month is the month that the row lies in. Absent in rows of months.",
  }),
);
/** Of weeks and days; absent in answers by month. */
export const intervalEcho = {
  interval: Type.Optional(Type.Enum(["week", "day"], { description: "Absent for months." })),
};
/** Of the selected cohorts inside the window. */
export const figures = { sold_units: units, returned_units: units, return_rate: rate };
/** The value of the units sold, and the refunded share. */
export const soldValue = {
  sold_amount: orNull(
    Type.Number({
      description:
        "Value of the sold units, after discounts, without tax, as far as it is known; null if no value is known.",
    }),
  ),
  sold_amount_coverage: orNull(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description: "Share of the sold units whose value is known; null when nothing was sold.",
    }),
  ),
  refund_share: orNull(
    Type.Number({
      description:
        "Refunded money ÷ sold_amount of the same orders; null where sold_amount_coverage is below 0.95.",
    }),
  ),
};
export const groupType = Type.Enum(["family", "analytics_category"]);

const freshnessSource = closed(
  {
    source: text("Name of the source."),
    last_synced_at: orNull(
      Type.String({ format: "date-time", description: "Last successful sync; null when there was none." }),
    ),
    status: orNull(text("ok, syncing, failed or disconnected; null before the first run.")),
    stale: Type.Boolean({
      description: "True when the source never synced, failed, or last synced more than 36 hours ago.",
    }),
  },
  { component: "FreshnessSource" },
);

export const freshness = orNull(
  closed(
    { data_updated_at: orNull(dateTime), sources: Type.Array(freshnessSource) },
    { component: "Freshness" },
  ),
);

const identity = {
  api_version: Type.Literal(API_VERSION),
  organization_id: Type.String(),
  shop_id: nullableText,
  shop_domain: Type.String(),
};

export const selectorEcho = oneOf(
  [
    closed({ type: Type.Literal("workspace") }),
    closed({
      type: Type.Literal("sku"),
      primarySku: text("The requested SKU."),
      skus: Type.Array(Type.String()),
    }),
    closed({ type: Type.Literal("product"), product_gid: Type.String(), skus: Type.Array(Type.String()) }),
    closed({
      type: Type.Literal("product_group"),
      product_group_type: groupType,
      product_group_key: Type.String(),
      label: Type.String(),
    }),
  ],
  { component: "Selector" },
);

/** Echoes of a request over cohort months. */
export const cohortEcho = {
  selector: selectorEcho,
  start_month: monthText,
  end_month: monthText,
  window: Type.Enum(["primary", "30d", "90d", "lifetime"]),
  include_incomplete: Type.Boolean(),
  vendor: nullableText,
};

export const excessReturnCost = orNull(
  Type.Number({
    minimum: 0,
    description:
      "What returns beyond the usual rate cost: (returned_units − sold_units × usual rate) × cost per returned unit, not below " +
      "0, in the currency of the workspace. The usual rate is that of the 12 complete months before and of 20 units at the " +
      "category's rate together; null without any.",
  }),
);

/** Of leaderboards: whether the workspace ever had the vendor that they are filtered by; null without one. */
export const vendorKnown = orNull(Type.Boolean());
/** How much of a range of cohort months an answer counts. */
export const monthCoverage = {
  months_included: count(
    "Cohort months of the range that count. 0 = nothing was counted, so zeros are not results.",
  ),
  excluded_months: Type.Array(monthText, {
    description: "Months of the range left out because their window is still open, newest last.",
  }),
  complete_through: orNull(monthText),
};

const asOf = {
  data_as_of: orNull(
    Type.String({
      format: "date-time",
      description:
        "As-of of the figures: the store's data is complete up to then. Null before its first sync. No other source moves it, so it may be older than freshness.data_updated_at.",
    }),
  ),
};

/** ApiMeta with the given echoes; no other members are allowed. */
export function meta<Echo extends TProperties>(echo: Echo) {
  return closed({ ...identity, freshness, ...echo });
}

/** Echoes of a request for one page. */
export const pageEcho = (maximum: number) => ({
  limit: Type.Integer({ minimum: 1, maximum }),
  returned: units,
  next_cursor: nullableText,
});

/** The body of a JSON answer of figures: its data, and ApiMeta with their as-of and the given echoes. */
export function body<Data extends TSchema, Echo extends TProperties>(data: Data, echo: Echo) {
  return closed({ data, meta: meta({ ...asOf, ...echo }) });
}

/** A leaderboard row's product; both names of the product's id have the same value. */
export const leaderboardProduct = {
  store_product_gid: nullableText,
  shopify_product_gid: nullableText,
  product_title: nullableText,
  handle: nullableText,
  vendor: nullableText,
  product_image_url: nullableText,
  product_image_alt_text: nullableText,
};
