import Type from "typebox";
import type { TProperties } from "typebox";
import { API_VERSION } from "./version.ts";

const nullable = <T extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(schema: T) =>
  Type.Union([schema, Type.Null()]);

export const dateTime = Type.String({ format: "date-time" });
export const nullableText = nullable(Type.String());
export const monthText = Type.String({ pattern: "^\\d{4}-\\d{2}$" });
export const units = Type.Integer({ minimum: 0 });
export const rate = Type.Number({ minimum: 0, maximum: 1, description: "0–1 fraction, 6 decimals." });

export const freshness = Type.Union([
  Type.Object(
    {
      data_updated_at: Type.Union([dateTime, Type.Null()]),
      sources: Type.Array(
        Type.Object(
          {
            source: Type.String(),
            last_synced_at: Type.Union([dateTime, Type.Null()]),
            status: nullableText,
            stale: Type.Boolean(),
          },
          { additionalProperties: false },
        ),
      ),
    },
    { additionalProperties: false },
  ),
  Type.Null(),
]);

const identity = {
  api_version: Type.Literal(API_VERSION),
  organization_id: Type.String(),
  shop_id: nullableText,
  shop_domain: Type.String(),
};

export const selectorEcho = Type.Union([
  Type.Object({ type: Type.Literal("workspace") }, { additionalProperties: false }),
  Type.Object(
    { type: Type.Literal("sku"), primarySku: Type.String(), skus: Type.Array(Type.String()) },
    { additionalProperties: false },
  ),
  Type.Object(
    { type: Type.Literal("product"), product_gid: Type.String(), skus: Type.Array(Type.String()) },
    { additionalProperties: false },
  ),
  Type.Object(
    {
      type: Type.Literal("product_group"),
      product_group_type: Type.Enum(["family", "analytics_category"]),
      product_group_key: Type.String(),
      label: Type.String(),
    },
    { additionalProperties: false },
  ),
]);

/** Echoes of a request over cohort months. */
export const cohortEcho = {
  selector: selectorEcho,
  start_month: monthText,
  end_month: monthText,
  window: Type.Enum(["primary", "30d", "90d", "lifetime"]),
  include_incomplete: Type.Boolean(),
  vendor: nullableText,
};

/** Of leaderboards: whether the workspace ever had the vendor that they are filtered by; null without one. */
export const vendorKnown = Type.Union([Type.Boolean(), Type.Null()]);
/** How much of a range of cohort months an answer counts. */
export const monthCoverage = {
  months_included: Type.Integer({
    minimum: 0,
    description:
      "Cohort months of the range that count. 0 = nothing was counted, so that zeros are no results.",
  }),
  excluded_months: Type.Array(monthText, {
    description: "Months of the range left out because their window is still open, newest last.",
  }),
  complete_through: Type.Union([monthText, Type.Null()]),
};

/** ApiMeta with the given echoes; nothing else may appear. */
export function meta<Echo extends TProperties>(echo: Echo) {
  return Type.Object({ ...identity, freshness, ...echo }, { additionalProperties: false });
}

/** What a leaderboard row says of its product; both names of the product's id carry the same value. */
export const leaderboardProduct = {
  store_product_gid: nullableText,
  shopify_product_gid: nullableText,
  product_title: nullableText,
  handle: nullableText,
  vendor: nullableText,
  product_image_url: nullableText,
  product_image_alt_text: nullableText,
};
