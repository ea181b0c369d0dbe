import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure, valueAt } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { count, month, percent, points, tenthsOfPoint } from "../format.ts";
import { countsOpenMonths } from "./coverage.ts";

/**
 * How the summary's rate differs from which months before, in words and with a sign, never by colour alone; null = the
 * answer is of one section, which has no comparison.
 */
export function rateChange(report: ApiAnswer): Html | null {
  const comparison = valueAt(report, "comparison");
  if (comparison === undefined) return null;
  // Months that can still rise would look like good news.
  if (countsOpenMonths(report, "summary")) return notCompared("open months can still rise");
  if (valueAt(report, "meta/window") === "lifetime")
    return notCompared("newer orders have had less time to come back");
  if (comparison === null) return html`<span class="delta">no complete months before to compare with</span>`;
  const change = valueAt(report, "comparison/return_rate_change");
  if (typeof change !== "number")
    return html`<span class="delta">not compared with ${beforeMonths(report)}: nothing was sold in one of the two</span>`;
  // By what is shown: a change that rounds to nothing has no direction.
  const shown = tenthsOfPoint(change);
  const kind = shown > 0 ? "up" : shown < 0 ? "down" : "same";
  const word = { up: "▲", down: "▼", same: "＝" }[kind];
  return html`<span class="delta ${kind}"
      ><span aria-hidden="true">${word}</span>
      ${figure(report, "comparison/return_rate_change", points)}</span
    >
    from ${figure(report, "comparison/return_rate", percent)} in ${before(report)}`;
}

function notCompared(reason: string): Html {
  return html`<span class="delta">not compared with earlier months: ${reason}</span>`;
}

/** Which months those were. */
function beforeMonths(report: ApiAnswer): Html {
  const [first, last] = ["comparison/start_month", "comparison/end_month"] as const;
  const end = figure(report, last, month);
  const isOne = valueAt(report, first) === valueAt(report, last);
  return isOne ? end : html`${figure(report, first, month)} to ${end}`;
}

/** The same with what their rate is made of. */
function before(report: ApiAnswer): Html {
  return html`${beforeMonths(report)}:
  ${figure(report, "comparison/returned_units", count)} of ${figure(report, "comparison/sold_units", count)}
  units`;
}
