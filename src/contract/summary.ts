import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import { body, cohortEcho, figures, monthCoverage, soldValue } from "./meta.ts";
import { COHORT_LINE, SELECTOR_LINE, cohortParameters } from "./parameters.ts";
import { closed } from "./schema.ts";

export const summary = defineEndpoint({
  name: "summary",
  path: "/api/v1/summary",
  scope: "read:dashboard",
  entitlements: ["api_access"],
  tag: "Return rates",
  summary: "Cohort return rate of a selection",
  description:
    "Units sold in a range of order months, units of those same cohorts returned within the window, and their ratio; with the value of the units sold and the share refunded.",
  parameters: Type.Object(cohortParameters),
  response: body(
    closed(
      { ...figures, ...monthCoverage, currency_code: Type.String(), ...soldValue },
      { component: "ReturnRate" },
    ),
    cohortEcho,
  ),
  example: "sku=LMP53-BRASS&start_month=2026-01&end_month=2026-05&window=30d",
  tool: {
    name: "get_summary",
    title: "Get a return rate",
    lines: [
      "Returns sold_units, returned_units and return_rate (a 0–1 fraction) of one selection over a range of months; refund_share is the part of the money (sold_amount) paid back.",
      "Use it for a single figure, or one call for each of the things to compare; by month use get_timeseries, for reasons and costs get_report.",
      SELECTOR_LINE,
      COHORT_LINE,
      "A product or SKU counts its new variants; include_used_variants adds the used ones.",
      'Example: {"sku": "LAMP-01", "start_month": "2026-01", "end_month": "2026-03", "window": "90d"}',
    ],
  },
});
