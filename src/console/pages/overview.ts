import { closeSetup } from "../../control/setup.ts";
import type { Setup } from "../../control/setup.ts";
import type { Action } from "../action.ts";
import { reasonsChart } from "../charts/reasons.ts";
import { trendChart } from "../charts/trend.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { count, money, month, percent } from "../format.ts";
import { newestMonths, withOpenMonths } from "../months.ts";
import { definePage } from "../page.ts";
import type { BodyOf, PageCall, View } from "../page.ts";
import { alertLine } from "../views/alert.ts";
import type { Alerts } from "../views/alert.ts";
import { csvHref } from "../views/csv-link.ts";
import { noCompleteMonth } from "../views/no-months.ts";
import { setupList } from "../views/setup-list.ts";
import { ranking } from "../views/ranking.ts";
import { summaryFigures } from "../views/report/summary.ts";

/** Alerts shown; the rest are a link away. */
const MOST_ALERTS = 3;
/** Of these the early warnings come first. */
const ALERTS_READ = 20;

type Report = ApiAnswer<BodyOf<"report">>;
type OverviewData = {
  report: Report;
  /** The same months and the open ones after them, which are in no other figure. */
  trend: Report;
  byRate: ApiAnswer<BodyOf<"return-rate-leaderboard">>;
  byCost: ApiAnswer<BodyOf<"return-cost-leaderboard">>;
  alerts: Alerts;
};
/** null = no month is complete yet. */
type PageData = { shown: OverviewData | null; setup: Setup | null };

/** The newest twelve complete months at a glance: how much comes back, what it costs, what is new, and why. */
export const overview = definePage<PageData>({
  name: "overview",
  path: "",
  right: "figures.read",
  link: "Overview",
  takes: [],
  data: async (call) => {
    const [shown, setup] = await Promise.all([readOverview(call), call.setup()]);
    return { shown, setup };
  },
  view: ({ shown, setup }, call) => {
    const list = setupList(setup, call);
    if (shown !== null) return fullView(shown, list, call);
    return { title: "Overview", body: html`<h1>Overview</h1>${noCompleteMonth(call)}${list}` };
  },
});

export const setupActions: readonly Action[] = [
  {
    name: "setup.close",
    path: "/setup/close",
    right: "setup.close",
    page: overview,
    perform: async ({ href, acting }) => {
      const { database, actor, workspace } = await acting();
      await closeSetup(database, actor, workspace);
      return { href: href(""), done: "The list is hidden. Each of its steps is in the settings." };
    },
  },
];

async function readOverview(call: PageCall): Promise<OverviewData | null> {
  const { range, year } = await newestMonths(call, "worst_by_rate");
  if (range === null) return null;
  const [report, trend, byCost, alerts] = await Promise.all([
    call.read("report", "report", range),
    call.read("trend", "report", { ...withOpenMonths(range, year), reportSection: "trend" }),
    call.read("worst_by_cost", "return-cost-leaderboard", { ...range, limit: 5 }),
    call.read("alerts", "alerts", { category: "return_rate_watchlist", limit: ALERTS_READ }),
  ]);
  return { report, trend, byRate: year, byCost, alerts };
}

function fullView(
  { report, trend, byRate, byCost, alerts }: OverviewData,
  list: Html | null,
  call: PageCall,
): View {
  const { start_month, end_month } = report.body.meta;
  const range = { start_month, end_month };
  return {
    title: "Overview",
    body: html`<h1>Overview</h1>
<p class="lead">Orders of ${figure(report, "meta/start_month", month)} to ${figure(report, "meta/end_month", month)}, the newest 12 complete months. A unit counts as returned when it came back within ${call.primaryWindowDays} days of its order.</p>
${summaryFigures(report, call)}
${trendChart({ answer: trend, exportHref: csvHref(call, range), fewUnits: call.minSoldUnits })}
<section class="look"><h2>Worth a look</h2>
${alertList(alerts, call)}
<div class="columns">
<div><h3>Highest return rates</h3>${ranking(rateRows(byRate, call))}<p><a href="${call.href("/leaderboards/return-rate")}">All by return rate</a></p></div>
<div><h3>Highest returns cost</h3>${ranking(costRows(byCost, call))}<p><a href="${call.href("/leaderboards/return-cost")}">All by returns cost</a></p></div>
</div></section>
<section><h2>Why it comes back</h2>${reasonsChart({ answer: report, limit: 6, moreHref: call.href("/report", { reportSection: "reasons" }) })}</section>
${list}`,
  };
}

/** Early warnings first, since something can still be done about them, then months that were out of line. */
function alertList(alerts: Alerts, call: PageCall): Html {
  const items = alerts.body.data.map((alert, index) => ({
    index,
    isEarly: alert.metadata?.["kind"] === "early_warning",
  }));
  if (items.length === 0) {
    return html`<p>No alert yet: no early warning, and no watched product or SKU with a month out of line.</p>`;
  }
  const ordered = items
    .toSorted((one, other) => Number(other.isEarly) - Number(one.isEarly))
    .slice(0, MOST_ALERTS);
  return html`<div class="alerts">${ordered.map(({ index }) => alertLine(alerts, index, call))}</div>
    <p><a href="${call.href("/alerts")}">All alerts</a></p>`;
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
