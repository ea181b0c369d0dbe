import type { Html } from "../../../lib/html.ts";
import { html } from "../../../lib/html.ts";
import { intervalFigure, rateFigure } from "../../charts/rates.ts";
import type { ApiAnswer, Format } from "../../figure.ts";
import { figure, valueAt } from "../../figure.ts";
import {
  count,
  days,
  keyMoney,
  money,
  percent,
  units,
  wholePercent,
  month,
  points,
  tenthsOfPoint,
} from "../../format.ts";
import type { BodyOf, PageCall } from "../../page.ts";
import { countsOpenMonths } from "../coverage.ts";

type Report = ApiAnswer<BodyOf<"report">>;

/** The four figures that a report begins with, each with what it is made of. */
export function summaryFigures(report: Report, call: PageCall): Html {
  const amount = money(call.currencyCode);
  const key = keyAmount(call.currencyCode);
  const included = report.body.data.label_costs_included;
  return html`<dl class="figures">
    ${tile("Return rate", rateFigure(report, "summary"), [rateParts(report), rateOutlook(report), rateChange(report)])}
    ${tile("Returns cost", figure(report, "summary/returns_cost", key), [
      included
        ? html`${figure(report, "summary/refunded_amount", amount)} refunds,
          ${figure(report, "summary/return_label_cost", amount)} labels`
        : html`refunds only: no label source is connected and up to date`,
    ])}
    ${tile("Cost per returned unit", figure(report, "summary/cost_per_returned_unit", key, "nothing came back"), [html`${figure(report, "summary/returned_units", units)} came back`])}
    ${tile("Median days to return", figure(report, "summary/median_days_to_return", days, "nothing came back"), [html`from order to return`])}
  </dl>`;
}

/** Longer amounts are set smaller. */
const LONG = 12;

function keyAmount(currencyCode: string): Format<number> {
  const amount = keyMoney(currencyCode);
  return (value) => {
    const text = amount(value);
    return text.length > LONG ? html`<span class="long">${text}</span>` : text;
  };
}

function tile(label: string, value: Html, notes: readonly (Html | null)[]): Html {
  return html`<div>
    <dt>${label}</dt>
    <dd><strong>${value}</strong>${notes.map((note) => note !== null && html`<span class="note">${note}</span>`)}</dd>
  </div>`;
}

/** Null where nothing was sold, which the rate itself says. */
function rateParts(report: Report): Html | null {
  if (report.body.data.summary.return_rate_interval === null) return null;
  return html`likely ${intervalFigure(report, "summary/return_rate_interval")} ·
  ${figure(report, "summary/returned_units", count)} of ${figure(report, "summary/sold_units", units)}`;
}

/** M18: where the rate is heading while months of it are open. It is in no figure. */
function rateOutlook(report: Report): Html | null {
  if (report.body.data.summary.outlook === null) return null;
  const path = "summary/outlook";
  return html`expected to end at ${figure(report, `${path}/return_rate`, percent)}: from
  ${figure(report, `${path}/low`, percent)} to ${figure(report, `${path}/high`, percent)},
  ${figure(report, `${path}/level`, wholePercent)} of the time;
  ${figure(report, `${path}/share_observed`, percent)} of it seen by now`;
}

/**
 * How the summary's rate differs from which months before, in words and with a sign, never by colour alone; null = the
 * answer is of one section, which has no comparison.
 */
function rateChange(report: ApiAnswer): Html | null {
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
