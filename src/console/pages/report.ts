import { REPORT_SECTIONS } from "../../contract/parameters.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { count, money, month, percent } from "../format.ts";
import { monthsOf } from "../months.ts";
import type { ShownMonths } from "../months.ts";
import { definePage } from "../page.ts";
import type { BodyOf, PageCall, View } from "../page.ts";
import { cohortStateOf, hasVariants, pick, selectorOf } from "../selection.ts";
import { checkField, filterForm, monthFields, presets, windowField } from "../views/filters.ts";
import { breakdownPart, costsPart, lifecyclePart, refundsPart } from "../views/report/parts.ts";
import { coverage, summaryFigures } from "../views/report/summary.ts";
import { selectionTitle } from "../views/selection-title.ts";
import { tabs } from "../views/tabs.ts";
import { dataTable } from "../views/table.ts";

const PATH = "/report";

type Report = ApiAnswer<BodyOf<"report">>;
type ReportPage = {
  months: ShownMonths;
  report: Report;
  curves: Report | null;
  variants: ApiAnswer<BodyOf<"return-cost-leaderboard">> | null;
} | null;

const STATE_NAMES = ["saleEvent", "saleEventBaseline", "saleEventScope", "reportSection", "breakdownBy"];

/** Everything about the returns of a selection. A product's page is this one with its product_gid. */
export const report = definePage<ReportPage>({
  name: "report",
  path: PATH,
  role: "viewer",
  link: "Report",
  data: async (call) => {
    const months = await monthsOf(call);
    if (months.range === null) return null;
    const cohort = { ...cohortStateOf(call.query), ...months.range };
    const isWhole = sectionOf(call) === "overview";
    const [own, variants] = await Promise.all([
      call.read("report", "report", { ...cohort, ...pick(call.query, STATE_NAMES) }),
      isWhole && hasVariants(call.query)
        ? call.read("variants", "return-cost-leaderboard", { ...cohort, limit: 100 })
        : null,
    ]);
    return { months, report: own, curves: null, variants };
  },
  view: (data, call) => (data === null ? noMonths() : reportView(data, call)),
});

/** Unknown sections mean the overview, as in the API. */
function sectionOf({ query }: PageCall): string {
  const given = query["reportSection"] ?? "";
  return (REPORT_SECTIONS as readonly string[]).includes(given) ? given : "overview";
}

function noMonths(): View {
  return {
    title: "Report",
    body: html`<h1>No month is complete yet</h1>
      <p>
        A month counts once every order of it has had its whole return window. Choose months and include the
        open ones to see what has come back so far.
      </p>`,
  };
}

function reportView({ months, report: own, variants }: Exclude<ReportPage, null>, call: PageCall): View {
  const shown = months.range as Exclude<ShownMonths["range"], null>;
  const section = sectionOf(call);
  const selection = selectionTitle(own);
  const kept = { ...cohortStateOf(call.query), ...pick(call.query, STATE_NAMES) };
  const { start_month: _first, end_month: _last, ...rolling } = kept;
  const open = call.href(PATH, { ...kept, ...shown, include_incomplete: "true" });
  const { window: _window, include_incomplete: _open, include_used_variants: _used, ...hidden } = rolling;
  return {
    title: `Report: ${selection}`,
    body: html`<h1>${selection}</h1>
      <p class="lead">
        Orders of ${figure(own, "meta/start_month", month)} to ${figure(own, "meta/end_month", month)}.
        ${selectorOf(call.query)["vendor"] !== undefined && html`Vendor ${String(selectorOf(call.query)["vendor"])} alone. `}<a
          href="${call.href("/products")}"
          >Choose a product, SKU or group</a
        >
      </p>
      ${presets(call, PATH, rolling, shown, months.isPinned)}
      ${filterForm(call, PATH, hidden, [
        monthFields(shown),
        windowField(call.query, null),
        checkField("include_incomplete", "Include open months", call.query),
        checkField("include_used_variants", "Include used variants", call.query),
      ])}
      ${tabs(
        "Parts of the report",
        TABS.map(([value, text]) => ({
          text,
          href: call.href(PATH, { ...kept, reportSection: value }),
          isCurrent: value === section,
        })),
      )}
      ${coverage(own, open)} ${summaryFigures(own, call)} ${sectionParts(own, call)}
      ${variants !== null && variantsPart(variants, call)}`,
  };
}

const TABS = [
  ["overview", "Everything"],
  ["trend", "Trend"],
  ["reasons", "Reasons"],
  ["timing", "Timing"],
  ["refunds", "Refunds"],
  ["lifecycle", "Requests"],
  ["costs", "Costs"],
  ["breakdown", "Breakdown"],
] as const;

/** The parts that the answer holds, in the order of the page. */
function sectionParts(own: Report, call: PageCall): Html {
  const { refunds, lifecycle_coverage, costs } = own.body.data;
  return html`${refunds !== undefined && refundsPart(own, call)}
  ${lifecycle_coverage !== undefined && lifecyclePart(own)}
  ${
    costs !== undefined &&
    html`<section id="costs">
      <h2>Costs</h2>
      ${costsPart(own, call)}
    </section>`
  }
  ${breakdownPart(own, call)}`;
}

/** The SKUs of a product or group by cost. The leaderboard lists SKUs with a cost alone, and says so here. */
function variantsPart(answer: ApiAnswer<BodyOf<"return-cost-leaderboard">>, call: PageCall): Html {
  const amount = money(call.currencyCode);
  const rows = answer.body.data.rows.map(({ sku }, index) => [
    html`<a href="${call.href(PATH, { ...cohortStateOf(call.query), product_gid: undefined, sku })}"
      >${sku}</a
    >`,
    figure(answer, `rows/${index}/sold_units`, count),
    figure(answer, `rows/${index}/returned_units`, count),
    figure(answer, `rows/${index}/return_rate`, percent),
    figure(answer, `rows/${index}/total_cost_amount`, amount),
  ]);
  const columns = ["Sold", "Returned", "Rate", "Returns cost"].map((text) => ({ text, isNumber: true }));
  return html`<section id="variants">
    <h2>Variants</h2>
    ${dataTable("SKUs with a returns cost, the costliest first; one without is not listed", [{ text: "SKU" }, ...columns], rows)}
  </section>`;
}
