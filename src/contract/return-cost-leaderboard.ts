import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import {
  body,
  cohortEcho,
  excessReturnCost,
  figures,
  leaderboardProduct,
  monthCoverage,
  nullableText,
  soldValue,
  units,
  vendorKnown,
} from "./meta.ts";
import {
  COHORT_LINE,
  fieldsParameter,
  limitParameter,
  monthParameters,
  selectorParameters,
  usedVariantsParameter,
  vendorParameter,
  windowParameters,
} from "./parameters.ts";
import { closed, orNull, spare } from "./schema.ts";

const amounts = {
  total_cost_amount: Type.Number(),
  total_refunded_amount: Type.Number(),
  total_return_label_cost: Type.Number(),
  ...figures,
};

const row = closed(
  {
    sku: Type.String(),
    ...amounts,
    ...spare({
      refunded_units: units,
      estimated_margin_impact: orNull(
        Type.Number({
          description:
            "Returns cost less the unit cost of the units that went back to stock; null when no unit cost is known.",
        }),
      ),
      cogs_coverage: Type.Integer({ minimum: 0, maximum: 100 }),
      ...leaderboardProduct,
      excess_return_cost: excessReturnCost,
    }),
  },
  { component: "ReturnCostLeaderboardRow" },
);

const data = closed(
  {
    rows: Type.Array(row),
    currency_code: Type.String(),
    total_eligible_count: units,
    label_costs_included: Type.Boolean(),
  },
  { component: "ReturnCostLeaderboard" },
);

export const returnCostLeaderboard = defineEndpoint({
  name: "return-cost-leaderboard",
  path: "/api/v1/leaderboards/return-cost",
  scope: "read:dashboard",
  entitlements: ["api_access"],
  tag: "Leaderboards",
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
    ...fieldsParameter("all"),
  }),
  response: body(data, {
    ...cohortEcho,
    ...monthCoverage,
    limit: Type.Integer({ minimum: 1, maximum: 100 }),
    returned: units,
    vendor_known: vendorKnown,
    filters: closed({
      min_cost: orNull(Type.Number({ description: "The requested lowest returns cost." })),
      vendor: nullableText,
    }),
    totals: closed({ ...amounts, ...soldValue }),
    full_leaderboards: Type.Boolean(),
  }),
  example: "start_month=2026-01&end_month=2026-05&window=90d&limit=2",
  tool: {
    name: "get_return_cost_leaderboard",
    title: "Rank SKUs by returns cost",
    lines: [
      "Returns SKUs by highest returns cost (refunds without tax, plus return labels where known) over a range of months.",
      "Use it for where returns cost most; for the highest rates use get_return_rate_leaderboard, for cost per month get_report.",
      "Amounts are in data.currency_code. Default: limit 10 (1 to 100); a row takes some 600 bytes, with fields required 180.",
      "A selector narrows it to its SKUs; take it from list_entities.",
      COHORT_LINE,
      'Example: {"start_month": "2026-01", "end_month": "2026-06", "limit": 10}',
    ],
  },
});
