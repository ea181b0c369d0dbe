import { html, type Html } from "../../../lib/html.ts";
import { differ, intervalFigure, placeName, rateFigure, stepOf, type Rate } from "../../charts/rates.ts";
import { figure, type ApiAnswer } from "../../figure.ts";
import { count, units } from "../../format.ts";
import type { BodyOf } from "../../page.ts";

type Report = ApiAnswer<BodyOf<"report">>;

/** A month or week whose interval reaches beyond this many times the usual rate is not called usual. */
const WIDE = 2;

/**
 * Whether the newest complete month, week or day of a trend is usual, against the months before it (`readUsual`), and what that rests on.
 * Null = there is none. `fewUnits`: the workspace's `min_sold_units`.
 */
export function verdict(trend: Report, usual: Report | null, fewUnits: number): Html | null {
  if (usual === null) return null;
  const rows = trend.body.data.trend ?? [];
  const index = rows.findLastIndex(({ is_complete: isComplete }) => isComplete === true);
  const path = `trend/${index}`;
  const before = usual.body.data.summary;
  const [word, why] = judge(rows[index] as Rate, before, fewUnits);
  const usually =
    before.sold_units > 0 ? html`, usually ${rateFigure(usual, "summary")}` : ", and nothing was sold before";
  return html`<p class="calm">
    <strong>${word}:</strong> ${rateFigure(trend, path)} of ${placeName(trend, path)} came back
    (${figure(trend, `${path}/returned_units`, count)} of ${figure(trend, `${path}/sold_units`, units)})${usually}.
    The <a href="/docs/console#a-likely-range">likely range</a> of the ${stepOf(trend)} is
    ${intervalFigure(trend, `${path}/return_rate_interval`)}: ${why}.
  </p>`;
}

/** In words, and what that rests on: a verdict needs units enough, and "usual" a range that is not wide. */
function judge(month: Rate, usual: Rate, fewUnits: number): readonly [word: string, why: string] {
  const high = month.return_rate_interval?.high ?? 1;
  if (Math.min(month.sold_units, usual.sold_units) < fewUnits)
    return ["Too few units for a verdict", `fewer than ${fewUnits} units say little`];
  if (differ(month, usual)) {
    const isMore = month.return_rate > usual.return_rate;
    return [
      isMore ? "More than usual" : "Less than usual",
      "chance alone would hardly take it that far from the usual rate",
    ];
  }
  if (high > WIDE * usual.return_rate)
    return ["No verdict", "so wide that the rate could be usual or much higher"];
  return ["Usual", "chance alone can explain this difference"];
}
