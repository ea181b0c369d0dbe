import Type from "typebox";
import { cohortMonth, rateInterval, units } from "./meta.ts";
import { closed, count, orNull } from "./schema.ts";

const ageDays = count("Days after the order, this day included.");
const curveFigures = {
  returned_units: orNull(count("Units that came back at this age or younger.")),
  return_rate: orNull(Type.Number({ minimum: 0, maximum: 1, description: "returned_units ÷ sold_units." })),
  return_rate_interval: rateInterval,
};

/** The return curve of one cohort month. */
export const returnCurve = closed(
  {
    cohort_month: cohortMonth,
    sold_units: units,
    observed_days: count("Whole days for which every order of the month has been observed."),
    ages: Type.Array(
      closed(
        {
          age_days: ageDays,
          ...curveFigures,
          is_complete: Type.Boolean({
            description: "Whether every order of the month has reached this age.",
          }),
        },
        { component: "ReportCurveAge" },
      ),
      {
        description:
          "Ages of 7, 14, 30, 60, 90, 180 and 365 days. Figures of an age that is not complete are null; with " +
          "include_incomplete they are those so far, once the orders of the month's first day have reached it.",
      },
    ),
  },
  { component: "ReportReturnCurve" },
);

/** One age of the return curve of all months together. */
export const pooledCurveAge = closed(
  {
    age_days: ageDays,
    months_included: count("Months of the range that are complete at this age; 0 = the figures are null."),
    sold_units: units,
    ...curveFigures,
  },
  { component: "ReportPooledCurveAge" },
);
