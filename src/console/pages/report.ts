import { readFigures } from "../../actions/right.ts";
import { costsChart } from "../charts/costs.ts";
import { curvesChart } from "../charts/curves.ts";
import { reasonsChart } from "../charts/reasons.ts";
import { saleEventChart } from "../charts/sale-event.ts";
import { timingChart } from "../charts/timing.ts";
import { trendChart } from "../charts/trend.ts";
import { BREAKDOWNS, REPORT_SECTIONS } from "../../contract/parameters.ts";
import type { IsWatched } from "../../actions/watchlist/actions.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { count, money, percent } from "../format.ts";
import { monthsOf, monthsOfForm } from "../months.ts";
import type { ShownMonths } from "../months.ts";
import { definePage } from "../page.ts";
import type { BodyOf, PageCall, PageParameters, View } from "../page.ts";
import { COHORT_STATE_NAMES, cohortStateOf, hasVariants, pick, stateWithoutSelector } from "../selection.ts";
import { monthCoverage } from "../views/coverage.ts";
import { csvHref, csvLink } from "../views/csv-link.ts";
import {
  checkField,
  filterBox,
  filterForm,
  monthFields,
  openMonthsField,
  presets,
  selectField,
  windowField,
} from "../views/filters.ts";
import { monthRange } from "../views/month-range.ts";
import { noCompleteMonth } from "../views/no-months.ts";
import {
  BREAKDOWN_TITLES,
  breakdownPart,
  costsPart,
  lifecyclePart,
  outcomesPart,
  refundsPart,
} from "../views/report/parts.ts";
import { bridgePart } from "../views/report/bridge.ts";
import { summaryFigures } from "../views/report/summary.ts";
import { selectionLinks } from "../views/selection-links.ts";
import { selectionTitle } from "../views/selection-title.ts";
import { dataTable } from "../views/table.ts";
import { tabs } from "../views/tabs.ts";

const PATH = "/report";

type Report = ApiAnswer<BodyOf<"report">>;
type ReportPage = {
  months: ShownMonths;
  report: Report;
  curves: Report | null;
  /** Of a selection: its SKUs by cost, the first of which names its product. */
  variants: ApiAnswer<BodyOf<"return-cost-leaderboard">> | null;
  /** null = the whole store is shown. */
  isWatched: IsWatched | null;
};

const STATE_NAMES = ["saleEvent", "saleEventBaseline", "saleEventScope", "reportSection", "breakdownBy"];

/** Everything about the returns of a selection. A product's page is this one with its product_gid. */
export const report = definePage<ReportPage | null>({
  name: "report",
  path: PATH,
  right: readFigures,
  link: "Report",
  takes: [...COHORT_STATE_NAMES, ...STATE_NAMES],
  data: async (call) => {
    const months = await monthsOf(call);
    if (months.range === null) return null;
    const state: PageParameters = { ...stateOf(call), ...months.range };
    const isWhole = sectionOf(call) === "overview";
    const [own, curves, variants, isWatched] = await Promise.all([
      call.read("report", "report", state),
      isWhole ? call.read("curves", "report", { ...state, reportSection: "curves" }) : null,
      hasSelection(call)
        ? call.read("variants", "return-cost-leaderboard", {
            ...cohortStateOf(call.query),
            ...months.range,
            limit: isWhole && hasVariants(call.query) ? 100 : 1,
          })
        : null,
      hasSelection(call) ? call.watched() : null,
    ]);
    return { months, report: own, curves, variants, isWatched };
  },
  view: (data, call) =>
    data === null
      ? { title: "Report", body: html`<h1>Report</h1>${noCompleteMonth(call)}${form(call, null)}` }
      : reportView(data, call),
  refused: async (call) => ({
    title: "Report",
    body: html`<h1>Report</h1>${form(call, await monthsOfForm(call))}`,
  }),
});

/** All that the page's query says of the view. */
function stateOf(call: PageCall): PageParameters {
  const { query } = call;
  // A product divided by product would be one row: itself.
  const isWhole = sectionOf(call) === "breakdown" && PRODUCT_NAMES.some((name) => query[name]);
  return {
    ...cohortStateOf(query),
    ...(isWhole && { breakdownBy: "sku" }),
    ...pick(query, STATE_NAMES),
  };
}

const PRODUCT_NAMES = ["product_gid", "store_product_gid", "shopify_product_gid"] as const;

/** Unknown sections mean the overview, as in the API. */
function sectionOf({ query }: PageCall): string {
  const given = query["reportSection"] ?? "";
  return (REPORT_SECTIONS as readonly string[]).includes(given) ? given : "overview";
}

function reportView(data: ReportPage, call: PageCall): View {
  const { months, report: own } = data;
  const shown = months.range as Exclude<ShownMonths["range"], null>;
  const selection = selectionTitle(own, data.variants);
  const { start_month: _first, end_month: _last, ...rolling } = stateOf(call);
  const vendor = own.body.meta.vendor;
  return {
    title: `Report: ${selection.title}`,
    body: html`<h1>${selection.title}</h1>
<p class="lead">${selection.detail !== null && html`${selection.detail} · `}${vendor !== null && html`only vendor ${figure(own, "meta/vendor", String)} · `}orders of ${monthRange(own)} · <a href="${call.href("/products", stateWithoutSelector(call.query))}">choose another product, SKU or group</a>${selectionLinks(call, own, data.isWatched)}</p>
${filterBox(html`${presets(call, PATH, rolling, shown, months.isPinned)} ${form(call, shown)}`)}
${tabs("Parts of the report", tabLinks(call))}
${monthCoverage(own, "summary", (include_incomplete) => call.href(PATH, { ...rolling, ...shown, include_incomplete }))}
${summaryFigures(own, call)}
${sectionParts(data, call)}
${csvLink(csvHref(call, exportStateOf(data, call)))}`,
  };
}

/** `shown`: the months of the page; null = those of a query that was refused. */
function form(call: PageCall, shown: ShownMonths["range"]): Html {
  const { query } = call;
  const { start_month = "", end_month = "" } = query;
  const { window: _window, include_incomplete: _open, include_used_variants: _used, ...rest } = stateOf(call);
  const { start_month: _first, end_month: _last, breakdownBy, ...hidden } = rest;
  const isDivided = sectionOf(call) === "breakdown";
  return filterForm(call, PATH, isDivided ? hidden : { ...hidden, breakdownBy }, [
    monthFields(shown ?? { start_month, end_month }),
    windowField(query, call.primaryWindowDays),
    isDivided
      ? selectField("breakdownBy", "Divided by", String(breakdownBy ?? "product"), BREAKDOWN_NAMES)
      : [],
    openMonthsField(query),
    hasSelection(call) ? checkField("include_used_variants", "Include used variants", query) : [],
  ]);
}

const BREAKDOWN_NAMES = BREAKDOWNS.map((name) => [name, BREAKDOWN_TITLES[name]] as const);

function hasSelection({ query }: PageCall): boolean {
  return hasVariants(query) || (query["sku"] ?? "") !== "";
}

const TABS = [
  ["overview", "Everything"],
  ["trend", "Trend"],
  ["curves", "Curves"],
  ["reasons", "Reasons"],
  ["timing", "Timing"],
  ["refunds", "Refunds"],
  ["lifecycle", "Requests"],
  ["costs", "Costs"],
  ["breakdown", "Breakdown"],
  ["outcomes", "Outcomes"],
  ["bridge", "Why it differs"],
] as const satisfies readonly (readonly [(typeof REPORT_SECTIONS)[number], string])[];

/** Each part keeps the selection, and the months where they are pinned. */
function tabLinks(call: PageCall) {
  const current = sectionOf(call);
  const state = stateOf(call);
  return TABS.map(([value, text]) => ({
    text,
    href: call.href(PATH, { ...state, reportSection: value === "overview" ? undefined : value }),
    isCurrent: value === current,
  }));
}

/** The export holds every part, whichever is shown; the bridge with its lines where that is shown. */
function exportStateOf({ months }: ReportPage, call: PageCall): PageParameters {
  const reportSection = sectionOf(call) === "bridge" ? "bridge" : undefined;
  return { ...stateOf(call), ...months.range, reportSection };
}

/** The parts that the answers hold, in the order of the page. */
function sectionParts(page: ReportPage, call: PageCall): Html {
  const { report: own, curves, variants } = page;
  const { data } = own.body;
  const exportHref = csvHref(call, exportStateOf(page, call));
  const input = { answer: own, exportHref, fewUnits: call.minSoldUnits };
  const withCurves = data.return_curves === undefined ? curves : own;
  return html`${data.trend !== undefined && section("trend", "Return rate by month of order", trendChart(input))}
${withCurves !== null && section("curves", "How returns arrive", curvesChart({ ...input, answer: withCurves }))}
${data.return_reasons !== undefined && section("reasons", "Why it comes back", reasonsChart(input))}
${data.timing_buckets !== undefined && section("timing", "When it comes back", timingChart(input))}
${variants !== null && sectionOf(call) === "overview" && hasVariants(call.query) && variantsPart(variants, call)}
${data.refunds !== undefined && refundsPart(own, call)}
${data.lifecycle_coverage !== undefined && lifecyclePart(own)}
${(data.costs ?? data.trend) !== undefined && section("costs", "What it costs", html`${data.trend !== undefined && costsChart(input)}${data.costs !== undefined && costsPart(own, call)}`)}
${data.sale_event !== null && section("sale-event", `Sale event: ${data.sale_event.label}`, saleEventChart(input))}
${breakdownPart(own, call)}
${outcomesPart(own, call)}
${bridgePart(own)}`;
}

function section(id: string, title: string, body: Html): Html {
  return html`<section id="${id}"><h2>${title}</h2>${body}</section>`;
}

/** The SKUs of a product or group by cost. The leaderboard lists SKUs with a cost alone, and says so here. */
function variantsPart(answer: ApiAnswer<BodyOf<"return-cost-leaderboard">>, call: PageCall): Html {
  const amount = money(call.currencyCode);
  const rows = answer.body.data.rows.map(({ sku }, index) => [
    html`<a href="${call.href(PATH, { ...stateWithoutSelector(call.query), sku })}"
      >${sku}</a
    >`,
    figure(answer, `rows/${index}/sold_units`, count),
    figure(answer, `rows/${index}/returned_units`, count),
    figure(answer, `rows/${index}/return_rate`, percent),
    figure(answer, `rows/${index}/total_cost_amount`, amount),
  ]);
  const columns = ["Units sold", "Units returned", "Return rate", "Returns cost"].map((text) => ({
    text,
    isNumber: true,
  }));
  return html`<section id="variants">
    <h2>Variants</h2>
    ${dataTable("SKUs with a returns cost, the costliest first; one without is not listed", [{ text: "SKU" }, ...columns], rows)}
  </section>`;
}
