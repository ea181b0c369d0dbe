import { jsonAnswer } from "../contract/endpoint.ts";
import type { Answer } from "../contract/endpoint.ts";
import type { EndpointCall } from "./call.ts";
import type { timeseries as contract } from "../contract/timeseries.ts";
import { monthToDate } from "../lib/month.ts";
import { loadCohort } from "../store/queries/cohort.ts";
import { cohortMonths, coverageOf, rangeEcho, rateFigures, requestRange } from "./cohort-months.ts";
import type { CohortMonth } from "./cohort-months.ts";
import { requestSelection, requireFound, selectorEcho } from "./selection.ts";

/** Monthly cohort return rates of a selection: one row per month that is not left out (M5). */
export async function timeseries(call: EndpointCall<typeof contract>): Promise<Answer> {
  const { database, workspace, input } = call;
  const selection = requestSelection(input, input.vendor ?? null);
  const range = requestRange(workspace, input);
  const loaded = await loadCohort(database, workspace, { selection, ...range });
  requireFound(selection, loaded);

  const rows = cohortMonths(range, loaded.months).map(presentMonth);
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

function presentMonth({ month, isComplete, totals }: CohortMonth) {
  return {
    cohort_month: monthToDate(month),
    ...rateFigures(totals),
    ...(isComplete === null ? {} : { is_complete: isComplete }),
  };
}
