import { readFigures } from "../../actions/right.ts";
import { costsChart } from "../charts/costs.ts";
import { saleEventChart } from "../charts/sale-event.ts";
import { timingChart } from "../charts/timing.ts";
import { curvesChart } from "../charts/curves.ts";
import { problemMarks, saleMarks, type Mark } from "../charts/marks.ts";
import { reasonsChart } from "../charts/reasons.ts";
import { trendChart } from "../charts/trend.ts";
import { BREAKDOWNS, OPTION_PREFIX, REPORT_SECTIONS } from "../../contract/parameters.ts";
import { html, type Html } from "../../lib/html.ts";
import { figure, type ApiAnswer } from "../figure.ts";
import {
  intervalOf,
  monthsOf,
  monthsOfRefused,
  readBefore,
  readLiability,
  readNewest,
  readTrend,
  readUsual,
  TREND_MONTHS,
  monthRange,
  type ShownMonths,
} from "../months.ts";
import { definePage, type BodyOf, type PageCall, type PageParameters, type View } from "../page.ts";
import { problemCards, readProblems, type Problem } from "../problems.ts";
import { COHORT_STATE_NAMES, cohortStateOf, pick, ROLLING_NAMES } from "../selection.ts";
import type { Alerts } from "../views/alert.ts";
import { monthCoverage, noCompleteMonth } from "../views/coverage.ts";
import { barCsv, csvHref, csvLink, tableHref } from "../views/csv-link.ts";
import { checkField, filterBar, selectField, textField, windowField } from "../views/filters.ts";
import { picture } from "../views/picture.ts";
import {
  BREAKDOWN_TITLES,
  breakdownPart,
  breakdownTitle,
  costsPart,
  liabilityPart,
  lifecyclePart,
  outcomesPart,
  refundsPart,
  bridgePart,
  REPORT_PATH,
  sizesPart,
} from "../views/report/parts.ts";
import { summaryFigures, windowText } from "../views/report/summary.ts";
import { verdict } from "../views/report/verdict.ts";
import { selectionLinks, selectionTitle } from "../views/selection-title.ts";
import { section, tabs } from "../views/blocks.ts";

const PATH = REPORT_PATH;

type Report = ApiAnswer<BodyOf<"report">>;
type Named = ApiAnswer<BodyOf<"return-cost-leaderboard">>;

/** A tab's data in addition to the shared report. */
type TabData =
  | {
      tab: "overview";
      trend: Report;
      before: Report | null;
      /** null = a SKU has no parts. */
      breakdown: Report | null;
      /** Those that are open. */
      alerts: Alerts;
      problems: readonly Problem[];
      marks: readonly Mark[];
      /** The months before the newest complete one, as the baseline. */
      usual: Report | null;
    }
  | {
      tab: "reasons";
      /** null = no product is shown. */
      fit: Report | null;
    }
  | { tab: "timing"; curves: Report }
  | { tab: "costs"; liability: Report | null; outcomes: Report; bridge: Report };

type ReportPage = {
  months: ShownMonths;
  report: Report;
  /** Of a selection: its costliest SKU, which names its product. */
  named: Named | null;
  shown: TabData;
};

const STATE_NAMES = ["saleEvent", "saleEventBaseline", "saleEventScope"];
const TAKES = [
  ...COHORT_STATE_NAMES,
  ...STATE_NAMES,
  "reportSection",
  "breakdownBy",
  "interval",
  ...ROLLING_NAMES,
];

/** Everything about the returns of a selection. A product's page is this one with its product_gid. */
export const report = definePage<ReportPage | null>({
  name: "report",
  path: PATH,
  right: readFigures,
  link: "Report",
  takes: TAKES,
  data: async (call) => {
    const months = await monthsOf(call);
    if (months.range === null) return null;
    const state = { ...cohortStateOf(call.query), ...pick(call.query, STATE_NAMES), ...months.range };
    const selection = { ...cohortStateOf(call.query), ...months.range };
    const whole = call.read("report", "report", state);
    const [own, named, shown] = await Promise.all([
      whole,
      hasSelection(call) ? call.read("named", "return-cost-leaderboard", { ...selection, limit: 1 }) : null,
      readTab(call, selection, { whole, months }),
    ]);
    return { months, report: own, named, shown };
  },
  view: (data, call) =>
    data === null
      ? {
          title: "Report",
          body: html`${bar(call, monthsOfRefused(call), null)}<h1>Report</h1>${noCompleteMonth(call)}`,
        }
      : reportView(data, call),
  refused: (call) => ({
    title: "Report",
    body: html`<h1>Report</h1>${bar(call, monthsOfRefused(call), null)}`,
  }),
});

type Months = Exclude<ShownMonths["range"], null>;

async function readTab(
  call: PageCall,
  state: PageParameters & Months,
  { whole: own, months }: { whole: Promise<Report>; months: ShownMonths },
): Promise<TabData> {
  const read = (reportSection: string, more: PageParameters = {}) =>
    call.read(reportSection, "report", { ...state, ...more, reportSection });
  const tab = tabOf(call);
  if (tab === "reasons") return { tab, fit: isProduct(call) ? await read("fit") : null };
  if (tab === "timing") return { tab, curves: await read("curves") };
  if (tab === "costs") {
    const [liability, outcomes, bridge] = await Promise.all([
      readLiability(call, state, months.year ?? (await readNewest(call))),
      read("outcomes"),
      read("bridge"),
    ]);
    return { tab, liability, outcomes, bridge };
  }
  const by = breakdownOf(call);
  const newest = await readNewest(call);
  const [trend, before, breakdown, alerts, history] = await Promise.all([
    readTrend(call, state, newest),
    own.then((answer) => readBefore(call, state, answer)),
    by === null ? null : read("breakdown", { breakdownBy: by }),
    call.read("alerts", "alerts", { state: "open", limit: 100 }),
    hasSelection(call)
      ? call.read("alert_history", "alerts", { category: "return_rate_watchlist", limit: 100 })
      : null,
  ]);
  const shown = { tab, trend, before, breakdown, alerts };
  if (history === null) {
    const marks = [...saleMarks(trend), ...problemMarks(alerts)];
    return { ...shown, problems: [], marks, usual: null };
  }
  const isOwn = isAbout(trend);
  const marks = [...saleMarks(trend), ...problemMarks(history, isOwn)];
  const { problems } = await readProblems(call, alerts, newest, { isOwn, most: 1 });
  const usual = problems.length === 0 ? await readUsual(call, state, trend) : null;
  return { ...shown, problems, marks, usual };
}

/** Whether an alert's facts are about a report's selection, or about one of its SKUs. */
function isAbout({ body }: Report): (facts: Readonly<Record<string, unknown>>) => boolean {
  const { selector } = body.meta;
  return ({ sku, product_gid, product_group_type, product_group_key }) => {
    switch (selector.type) {
      case "workspace":
        return false;
      case "sku":
        return sku === selector.primarySku;
      case "product":
        return product_gid === selector.product_gid || selector.skus.includes(String(sku));
      case "product_group":
        return (
          product_group_type === selector.product_group_type &&
          product_group_key === selector.product_group_key
        );
    }
  };
}

const TABS = [
  ["overview", "Overview"],
  ["reasons", "Reasons"],
  ["timing", "Timing"],
  ["costs", "Costs"],
] as const;
type Tab = (typeof TABS)[number][0];

/** Each section of the API is on one tab; an unknown one means the overview, as in the API. */
const TAB_OF_SECTION: Readonly<Record<(typeof REPORT_SECTIONS)[number], Tab>> = {
  overview: "overview",
  trend: "overview",
  breakdown: "overview",
  reasons: "reasons",
  timing: "timing",
  curves: "timing",
  costs: "costs",
  refunds: "costs",
  lifecycle: "costs",
  outcomes: "costs",
  bridge: "costs",
  liability: "costs",
  fit: "reasons",
};

const MAIN_TABLES: Readonly<Record<Tab, string>> = {
  overview: "trend-trend",
  reasons: "report-reasons",
  timing: "report-timing",
  costs: "report-costs",
};

function tabOf({ query }: PageCall): Tab {
  const given = REPORT_SECTIONS.find((each) => each === query["reportSection"]);
  return TAB_OF_SECTION[given ?? "overview"];
}

const PRODUCT_NAMES = ["product_gid", "store_product_gid", "shopify_product_gid"] as const;

/** The breakdown of the selection; null: a SKU, which has no parts. */
function breakdownOf({ query }: PageCall): string | null {
  const given = query["breakdownBy"] ?? "";
  if ((BREAKDOWNS as readonly string[]).includes(given) || given.startsWith(OPTION_PREFIX)) return given;
  if ((query["sku"] ?? "") !== "") return null;
  // A product divided by product would be one row: itself.
  return isProduct({ query }) ? "sku" : "product";
}

function isProduct({ query }: Pick<PageCall, "query">): boolean {
  return PRODUCT_NAMES.some((name) => (query[name] ?? "") !== "");
}

/** Whether the query selects less than the whole store. */
function hasSelection({ query }: PageCall): boolean {
  return [...PRODUCT_NAMES, "sku", "product_group_key"].some((name) => (query[name] ?? "") !== "");
}

/** `selected`: the name of the selection; null: all. */
function bar(call: PageCall, months: ShownMonths, selected: string | null): Html {
  const by = breakdownOf(call);
  const used = hasSelection(call)
    ? [checkField("include_used_variants", "Include used variants", call.query)]
    : [];
  const other = by?.startsWith(OPTION_PREFIX) === true ? [[by, breakdownTitle(by)] as const] : [];
  const divided =
    by === null ? [] : [selectField("breakdownBy", "Divided by", by, [...BREAKDOWN_NAMES, ...other])];
  return filterBar(call, PATH, {
    takes: TAKES,
    months,
    hasComparison: tabOf(call) === "overview",
    selected,
    csv: barCsv(call, PATH, MAIN_TABLES[tabOf(call)]),
    filters: [
      windowField(call.query, call.primaryWindowDays),
      textField("vendor", "Vendor", call.query["vendor"]),
      ...divided,
      ...used,
    ],
  });
}

const BREAKDOWN_NAMES = BREAKDOWNS.map((name) => [name, BREAKDOWN_TITLES[name]] as const);

function reportView(data: ReportPage, call: PageCall): View {
  const { months, report: own, named } = data;
  const selection = selectionTitle(own, named);
  const vendor = own.body.meta.vendor;
  const row = named?.body.data.rows[0];
  const hasPicture = ["sku", "product"].includes(own.body.meta.selector.type);
  return {
    title: `Report: ${selection.title}`,
    body: html`${bar(call, months, hasSelection(call) ? selection.title : null)}
<div class="subject">${hasPicture && picture(row?.product_image_url ?? null, "", call.imageSources)}
<div><h1>${selection.title}</h1>
<p class="lead">${selection.detail !== null && html`${selection.detail} · `}${vendor !== null && html`only vendor ${figure(own, "meta/vendor", String)} · `}orders of ${monthRange(own)}, returned within ${windowText(own)}${selectionLinks(call, own)}</p></div></div>
${tabs("Parts of the report", tabLinks(call))}
${monthCoverage(own, "summary", (include_incomplete) => call.href(PATH, { ...call.query, include_incomplete }))}
${tabPart(data, call)}
${csvLink(csvHref(call, exportStateOf(data, call)))}`,
  };
}

/** Each tab keeps the selection and the months. */
function tabLinks(call: PageCall) {
  const current = tabOf(call);
  return TABS.map(([value, text]) => ({
    text,
    href: call.href(PATH, { ...call.query, reportSection: value === "overview" ? undefined : value }),
    isCurrent: value === current,
  }));
}

/** The file holds every part, whichever is shown; the bridge with its lines on its tab. */
function exportStateOf({ months }: ReportPage, call: PageCall): PageParameters {
  const state = { ...cohortStateOf(call.query), ...pick(call.query, [...STATE_NAMES, "breakdownBy"]) };
  return { ...state, ...months.range, reportSection: tabOf(call) === "costs" ? "bridge" : undefined };
}

function tabPart(page: ReportPage, call: PageCall): Html {
  const { report: own, shown } = page;
  const input = { answer: own, exportHref: tableHref(call, PATH), fewUnits: call.minSoldUnits };
  switch (shown.tab) {
    case "overview":
      return overviewPart(page, shown, call);
    case "reasons":
      return html`${section("reasons", "Why it comes back", reasonsChart(input))}
      ${shown.fit && sizesPart(shown.fit, call)}`;
    case "timing":
      return html`${section("timing", "When it comes back", timingChart(input))}
      ${section("curves", "How returns arrive", curvesChart({ ...input, answer: shown.curves }))}`;
    case "costs":
      return html`${section("costs", "What it costs", html`${costsChart(input)}${costsPart(own, call)}`)}
      ${shown.liability && liabilityPart(shown.liability, call)} ${refundsPart(own, call)}
      ${outcomesPart(shown.outcomes, call)} ${lifecyclePart(own, call)} ${bridgePart(shown.bridge, call)}`;
  }
}

function overviewPart(page: ReportPage, shown: TabData & { tab: "overview" }, call: PageCall): Html {
  const { report: own } = page;
  const input = { exportHref: tableHref(call, PATH), fewUnits: call.minSoldUnits };
  const event = own.body.data.sale_event;
  return html`${shown.problems.length > 0 && problemCards(shown.problems, shown.alerts, call)}
  ${verdict(shown.trend, shown.usual, call.minSoldUnits)} ${summaryFigures({ ...shown, report: own }, call)}
  ${section(
    "trend",
    `Return rate by ${intervalOf(call)} of order`,
    html`${trendLinks(call)}${trendChart({ ...input, answer: shown.trend, marks: shown.marks })}`,
  )}
  ${event !== null && section("sale-event", `Sale: ${event.label}`, saleEventChart({ ...input, answer: own }))}
  ${shown.breakdown !== null && breakdownPart(shown.breakdown, call)}`;
}

/** Months, weeks or days of the trend; of weeks and days only the newest months fit. */
function trendLinks(call: PageCall): Html {
  const current = intervalOf(call);
  const { most } = TREND_MONTHS[current];
  const links = (
    [
      ["month", "Months"],
      ["week", "Weeks"],
      ["day", "Days"],
    ] as const
  ).map(([value, text]) => ({
    text,
    href: `${call.href(PATH, { ...call.query, interval: value === "month" ? undefined : value })}#trend`,
    isCurrent: value === current,
  }));
  return html`${tabs("Rows of the trend", links)}${
    current !== "month" &&
    html`<p class="note">At most the newest ${most} months, open ones included. A ${current} is complete when its last day is.</p>`
  }`;
}
