import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import { figure } from "../../figure.ts";
import type { ApiAnswer } from "../../figure.ts";
import { count, days, money, month, percent } from "../../format.ts";
import type { BodyOf, PageCall } from "../../page.ts";
import { rateChange } from "../delta.ts";

type Report = ApiAnswer<BodyOf<"report">>;

/** The four figures that a report begins with, each with what it is made of. */
export function summaryFigures(report: Report, call: PageCall): Html {
  const amount = money(call.currencyCode);
  const included = report.body.data.label_costs_included;
  return html`<dl class="figures">
    ${tile("Return rate", figure(report, "summary/return_rate", percent), [rateParts(report), rateChange(report)])}
    ${tile("Returns cost", figure(report, "summary/returns_cost", amount), [
      included
        ? html`${figure(report, "summary/refunded_amount", amount)} refunds,
          ${figure(report, "summary/return_label_cost", amount)} labels`
        : html`refunds only: no label source is connected and up to date`,
    ])}
    ${tile("Cost per returned unit", figure(report, "summary/cost_per_returned_unit", amount, "nothing came back"), [html`${figure(report, "summary/returned_units", count)} units came back`])}
    ${tile("Median days to return", figure(report, "summary/median_days_to_return", days, "nothing came back"), [html`from order to return`])}
  </dl>`;
}

function tile(label: string, value: Html, notes: readonly Html[]): Html {
  return html`<div>
    <dt>${label}</dt>
    <dd><strong>${value}</strong>${notes.map((note) => html`<span class="note">${note}</span>`)}</dd>
  </div>`;
}

function rateParts(report: Report): Html {
  if (report.body.data.summary.return_rate_interval === null) return html`nothing was sold`;
  const low = figure(report, "summary/return_rate_interval/low", percent);
  const high = figure(report, "summary/return_rate_interval/high", percent);
  return html`likely ${low} to ${high} · ${figure(report, "summary/returned_units", count)} of
  ${figure(report, "summary/sold_units", count)} units`;
}

/** Which months the summary counts, and which it leaves out since they can still rise. */
export function coverage(report: Report, includeHref: string): Html | null {
  const { excluded_months, months_included } = report.body.data.summary;
  const isOpenIncluded = report.body.meta.include_incomplete;
  if (months_included === 0) {
    return html`<p class="banner">
      No month of this range is complete, so nothing is counted: zeros here are no results.
      <a href="${includeHref}">Include open months</a>
    </p>`;
  }
  if (isOpenIncluded)
    return html`<p class="banner">Open months are included: their rates can still rise.</p>`;
  if (excluded_months.length === 0) return null;
  const names = excluded_months.map(
    (_, index) => html`${index > 0 && ", "}${figure(report, `summary/excluded_months/${index}`, month)}`,
  );
  return html`<p class="banner">
    ${names} ${excluded_months.length === 1 ? "is" : "are"} still open and left out.
    <a href="${includeHref}">Include open months</a>
  </p>`;
}
