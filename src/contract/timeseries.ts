import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import { body, cohortEcho, cohortMonth, figures, monthCoverage, units } from "./meta.ts";
import { COHORT_LINE, SELECTOR_OBJECT_LINE, cohortParameters } from "./parameters.ts";
import { closed } from "./schema.ts";

const row = closed(
  {
    cohort_month: cohortMonth,
    ...figures,
    is_complete: Type.Optional(
      Type.Boolean({
        description: "Whether the window has closed for every order of the month; absent for lifetime.",
      }),
    ),
  },
  { component: "TimeseriesRow" },
);

export const timeseries = defineEndpoint({
  name: "timeseries",
  path: "/api/v1/timeseries",
  scope: "read:reports",
  entitlements: ["api_access"],
  tag: "Return rates",
  summary: "Monthly cohort return rates of a selection",
  description:
    "One row for every order-cohort month of the range that is not left out as incomplete, zeros included.",
  parameters: Type.Object(cohortParameters),
  response: body(closed({ rows: Type.Array(row) }), { ...cohortEcho, ...monthCoverage, returned: units }),
  example: "product_gid=gid://import/Product/700053&start_month=2026-04&end_month=2026-05&window=30d",
  tool: {
    name: "get_timeseries",
    title: "Get monthly return rates",
    listsSelectorObject: true,
    lines: [
      "Returns one row per month: sold_units, returned_units, return_rate (a 0–1 fraction) and is_complete.",
      "Use it for a trend; for the total of the range use get_summary, for reasons and costs get_report.",
      "To see whether a month is final, ask for it with include_incomplete: is_complete is false while its window is open.",
      SELECTOR_OBJECT_LINE,
      COHORT_LINE,
      'Example: {"selector": {"sku": "LAMP-01"}, "start_month": "2025-01", "end_month": "2025-12"}',
    ],
  },
});
