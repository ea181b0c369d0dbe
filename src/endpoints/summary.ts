import { jsonAnswer, type Answer } from "../contract/endpoint.ts";
import type { EndpointCall } from "./call.ts";
import type { summary as contract } from "../contract/summary.ts";
import { sumTotals } from "../metrics/totals.ts";
import { cohortMonths, coverageOf, moneyOf, rateFigures, presentSoldValue } from "./cohort-months.ts";
import { loadCohortMonths } from "./selection.ts";

/** Cohort return rate of a selection: the sum of its cohort months (M6, M7). */
export async function summary(call: EndpointCall<typeof contract>): Promise<Answer> {
  const { workspace } = call;
  const { query, months, echo } = await loadCohortMonths(call);
  const totals = sumTotals(cohortMonths(query.range, months).map((month) => month.totals));
  const data = {
    ...rateFigures(totals),
    ...coverageOf(query.range),
    currency_code: workspace.currencyCode,
    ...presentSoldValue(totals, moneyOf(workspace)),
  };
  return jsonAnswer(data, echo);
}
