import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import {
  leaderboardProduct,
  meta,
  monthCoverage,
  monthText,
  nullableText,
  rate,
  selectorEcho,
  units,
  vendorKnown,
} from "./meta.ts";
import { limitParameter, selectorParameters, usedVariantsParameter, vendorParameter } from "./parameters.ts";

const MAXIMUM_COUNT = Number.MAX_SAFE_INTEGER;

export const returnRateLeaderboard = defineEndpoint({
  name: "return-rate-leaderboard",
  path: "/api/v1/leaderboards/return-rate",
  scope: "read:dashboard",
  entitlements: ["api_access"],
  summary: "SKUs by highest return rate",
  description:
    "Ranks SKUs over the latest complete order month or year, in the workspace's primary window, on one page.",
  parameters: Type.Object({
    ...selectorParameters,
    ...usedVariantsParameter,
    period: Type.Optional(
      Type.Enum(["month", "year"], {
        default: "year",
        description: "The latest complete order month, or the twelve up to it.",
      }),
    ),
    ...limitParameter(500, 10),
    min_return_rate: Type.Optional(
      Type.Number({ minimum: 0, maximum: 1, description: "Lowest return rate to list, a 0–1 fraction." }),
    ),
    min_sold_units: Type.Optional(
      Type.Integer({ minimum: 0, maximum: MAXIMUM_COUNT, description: "Fewest sold units to list." }),
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
                sold_units: units,
                returned_units: units,
                return_rate: rate,
                ...leaderboardProduct,
              },
              { additionalProperties: false },
            ),
          ),
          total_eligible_count: units,
          min_sold_units: units,
        },
        { additionalProperties: false },
      ),
      meta: meta({
        selector: selectorEcho,
        start_month: Type.Optional(monthText),
        end_month: Type.Optional(monthText),
        ...monthCoverage,
        window: Type.Literal("primary"),
        period: Type.Enum(["month", "year"]),
        limit: Type.Integer({ minimum: 1, maximum: 500 }),
        returned: units,
        vendor: nullableText,
        vendor_known: vendorKnown,
        filters: Type.Object(
          {
            min_return_rate: Type.Union([Type.Number(), Type.Null()]),
            min_sold_units: Type.Union([Type.Integer(), Type.Null()]),
            vendor: nullableText,
          },
          { additionalProperties: false },
        ),
        totals: Type.Object(
          { sold_units: units, returned_units: units, return_rate: rate },
          { additionalProperties: false },
        ),
        full_leaderboards: Type.Boolean(),
      }),
    },
    { additionalProperties: false },
  ),
  toolName: "get_return_rate_leaderboard",
});
