import { jsonAnswer, type Answer } from "../contract/endpoint.ts";
import type { EndpointCall } from "./call.ts";
import type { timeseries as contract } from "../contract/timeseries.ts";
import { loadCohort } from "../store/queries/cohort.ts";
import { cohortMonths, coverageOf, rangeEcho, rateFigures, requestRange } from "./cohort-months.ts";
import type { CohortMonth } from "./cohort-months.ts";
import { loadOrderPeriods, presentPlace, type PeriodFigures } from "./order-periods.ts";
import { requestSelection, requireFound, selectorEcho } from "./selection.ts";

/** Cohort return rates of a selection: one row per month, week or day that is not left out (M5, M26). */
export async function timeseries(call: EndpointCall<typeof contract>): Promise<Answer> {
  const { database, workspace, input } = call;
  const selection = requestSelection(input, input.vendor ?? null);
  const range = requestRange(workspace, input);
  const loaded = await loadCohort(database, workspace, { selection, ...range });
  await requireFound({ database, workspace }, selection, loaded);

  const { interval = "month" } = input;
  const periods: readonly (CohortMonth | PeriodFigures)[] =
    interval === "month"
      ? cohortMonths(range, loaded.months)
      : await loadOrderPeriods(database, workspace, { selection, range, interval });
  const rows = periods.map(presentRow);
  return jsonAnswer(
    { rows },
    {
      selector: selectorEcho(selection, loaded.skus),
      ...rangeEcho(input),
      vendor: selection.vendor,
      ...coverageOf(range),
      returned: rows.length,
    },
  );
}

function presentRow({ isComplete, totals, ...place }: CohortMonth | PeriodFigures) {
  return {
    ...presentPlace(place),
    ...rateFigures(totals),
    ...(isComplete === null ? {} : { is_complete: isComplete }),
  };
}
