import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import { cohortEcho, meta, monthCoverage, rate, units } from "./meta.ts";
import { cohortParameters } from "./parameters.ts";

export const summary = defineEndpoint({
  name: "summary",
  path: "/api/v1/summary",
  scope: "read:dashboard",
  entitlements: ["api_access"],
  summary: "Cohort return rate of a selection",
  description:
    "Units sold in a range of order months, units of those same cohorts returned within the window, and their ratio.",
  parameters: Type.Object(cohortParameters),
  response: Type.Object(
    {
      data: Type.Object(
        { sold_units: units, returned_units: units, return_rate: rate, ...monthCoverage },
        { additionalProperties: false },
      ),
      meta: meta(cohortEcho),
    },
    { additionalProperties: false },
  ),
  toolName: "get_summary",
});
