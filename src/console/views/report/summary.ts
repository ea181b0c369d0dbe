import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import { intervalFigure, rateFigure } from "../../charts/rates.ts";
import { figure } from "../../figure.ts";
import type { ApiAnswer, Format } from "../../figure.ts";
import { count, days, keyMoney, money, percent, units, wholePercent } from "../../format.ts";
import type { BodyOf, PageCall } from "../../page.ts";
import { rateChange } from "../delta.ts";

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
