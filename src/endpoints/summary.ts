import { jsonAnswer, type Answer } from "../contract/endpoint.ts";
import type { EndpointCall } from "./call.ts";
import type { summary as contract } from "../contract/summary.ts";
import { currencyExponent } from "../metrics/money.ts";
import { sumTotals } from "../metrics/totals.ts";
import { loadCohort } from "../store/queries/cohort.ts";
import {
  cohortMonths,
  coverageOf,
  rangeEcho,
  rateFigures,
  requestRange,
  presentSoldValue,
} from "./cohort-months.ts";
import { requestSelection, requireFound, selectorEcho } from "./selection.ts";

/** Cohort return rate of a selection: the sum of its cohort months (M6, M7). */
export async function summary(call: EndpointCall<typeof contract>): Promise<Answer> {
  const { database, workspace, input } = call;
  const selection = requestSelection(input, input.vendor ?? null);
  const range = requestRange(workspace, input);
  const loaded = await loadCohort(database, workspace, { selection, ...range });
  await requireFound({ database, workspace }, selection, loaded);

  const totals = sumTotals(cohortMonths(range, loaded.months).map((month) => month.totals));
  return jsonAnswer(
    {
      ...rateFigures(totals),
      ...coverageOf(range),
      currency_code: workspace.currencyCode,
      ...presentSoldValue(totals, currencyExponent(workspace.currencyCode)),
    },
    {
      selector: selectorEcho(selection, loaded.skus),
      ...rangeEcho(input),
      vendor: selection.vendor,
    },
  );
}
