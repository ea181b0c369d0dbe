import { readFigures } from "../../actions/right.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { SELECTOR_NAMES } from "../../contract/parameters.ts";
import { curvesChart } from "../charts/curves.ts";
import { heatTable } from "../charts/heat.ts";
import type { ApiAnswer } from "../figure.ts";
import { monthsOf, monthsOfForm } from "../months.ts";
import type { MonthParameters, ShownMonths, ShownRange } from "../months.ts";
import { definePage } from "../page.ts";
import type { BodyOf, PageCall, View } from "../page.ts";
import { COHORT_STATE_NAMES, cohortStateOf, pick } from "../selection.ts";
import { monthCoverage } from "../views/coverage.ts";
import { csvHref, csvNote } from "../views/csv-link.ts";
import {
  checkField,
  filterBox,
  filterForm,
  monthFields,
  openMonthsField,
  presets,
  windowField,
} from "../views/filters.ts";
import { monthRange } from "../views/month-range.ts";
import { noCompleteMonth } from "../views/no-months.ts";
import { selectionTitle } from "../views/selection-title.ts";

const PATH = "/cohorts";
const TITLE = "Cohorts";

type Cohorts = {
  months: ShownMonths;
  answer: ApiAnswer<BodyOf<"report">>;
  /** Of a selection: what names its product. */
  named: ApiAnswer<BodyOf<"return-cost-leaderboard">> | null;
} | null;

/** What share of each month's orders had come back by each age: a table of months, and the curves of the newest. */
export const cohorts = definePage<Cohorts>({
  name: "cohorts",
  path: PATH,
  right: readFigures,
  link: TITLE,
  takes: COHORT_STATE_NAMES,
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
      ? { title: TITLE, body: html`<h1>${TITLE}</h1> ${noCompleteMonth(call)} ${form(call)}` }
      : cohortsView(data, call),
  refused: async (call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1> ${form(call, await monthsOfForm(call))}`,
  }),
});

/** `range`: the months that are shown; without, those of the query. */
function form(call: PageCall, range?: MonthParameters): Html {
  const { query } = call;
  const { start_month = "", end_month = "" } = query;
  return filterForm(call, PATH, pick(query, [...SELECTOR_NAMES, "vendor"]), [
    monthFields(range ?? { start_month, end_month }),
    windowField(query, call.primaryWindowDays),
    openMonthsField(query),
    checkField("include_used_variants", "Include used variants", query),
  ]);
}

function cohortsView({ months, answer, named }: Exclude<Cohorts, null>, call: PageCall): View {
  const range = months.range as ShownRange;
  const selection = selectionTitle(answer, named);
  const { start_month: _first, end_month: _last, ...rolling } = cohortStateOf(call.query);
  const state = { ...rolling, ...range };
  const exportHref = csvHref(call, state);
  const chart = { answer, exportHref, fewUnits: call.minSoldUnits };
  return {
    title: `${TITLE}: ${selection.title}`,
    body: html`<h1>${TITLE}: ${selection.title}</h1>
      <p class="lead">
        ${selection.detail !== null && html`${selection.detail} · `}A cohort is the orders of one month: here ${monthRange(answer)}.
      </p>
      <p>
        <a href="${call.href("/report", cohortStateOf(call.query))}">Report of the same selection</a> ·
        <a href="${call.href("/products", state)}">Choose a product, SKU or group</a>
      </p>
      ${filterBox(html`${presets(call, PATH, rolling, range, months.isPinned)} ${form(call, range)}`)}
      ${monthCoverage(answer, "summary", (include_incomplete) => call.href(PATH, { ...state, include_incomplete }))}
      ${heatTable(chart)}
      <p class="note">
        A row follows one month: what share had come back 7, 14, 30 and more days after the order. Read down a
        column to compare months at the same age. Months are <a href="/docs/numbers">in UTC</a>: an order near the
        end of a month in shop time may be in the next one.
      </p>
      ${curvesChart(chart)} ${csvNote(exportHref)}`,
  };
}
