import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import {
  cohortEcho,
  leaderboardProduct,
  meta,
  monthCoverage,
  nullableText,
  rate,
  units,
  vendorKnown,
} from "./meta.ts";
import {
  limitParameter,
  monthParameters,
  selectorParameters,
  usedVariantsParameter,
  vendorParameter,
  windowParameters,
} from "./parameters.ts";

export const returnCostLeaderboard = defineEndpoint({
  name: "return-cost-leaderboard",
  path: "/api/v1/leaderboards/return-cost",
  scope: "read:dashboard",
  entitlements: ["api_access"],
  summary: "SKUs by highest returns cost",
  description:
    "Ranks SKUs by canonical returns cost (refunds without tax, plus return labels where their cost is known).",
  parameters: Type.Object({
    ...selectorParameters,
    ...usedVariantsParameter,
    ...monthParameters,
    ...windowParameters,
    ...limitParameter(100, 10),
    min_cost: Type.Optional(
      Type.Number({ minimum: 0, description: "Lowest returns cost to list, in the shop's currency." }),
    ),
    ...vendorParameter,
  }),
  response: Type.Object(
    {
      data: Type.Object(
        {
          rows: Type.Array(
            Type.Object(
              {
                sku: Type.String(),
                total_cost_amount: Type.Number(),
                total_refunded_amount: Type.Number(),
                total_return_label_cost: Type.Number(),
                sold_units: units,
                returned_units: units,
                return_rate: rate,
                refunded_units: units,
                estimated_margin_impact: Type.Union([Type.Number(), Type.Null()]),
                cogs_coverage: Type.Integer({ minimum: 0, maximum: 100 }),
                ...leaderboardProduct,
              },
              { additionalProperties: false },
            ),
          ),
          currency_code: Type.String(),
          total_eligible_count: units,
          label_costs_included: Type.Boolean(),
        },
        { additionalProperties: false },
      ),
      meta: meta({
        ...cohortEcho,
        ...monthCoverage,
        limit: Type.Integer({ minimum: 1, maximum: 100 }),
        returned: units,
        vendor_known: vendorKnown,
        filters: Type.Object(
          { min_cost: Type.Union([Type.Number(), Type.Null()]), vendor: nullableText },
          { additionalProperties: false },
        ),
        totals: Type.Object(
          {
            total_cost_amount: Type.Number(),
            total_refunded_amount: Type.Number(),
            total_return_label_cost: Type.Number(),
            sold_units: units,
            returned_units: units,
            return_rate: rate,
          },
          { additionalProperties: false },
        ),
        full_leaderboards: Type.Boolean(),
      }),
    },
    { additionalProperties: false },
  ),
  toolName: "get_return_cost_leaderboard",
});
