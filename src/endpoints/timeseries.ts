import { jsonAnswer, type Answer } from "../contract/endpoint.ts";
import type { EndpointCall } from "./call.ts";
import type { timeseries as contract } from "../contract/timeseries.ts";
import { cohortMonths, coverageOf, rateFigures, type CohortMonth } from "./cohort-months.ts";
import { loadOrderPeriods, presentPlace, type PeriodFigures } from "./order-periods.ts";
import { loadCohortMonths } from "./selection.ts";

/** Cohort return rates of a selection: one row per month, week or day that is not left out (M5, M26). */
export async function timeseries(call: EndpointCall<typeof contract>): Promise<Answer> {
  const { query, months, echo } = await loadCohortMonths(call);
  const { interval = "month" } = call.input;
  const periods: readonly (CohortMonth | PeriodFigures)[] =
    interval === "month" ? cohortMonths(query.range, months) : await loadOrderPeriods(query, interval);
  const rows = periods.map(presentRow);
  return jsonAnswer({ rows }, { ...echo, ...coverageOf(query.range), returned: rows.length });
}

function presentRow({ isComplete, totals, ...place }: CohortMonth | PeriodFigures) {
  return {
    ...presentPlace(place),
    ...rateFigures(totals),
    ...(isComplete === null ? {} : { is_complete: isComplete }),
  };
}
