import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import {
  body,
  cohortEcho,
  cohortMonth,
  figures,
  intervalEcho,
  monthCoverage,
  periodStart,
  units,
} from "./meta.ts";
import { COHORT_LINE, SELECTOR_OBJECT_LINE, cohortParameters, intervalParameter } from "./parameters.ts";
import { closed } from "./schema.ts";

const row = closed(
  {
    cohort_month: cohortMonth,
    period_start: periodStart,
    ...figures,
    is_complete: Type.Optional(
      Type.Boolean({
        description: "Whether the window has closed for every order of the row; absent for lifetime.",
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
  summary: "Cohort return rates of a selection by month, week or day",
  description:
    "One row for every order-cohort month of the range that is not left out as incomplete, zeros included; with interval for every week or day.",
  parameters: Type.Object({ ...cohortParameters, ...intervalParameter }),
  response: body(closed({ rows: Type.Array(row) }), {
    ...cohortEcho,
    ...intervalEcho,
    ...monthCoverage,
    returned: units,
  }),
  example: "product_gid=gid://import/Product/700053&start_month=2026-04&end_month=2026-05&window=30d",
  tool: {
    name: "get_timeseries",
    title: "Get return rates by month, week or day",
    listsSelectorObject: true,
    lines: [
      "Returns one row per month: sold_units, returned_units, return_rate (a 0–1 fraction) and is_complete. interval=week or day: per week or day of order, by period_start.",
      "Use it for a trend, or with interval=week to see whether a new batch improved; for the total use get_summary, for reasons, money and intervals get_report.",
      "To see whether a row is final, ask for it with include_incomplete: is_complete is false while its window is open.",
      SELECTOR_OBJECT_LINE,
      COHORT_LINE,
      'Example: {"selector": {"sku": "LAMP-01"}, "start_month": "2025-01", "end_month": "2025-12"}',
    ],
  },
});
