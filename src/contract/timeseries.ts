import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import { cohortEcho, meta, monthCoverage, rate, units } from "./meta.ts";
import { cohortParameters } from "./parameters.ts";

export const timeseries = defineEndpoint({
  name: "timeseries",
  path: "/api/v1/timeseries",
  scope: "read:reports",
  entitlements: ["api_access"],
  summary: "Monthly cohort return rates of a selection",
  description:
    "One row for every order-cohort month of the range that is not left out as incomplete, zeros included.",
  parameters: Type.Object(cohortParameters),
  response: Type.Object(
    {
      data: Type.Object(
        {
          rows: Type.Array(
            Type.Object(
              {
                cohort_month: Type.String({ pattern: "^\\d{4}-\\d{2}-01$" }),
                sold_units: units,
                returned_units: units,
                return_rate: rate,
                is_complete: Type.Optional(Type.Boolean()),
              },
              { additionalProperties: false },
            ),
          ),
        },
        { additionalProperties: false },
      ),
      meta: meta({ ...cohortEcho, ...monthCoverage, returned: units }),
    },
    { additionalProperties: false },
  ),
  toolName: "get_timeseries",
});
