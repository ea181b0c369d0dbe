import { readFigures } from "../../actions/right.ts";
import { SOURCES_PATH } from "../../actions/console-address.ts";
import type { Setup } from "../../actions/workspace/queries.ts";
import { closeSetup } from "../../actions/workspace/workspace.ts";
import { html, type Html } from "../../lib/html.ts";
import { formFor, formOf } from "../action-form.ts";
import { problemMarks, saleMarks } from "../charts/marks.ts";
import { reasonsChart } from "../charts/reasons.ts";
import { trendChart } from "../charts/trend.ts";
import { figure, type ApiAnswer } from "../figure.ts";
import { day, keyMoney } from "../format.ts";
import {
  monthsOf,
  monthsOfRefused,
  readBefore,
  readLiability,
  readNewest,
  readTrend,
  monthRange,
} from "../months.ts";
import type { NewestMonths, ShownMonths } from "../months.ts";
import { definePage, type BodyOf, type PageCall, type View } from "../page.ts";
import { linkToAll, problemCards, readProblems, type Problem } from "../problems.ts";
import { pick, ROLLING_NAMES } from "../selection.ts";
import type { Alerts } from "../views/alert.ts";
import { monthCoverage, noCompleteMonth } from "../views/coverage.ts";
import { barCsv, tableHref } from "../views/csv-link.ts";
import { filterBar, textField, windowField } from "../views/filters.ts";
import { summaryFigures, windowText, type TileAnswers } from "../views/report/summary.ts";

const PATH = "";
const ALERTS_READ = 100;

/** The page of each step, and its purpose. */
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
    why: "How many days after the order a return counts.",
  },
  others: { text: "Invite somebody", path: "/settings/members", why: "Each person signs in on their own." },
  token: {
    text: "Create an access token",
    path: "/settings/tokens",
    why: "For programs and agents that ask for figures.",
  },
};

type Report = ApiAnswer<BodyOf<"report">>;
export type OverviewData = TileAnswers & {
  months: ShownMonths;
  trend: Report;
  /** The refunds still to come. */
  liability: Report | null;
  alerts: Alerts;
  problems: readonly Problem[];
  /** How many more problems there are. */
  others: number;
};
/** null = no month is complete yet. */
type PageData = { shown: OverviewData | null; setup: Setup | null };

const STATE_NAMES = ["start_month", "end_month", "window", "include_incomplete", "vendor"];
const TAKES = [...STATE_NAMES, ...ROLLING_NAMES];

/** Current problems and whether they improve, then how much comes back, what it costs, and why. */
export const overview = definePage<PageData>({
  name: "overview",
  path: PATH,
  right: readFigures,
  link: "Overview",
  takes: TAKES,
  data: async (call) => {
    const [shown, setup] = await Promise.all([readOverview(call), call.setup()]);
    return { shown, setup };
  },
  view: ({ shown, setup }, call) => {
    const list = setupList(setup, call);
    if (shown !== null) return fullView(shown, list, call);
    return { title: "Overview", body: html`<h1>Overview</h1>${noCompleteMonth(call)}${list}` };
  },
  refused: (call) => ({
    title: "Overview",
    body: html`<h1>Overview</h1>
      ${bar(call, monthsOfRefused(call))}`,
  }),
  forms: [formOf(closeSetup, { path: "/setup/close" })],
});

/** null: no month is complete yet. A mail omits the refunds still to come. */
export async function readOverview(call: PageCall, isMail = false): Promise<OverviewData | null> {
  const [months, year] = await Promise.all([monthsOf(call), readNewest(call)]);
  const { range } = months;
  if (range === null) return null;
  const state = { ...pick(call.query, STATE_NAMES), ...range };
  const own = call.read("report", "report", state);
  const [report, liability, trend, before, found] = await Promise.all([
    own,
    isMail ? null : readLiability(call, state, year),
    readTrend(call, state, year),
    own.then((answer) => readBefore(call, state, answer)),
    readAlerts(call, year),
  ]);
  return { months, report, liability, trend, before, ...found };
}

async function readAlerts(call: PageCall, year: NewestMonths) {
  const alerts = await call.read("alerts", "alerts", { state: "open", limit: ALERTS_READ });
  return { alerts, ...(await readProblems(call, alerts, year)) };
}

function bar(call: PageCall, months: ShownMonths, csv: Html | null = null): Html {
  return filterBar(call, PATH, {
    takes: TAKES,
    months,
    hasComparison: true,
    selected: null,
    filters: [
      windowField(call.query, call.primaryWindowDays),
      textField("vendor", "Vendor", call.query["vendor"]),
    ],
    csv,
  });
}

function fullView(shown: OverviewData, list: Html | null, call: PageCall): View {
  const { report, trend, months, alerts, problems } = shown;
  const all = linkToAll(shown, call);
  return {
    title: "Overview",
    body: html`${bar(call, months, barCsv(call, PATH, "trend-trend"))}
      <h1>Overview</h1>
      ${problemCards(problems, alerts, call)}
      ${all !== null && html`<p><a href="${all.href}">${all.text}</a></p>`}
      <p class="lead">
        Orders of ${monthRange(report)}. A unit counts as returned when it came back within
        ${windowText(report)}.
      </p>
      ${monthCoverage(report, "summary", (open) => call.href(PATH, { ...call.query, include_incomplete: open }))}
      ${summaryFigures(shown, call)} ${stillToCome(shown.liability, call)}
      ${trendChart({ answer: trend, exportHref: tableHref(call, PATH), fewUnits: call.minSoldUnits, marks: [...saleMarks(trend), ...problemMarks(alerts)] })}
      <section>
        <h2>Why it comes back</h2>
        ${reasonsChart({ answer: report, exportHref: tableHref(call, PATH), limit: 6, moreHref: call.href("/report", { ...call.query, reportSection: "reasons" }) })}
      </section>
      ${list}`,
  };
}

/** M21, in a line; null = there is no estimate. */
function stillToCome(answer: Report | null, call: PageCall): Html | null {
  if ((answer?.body.data.liability ?? null) === null) return null;
  const amount = keyMoney(call.currencyCode);
  const at = (name: string): Html => figure(answer as Report, `liability/${name}`, amount);
  return html`<p class="compared">
    <a href="${call.href("/report", { ...call.query, reportSection: "liability" })}">Still to come</a> of orders up to
    ${figure(answer as Report, "liability/as_of", day)}: about ${at("refund_amount")} of refunds, likely
    ${at("low_amount")} to ${at("high_amount")}.
  </p>`;
}

/** The remaining setup steps; null: none, hidden, or not allowed for the member. */
function setupList(setup: Setup | null, call: PageCall): Html | null {
  if (setup === null) return null;
  const names = Object.keys(STEPS) as (keyof Setup)[];
  const left = names.filter((name) => !setup[name]).length;
  return html`<section class="setup" aria-labelledby="setup">
    <h2 id="setup">${left} of ${names.length} setup steps are left</h2>
    <ul class="entries">
      ${names.map((name) => {
        const { text, path, why } = STEPS[name];
        return setup[name]
          ? html`<li><div>${text}</div><span>Done</span></li>`
          : html`<li><div><a href="${call.href(path)}">${text}</a><small>${why}</small></div></li>`;
      })}
    </ul>
    ${formFor(call, closeSetup, { variant: "quiet" })}
  </section>`;
}
