import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import {
  body,
  excessReturnCost,
  figures,
  leaderboardProduct,
  monthCoverage,
  monthText,
  nullableText,
  selectorEcho,
  soldValue,
  units,
  vendorKnown,
} from "./meta.ts";
import {
  fieldsParameter,
  limitParameter,
  selectorParameters,
  usedVariantsParameter,
  vendorParameter,
} from "./parameters.ts";
import { closed, count, orNull, spare } from "./schema.ts";

const row = closed(
  {
    sku: Type.String(),
    ...figures,
    ...spare({ ...leaderboardProduct, excess_return_cost: excessReturnCost }),
  },
  { component: "ReturnRateLeaderboardRow" },
);

const data = closed(
  {
    rows: Type.Array(row),
    total_eligible_count: units,
    min_sold_units: count("Sold units that a SKU needed in order to be ranked."),
  },
  { component: "ReturnRateLeaderboard" },
);

export const returnRateLeaderboard = defineEndpoint({
  name: "return-rate-leaderboard",
  path: "/api/v1/leaderboards/return-rate",
  scope: "read:dashboard",
  entitlements: ["api_access"],
  tag: "Leaderboards",
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
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: "Fewest sold units to list.",
      }),
    ),
    ...vendorParameter,
    ...fieldsParameter("all"),
  }),
  response: body(data, {
    selector: selectorEcho,
    start_month: Type.Optional(monthText),
    end_month: Type.Optional(monthText),
    ...monthCoverage,
    window: Type.Literal("primary"),
    period: Type.Enum(["month", "year"], { description: "The period that was ranked." }),
    limit: Type.Integer({ minimum: 1, maximum: 500 }),
    returned: units,
    vendor: nullableText,
    vendor_known: vendorKnown,
    filters: closed({
      min_return_rate: orNull(Type.Number({ description: "The requested lowest return rate." })),
      min_sold_units: orNull(Type.Integer({ description: "The requested fewest sold units." })),
      vendor: nullableText,
    }),
    totals: closed({ ...figures, ...soldValue }),
    full_leaderboards: Type.Boolean(),
  }),
  example: "period=month&limit=2",
  tool: {
    name: "get_return_rate_leaderboard",
    title: "Rank SKUs by return rate",
    lines: [
      "Returns SKUs by highest return rate over the latest complete month or year, in the workspace's primary window.",
      "Use it to find problem SKUs: month shows a sudden one such as a bad batch, year the lasting ones. For cost use get_return_cost_leaderboard.",
      "SKUs with few sales are left out (data.min_sold_units). Default: period year, limit 10 (1 to 500); the plan may show fewer.",
      "A row takes some 450 bytes, with fields required 80. Months are order cohorts in UTC; months_included 0: no month is complete yet. A selector narrows it to its SKUs; take it from list_entities.",
      'Example: {"period": "month", "limit": 10, "min_return_rate": 0.2}',
    ],
  },
});
