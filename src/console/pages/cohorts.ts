import { readFigures } from "../../actions/right.ts";
import { html, type Html } from "../../lib/html.ts";
import { SELECTOR_NAMES } from "../../contract/parameters.ts";
import { curvesChart } from "../charts/curves.ts";
import { heatTable } from "../charts/heat.ts";
import type { ApiAnswer } from "../figure.ts";
import { monthsOf, monthsOfRefused, monthRange, type ShownMonths } from "../months.ts";
import { definePage, type BodyOf, type PageCall, type View } from "../page.ts";
import { COHORT_STATE_NAMES, cohortStateOf, ROLLING_NAMES } from "../selection.ts";
import { monthCoverage, noCompleteMonth } from "../views/coverage.ts";
import { barCsv, csvNote, tableHref } from "../views/csv-link.ts";
import { checkField, filterBar, textField, windowField } from "../views/filters.ts";
import { selectionTitle } from "../views/selection-title.ts";

const PATH = "/cohorts";
const TITLE = "Return curves";
const TAKES = [...COHORT_STATE_NAMES, ...ROLLING_NAMES];

type Cohorts = {
  months: ShownMonths;
  answer: ApiAnswer<BodyOf<"report">>;
  /** Of a selection: what names its product. */
  named: ApiAnswer<BodyOf<"return-cost-leaderboard">> | null;
} | null;

/** The share of each month's orders returned by each age: a table of months, and the curves of the newest. */
export const cohorts = definePage<Cohorts>({
  name: "cohorts",
  path: PATH,
  right: readFigures,
  link: TITLE,
  takes: TAKES,
  data: async (call) => {
    const months = await monthsOf(call);
    if (months.range === null) return null;
    const state = { ...cohortStateOf(call.query), ...months.range };
    const isSelection = SELECTOR_NAMES.some((name) => (call.query[name] ?? "") !== "");
    const [answer, named] = await Promise.all([
      call.read("report", "report", { ...state, reportSection: "curves" }),
      isSelection ? call.read("costliest", "return-cost-leaderboard", { ...state, limit: 1 }) : null,
    ]);
    return { months, answer, named };
  },
  view: (data, call) =>
    data === null
      ? {
          title: TITLE,
          body: html`${bar(call, monthsOfRefused(call), null)}<h1>${TITLE}</h1> ${noCompleteMonth(call)}`,
        }
      : cohortsView(data, call),
  refused: (call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1> ${bar(call, monthsOfRefused(call), null)}`,
  }),
});

/** `selected`: the name of the selection; null: all. */
function bar(call: PageCall, months: ShownMonths, selected: string | null): Html {
  const { query } = call;
  return filterBar(call, PATH, {
    takes: TAKES,
    months,
    selected,
    csv: barCsv(call, PATH, "report-heat"),
    filters: [
      windowField(query, call.primaryWindowDays),
      textField("vendor", "Vendor", query["vendor"]),
      checkField("include_used_variants", "Include used variants", query),
    ],
  });
}

function cohortsView({ months, answer, named }: Exclude<Cohorts, null>, call: PageCall): View {
  const selection = selectionTitle(answer, named);
  const exportHref = tableHref(call, PATH);
  const isWhole = answer.body.meta.selector.type === "workspace";
  const chart = { answer, exportHref, fewUnits: call.minSoldUnits };
  return {
    title: `${TITLE}: ${selection.title}`,
    body: html`${bar(call, months, isWhole ? null : selection.title)}
      <h1>${TITLE}: ${selection.title}</h1>
      <p class="lead">
        ${selection.detail !== null && html`${selection.detail} · `}A cohort is the orders of one month: here ${monthRange(answer)}.
      </p>
      <p>
        <a href="${call.href("/report", { ...call.query, reportSection: "timing" })}">Report of the same selection</a>
      </p>
      ${monthCoverage(answer, "summary", (include_incomplete) => call.href(PATH, { ...call.query, include_incomplete }))}
      ${heatTable(chart)}
      <p class="note">
        A row follows one month: what share had come back 7, 14, 30 and more days after the order. Read down a
        column to compare months at the same age. Months are <a href="/docs/numbers">in UTC</a>: an order near the
        end of a month in shop time may be in the next one.
      </p>
      ${curvesChart(chart)} ${csvNote(exportHref)}`,
  };
}
