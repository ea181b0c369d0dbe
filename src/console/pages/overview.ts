import { readFigures } from "../../actions/right.ts";
import { SOURCES_PATH } from "../../actions/sources/paths.ts";
import type { Setup } from "../../actions/workspace/setup.ts";
import { closeSetup } from "../../actions/workspace/setup.ts";
import type { Html } from "../../lib/html.ts";
import { html } from "../../lib/html.ts";
import { formFor, formOf } from "../action-form.ts";
import { reasonsChart } from "../charts/reasons.ts";
import { trendChart } from "../charts/trend.ts";
import type { ApiAnswer } from "../figure.ts";
import { figure } from "../figure.ts";
import { count, money, month, percent } from "../format.ts";
import { newestMonths, withOpenMonths } from "../months.ts";
import type { BodyOf, PageCall, View } from "../page.ts";
import { definePage } from "../page.ts";
import type { Alerts } from "../views/alert.ts";
import { alertLine } from "../views/alert.ts";
import { csvHref } from "../views/csv-link.ts";
import { noCompleteMonth } from "../views/no-months.ts";
import { summaryFigures } from "../views/report/summary.ts";

/** Alerts shown; the rest are a link away. */
const MOST_ALERTS = 3;
/** Of these the early warnings come first. */
const ALERTS_READ = 20;
const SETUP_PATH = "/setup/close";

/** Where each step is done, and what it is for. */
const STEPS: Readonly<Record<keyof Setup, { text: string; path: string; why: string }>> = {
  store: {
    text: "Connect a shop, or upload files",
    path: SOURCES_PATH,
    why: "It brings orders and returns.",
  },
  labels: {
    text: "Add label costs",
    path: SOURCES_PATH,
    why: "Without them, costs are refunds only.",
  },
  window: {
    text: "Choose the return window",
    path: "/settings/windows",
    why: "How many days a return counts for its order.",
  },
  others: { text: "Invite somebody", path: "/settings/members", why: "Each person signs in on their own." },
  token: {
    text: "Create an access token",
    path: "/settings/tokens",
    why: "For programs and agents that ask for figures.",
  },
};

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
  right: readFigures,
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

export const SETUP_FORMS = [formOf(closeSetup, { path: SETUP_PATH, page: overview })];

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

/** What is left to set up; null = nothing, or it is hidden, or the member may not do it. */
function setupList(setup: Setup | null, call: PageCall): Html | null {
  if (setup === null) return null;
  const names = Object.keys(STEPS) as (keyof Setup)[];
  const left = names.filter((name) => !setup[name]).length;
  return html`<section class="setup" aria-labelledby="setup">
    <h2 id="setup">${left} of ${names.length} steps of the setup are left</h2>
    <ul class="entries">
      ${names.map((name) => {
        const { text, path, why } = STEPS[name];
        return setup[name]
          ? html`<li><div>${text}</div><span>Done</span></li>`
          : html`<li><div><a href="${call.href(path)}">${text}</a><small>${why}</small></div></li>`;
      })}
    </ul>
    ${formFor(call, closeSetup, { path: SETUP_PATH, look: "quiet" })}
  </section>`;
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

/** One row of a short ranking: what it is, where it leads, its figure, and what the figure is made of. */
type RankedRow = { label: string; detail: string | null; href: string; value: Html; note: Html };

/** A short list of the worst, each a link to its report. */
function ranking(rows: readonly RankedRow[]): Html {
  return html`<ol class="ranking">
    ${rows.map(
      ({ label, detail, href, value, note }) =>
        html`<li>
          <a href="${href}">${label}</a
          >${detail !== null && html`<span class="detail">${detail}</span>`}<strong>${value}</strong
          ><span class="note">${note}</span>
        </li>`,
    )}
  </ol>`;
}
