import { readFigures } from "../../actions/right.ts";
import type { IsWatched } from "../../actions/watchlist/actions.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { rateFigure } from "../charts/rates.ts";
import { figure } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { count, money } from "../format.ts";
import { monthsOf, monthsOfRefused } from "../months.ts";
import type { ShownMonths } from "../months.ts";
import { definePage } from "../page.ts";
import { parameterNames } from "../page-names.ts";
import type { BodyOf, PageCall } from "../page.ts";
import { stateWithoutSelector } from "../selection.ts";
import { bar } from "../views/bar.ts";
import { monthCoverage } from "../views/coverage.ts";
import { filterBar, textField, windowField } from "../views/filters.ts";
import { limitField, rankedNote } from "../views/leaderboard.ts";
import { monthRange } from "../views/month-range.ts";
import { noCompleteMonth } from "../views/no-months.ts";
import { productCell } from "../views/product-cell.ts";
import { dataTable } from "../views/table.ts";
import type { Column } from "../views/table.ts";
import { watchColumn } from "../views/watch-mark.ts";

const PATH = "/leaderboards/return-cost";
const TITLE = "Highest returns cost";
const LIMIT = "25";

type Leaderboard = ApiAnswer<BodyOf<"return-cost-leaderboard">>;
type Costs = {
  months: ShownMonths;
  answer: Leaderboard;
  /** What says from how many sold units a rate is steady. */
  rates: ApiAnswer<BodyOf<"return-rate-leaderboard">>;
  isWatched: IsWatched;
} | null;

/** SKUs by returns cost over a range of months. */
export const returnCostLeaderboard = definePage<Costs>({
  name: "return-cost-leaderboard",
  path: PATH,
  right: readFigures,
  link: "Highest costs",
  takes: parameterNames("return-cost-leaderboard"),
  data: async (call) => {
    const months = await monthsOf(call);
    if (months.range === null) return null;
    const [answer, rates, isWatched] = await Promise.all([
      call.read("leaderboard", "return-cost-leaderboard", {
        ...call.query,
        ...months.range,
        limit: call.query["limit"] ?? LIMIT,
      }),
      months.year ?? call.read("newest_year", "return-rate-leaderboard", { period: "year", limit: 5 }),
      call.watched(),
    ]);
    return { months, answer, rates, isWatched };
  },
  view: (data, call) => ({
    title: TITLE,
    body: html`${form(call, data?.months ?? monthsOfRefused(call))}
      <h1>${TITLE}</h1>
      ${data === null ? noCompleteMonth(call) : costs(data, call)}`,
  }),
  refused: (call) => ({
    title: TITLE,
    body: html`${form(call, monthsOfRefused(call))}
      <h1>${TITLE}</h1>`,
  }),
});

function costs(data: Exclude<Costs, null>, call: PageCall): Html {
  const { answer } = data;
  const hrefWith = (include_incomplete: string) => call.href(PATH, { ...call.query, include_incomplete });
  return html`<p class="lead">
      What returns cost most, of the orders of ${monthRange(answer)}
    </p>
    ${monthCoverage(answer, "meta", hrefWith)} ${labelNote(answer)} ${ranking(data, call)}`;
}

function form(call: PageCall, months: ShownMonths): Html {
  const { query } = call;
  return filterBar(call, PATH, {
    takes: parameterNames("return-cost-leaderboard"),
    months,
    filters: [
      windowField(query, call.primaryWindowDays),
      textField("min_cost", `Cost at least, in ${call.currencyCode}`, query["min_cost"], "decimal"),
      textField("vendor", "Vendor", query["vendor"]),
      limitField(query["limit"] ?? LIMIT, ["10", "25", "50", "100"]),
    ],
  });
}

function labelNote({ body }: Leaderboard): Html | null {
  if (body.data.label_costs_included) return null;
  return html`<p class="banner">
    Refunds only: return labels are not included, because no label source is connected and up to date.
  </p>`;
}

function ranking({ answer, rates, isWatched }: Exclude<Costs, null>, call: PageCall): Html {
  const { rows, label_costs_included: hasLabels } = answer.body.data;
  const note = rankedNote(answer, call, PATH, call.query["limit"] ?? LIMIT);
  if (rows.length === 0) return note;
  const hasMargin = rows.some((row) => row.estimated_margin_impact !== null);
  const cells = { answer, amount: money(call.currencyCode), hasLabels, hasMargin };
  const longest = Math.max(...rows.map((row) => row.total_cost_amount));
  const fewest = rates.body.data.min_sold_units;
  const watching = watchColumn(
    call,
    isWatched,
    rows.map(({ sku }) => ({ type: "sku", key: sku })),
  );
  const body = rows.map((row, index) => [
    productCell(row, {
      rank: index + 1,
      href: call.href("/report", { ...stateWithoutSelector(call.query), sku: row.sku }),
      imageSources: call.imageSources,
    }),
    ...amounts(cells, `rows/${index}`, [
      row.total_refunded_amount / longest,
      row.total_return_label_cost / longest,
    ]),
    ...units(answer, `rows/${index}`, row.sold_units < fewest),
    ...(hasMargin ? [margin(cells, `rows/${index}`, row.cogs_coverage)] : []),
    ...watching.cellsOf(index),
  ]);
  const total = [
    html`All that are ranked`,
    ...amounts(cells, "meta/totals", null),
    ...units(answer, "meta/totals", false),
    ...(hasMargin ? [html``] : []),
    ...watching.none,
  ];
  return html`${note} ${dataTable(caption(hasLabels), [...columns(cells), ...watching.columns], body, total)}
  ${notes(
    rates,
    rows.some((row) => row.sold_units < fewest),
    hasMargin,
  )}`;
}

type Cells = {
  answer: Leaderboard;
  amount: ReturnType<typeof money>;
  hasLabels: boolean;
  hasMargin: boolean;
};

function caption(hasLabels: boolean): string {
  const cost = hasLabels ? "returns cost" : "refunds";
  return `SKUs by ${cost}, the highest first; what came back and what was sold, in units`;
}

function columns({ hasLabels, hasMargin }: Cells): Column[] {
  const numbers = (texts: readonly string[]) => texts.map((text) => ({ text, isNumber: true }));
  return [
    { text: "Product and SKU" },
    ...numbers(["Returns cost"]),
    { text: hasLabels ? "Refunds, then labels" : "Refunds", isDrawing: true },
    ...numbers(hasLabels ? ["Refunds", "Labels"] : []),
    ...numbers(["Came back", "Sold", "Return rate"]),
    ...numbers(hasMargin ? ["Margin impact"] : []),
  ];
}

/** `parts`: refunds and labels as shares of the longest bar; null = no bar. */
function amounts(
  { answer, amount, hasLabels }: Cells,
  path: string,
  parts: readonly number[] | null,
): Html[] {
  return [
    html`<strong>${figure(answer, `${path}/total_cost_amount`, amount)}</strong>`,
    parts === null ? html`` : bar(parts),
    ...(hasLabels
      ? [
          figure(answer, `${path}/total_refunded_amount`, amount),
          figure(answer, `${path}/total_return_label_cost`, amount),
        ]
      : []),
  ];
}

function units(answer: Leaderboard, path: string, areFew: boolean): Html[] {
  return [
    figure(answer, `${path}/returned_units`, count),
    figure(answer, `${path}/sold_units`, count),
    html`${areFew && html`<span class="tag">few units</span> `}${rateFigure(answer, path)}`,
  ];
}

function margin({ answer, amount }: Cells, path: string, coverage: number): Html {
  const impact = figure(answer, `${path}/estimated_margin_impact`, amount, "no unit cost");
  if (coverage === 100 || coverage === 0) return impact;
  const known = figure(answer, `${path}/cogs_coverage`, (value: number) => `${value} %`);
  return html`${impact} <small>unit cost known for ${known} of the returned units</small>`;
}

function notes(rates: Exclude<Costs, null>["rates"], areFew: boolean, hasMargin: boolean): Html {
  return html`${
    areFew &&
    html`<p class="note">
        Few units: fewer than ${figure(rates, "min_sold_units", count)} were sold, so a single return moves
        the rate far.
      </p>`
  }
    <p class="note">
      ${
        hasMargin
          ? "Margin impact is an estimate: the returns cost less the unit cost of what went back to stock."
          : "Margin impact is not shown, because the unit cost of none of these is known."
      }
    </p>`;
}
