import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { count, days, money, month, percent } from "../format.ts";
import { monthsOf } from "../months.ts";
import { definePage } from "../page.ts";
import type { BodyOf, PageCall, View } from "../page.ts";
import { rateChange } from "../views/delta.ts";
import { ranking } from "../views/ranking.ts";

type Report = ApiAnswer<BodyOf<"report">>;
type OverviewData = {
  report: Report;
  byRate: ApiAnswer<BodyOf<"return-rate-leaderboard">>;
  byCost: ApiAnswer<BodyOf<"return-cost-leaderboard">>;
  alerts: ApiAnswer<BodyOf<"alerts">>;
} | null;

/** The newest twelve complete months at a glance: how much comes back, what it costs, what is new, and why. */
export const overview = definePage<OverviewData>({
  name: "overview",
  path: "",
  role: "viewer",
  link: "Overview",
  data: async (call) => {
    const { range, year } = await monthsOf(call, "worst_by_rate");
    if (range === null || year === null) return null;
    const [report, byCost, alerts] = await Promise.all([
      call.read("report", "report", range),
      call.read("worst_by_cost", "return-cost-leaderboard", { ...range, limit: 5 }),
      call.read("alerts", "alerts", { limit: 5 }),
    ]);
    return { report, byRate: year, byCost, alerts };
  },
  view: (data, call) => (data === null ? emptyView() : fullView(data, call)),
});

function emptyView(): View {
  return {
    title: "Overview",
    body: html`<h1>No month is complete yet</h1>
      <p>
        A month counts once every order of it has had its whole return window. Until then, a rate would look
        better than it is.
      </p>`,
  };
}

function fullView({ report, byRate, byCost, alerts }: Exclude<OverviewData, null>, call: PageCall): View {
  const { data } = report.body;
  const amount = money(call.currencyCode);
  return {
    title: "Overview",
    body: html`<h1>Overview</h1>
      <p class="lead">
        ${figure(report, "meta/start_month", month)} to ${figure(report, "meta/end_month", month)}, by month
        of order, returns within ${data.window_days ?? 0} days
      </p>
      <dl class="figures">
        ${tile("Return rate", figure(report, "summary/return_rate", percent), interval(report), rateChange(report))}
        ${tile("Returns cost", figure(report, "summary/returns_cost", amount), html`refunds and return labels`)}
        ${tile("Cost per returned unit", figure(report, "summary/cost_per_returned_unit", amount, "nothing came back"), html`${figure(report, "summary/returned_units", count)} units came back`)}
        ${tile("Median days to return", figure(report, "summary/median_days_to_return", days, "nothing came back"), html`from order to return`)}
      </dl>
      <section>
        <h2>Worth a look</h2>
        <div class="columns">
          <div>
            <h3>Highest return rates</h3>
            ${ranking(rateRows(byRate, call))}
          </div>
          <div>
            <h3>Highest returns cost</h3>
            ${ranking(costRows(byCost, call))}
          </div>
        </div>
      </section>
      ${alerts.body.data.length}`,
  };
}

function tile(label: string, value: Html, note: Html, second: Html | null = null): Html {
  return html`<div>
    <dt>${label}</dt>
    <dd><strong>${value}</strong><span>${note}</span>${second !== null && html`<span>${second}</span>`}</dd>
  </div>`;
}

function interval(report: Report): Html {
  return html`between ${figure(report, "summary/return_rate_interval/low", percent, "nothing sold")} and
  ${figure(report, "summary/return_rate_interval/high", percent, "nothing sold")}`;
}

function rateRows(answer: ApiAnswer<BodyOf<"return-rate-leaderboard">>, call: PageCall) {
  return answer.body.data.rows.map(({ sku, product_title }, index) => ({
    label: product_title ?? sku,
    detail: sku,
    href: call.href("/report", { sku }),
    value: figure(answer, `rows/${index}/return_rate`, percent),
    note: html`${figure(answer, `rows/${index}/returned_units`, count)} of
    ${figure(answer, `rows/${index}/sold_units`, count)} came back`,
  }));
}

function costRows(answer: ApiAnswer<BodyOf<"return-cost-leaderboard">>, call: PageCall) {
  return answer.body.data.rows.map(({ sku, product_title }, index) => ({
    label: product_title ?? sku,
    detail: sku,
    href: call.href("/report", { sku }),
    value: figure(answer, `rows/${index}/total_cost_amount`, money(call.currencyCode)),
    note: html`${figure(answer, `rows/${index}/returned_units`, count)} units came back`,
  }));
}
