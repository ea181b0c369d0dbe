import { readFigures } from "../../actions/right.ts";
import type { IsWatched } from "../../actions/watchlist/actions.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { count, percent } from "../format.ts";
import { definePage } from "../page.ts";
import { parameterNames } from "../page-names.ts";
import type { BodyOf, PageCall, PageParameters, View } from "../page.ts";
import { pick, stateWithoutSelector } from "../selection.ts";
import { SELECTOR_NAMES } from "../../contract/parameters.ts";
import { bar } from "../views/bar.ts";
import { filterForm, selectField, textField } from "../views/filters.ts";
import { limitField, rankedNote, rateOptions } from "../views/leaderboard.ts";
import { monthRange } from "../views/month-range.ts";
import { noCompleteMonth } from "../views/no-months.ts";
import { productCell } from "../views/product-cell.ts";
import { dataTable } from "../views/table.ts";
import { watchColumn } from "../views/watch-mark.ts";

const PATH = "/leaderboards/return-rate";
const TITLE = "Highest return rates";
const LIMIT = "25";

type Leaderboard = ApiAnswer<BodyOf<"return-rate-leaderboard">>;
type Ranked = { answer: Leaderboard; isWatched: IsWatched };

/** SKUs by return rate over the newest complete month or year. */
export const returnRateLeaderboard = definePage<Ranked>({
  name: "return-rate-leaderboard",
  path: PATH,
  right: readFigures,
  link: "Highest rates",
  takes: parameterNames("return-rate-leaderboard"),
  data: async (call) => {
    const limit = call.query["limit"] ?? LIMIT;
    const [answer, isWatched] = await Promise.all([
      call.read("leaderboard", "return-rate-leaderboard", { ...call.query, limit }),
      call.watched(),
    ]);
    return { answer, isWatched };
  },
  view: (data, call) => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      ${lead(data.answer, call)} ${form(call)} ${ranking(data, call)}`,
  }),
  refused: (call): View => ({
    title: TITLE,
    body: html`<h1>${TITLE}</h1>
      ${form(call)}`,
  }),
});

function lead(answer: Leaderboard, call: PageCall): Html {
  if (answer.body.meta.months_included === 0) return noCompleteMonth(call);
  return html`<p class="lead">
    Which SKUs came back most, of the orders of ${monthRange(answer)}, within ${call.primaryWindowDays} days of
    the order
  </p>`;
}

const PERIODS = [
  ["year", "Newest 12 complete months"],
  ["month", "Newest complete month"],
] as const;

function form(call: PageCall): Html {
  const { query } = call;
  return filterForm(call, PATH, pick(query, [...SELECTOR_NAMES, "include_used_variants"]), [
    selectField("period", "Orders of", query["period"] ?? "year", PERIODS),
    selectField("min_return_rate", "Return rate", query["min_return_rate"] ?? "", rateOptions()),
    textField("min_sold_units", "Sold units, at least", query["min_sold_units"], "decimal"),
    textField("vendor", "Vendor", query["vendor"]),
    limitField(query["limit"] ?? LIMIT, ["10", "25", "50", "100", "500"]),
  ]);
}

function ranking({ answer, isWatched }: Ranked, call: PageCall): Html | null {
  const { data, meta } = answer.body;
  if (meta.months_included === 0) return null;
  const note = rankedNote(answer, call, PATH, call.query["limit"] ?? LIMIT);
  if (data.rows.length === 0) return note;
  const longest = Math.max(...data.rows.map((row) => row.return_rate), meta.totals.return_rate);
  const watching = watchColumn(
    call,
    isWatched,
    data.rows.map(({ sku }) => ({ type: "sku", key: sku })),
  );
  const rows = data.rows.map((row, index) => {
    const path = `rows/${index}`;
    return [
      productCell(row, {
        rank: index + 1,
        href: call.href("/report", { ...reportState(answer, call), sku: row.sku }),
        imageSources: call.imageSources,
      }),
      html`<strong>${figure(answer, `${path}/return_rate`, percent)}</strong>`,
      bar([row.return_rate / (longest || 1)], meta.totals.return_rate / (longest || 1)),
      figure(answer, `${path}/returned_units`, count),
      figure(answer, `${path}/sold_units`, count),
      ...watching.cellsOf(index),
    ];
  });
  return html`${note}
  ${dataTable(
    "SKUs by return rate, the highest first",
    [
      { text: "Product and SKU" },
      { text: "Return rate", isNumber: true },
      { text: "The line is the rate of all", isDrawing: true },
      { text: "Units returned", isNumber: true },
      { text: "Units sold", isNumber: true },
      ...watching.columns,
    ],
    rows,
    [
      html`All that are ranked`,
      html`<strong>${figure(answer, "meta/totals/return_rate", percent)}</strong>`,
      html``,
      figure(answer, "meta/totals/returned_units", count),
      figure(answer, "meta/totals/sold_units", count),
      ...watching.none,
    ],
  )}
  ${threshold(answer)}`;
}

/** A year's months roll on as the report's own do, so that its links carry none. The window is always the usual one. */
function reportState({ body: { meta } }: Leaderboard, { query }: PageCall): PageParameters {
  const { period, start_month, end_month } = meta;
  const { vendor, include_used_variants } = stateWithoutSelector(query);
  return { vendor, include_used_variants, ...(period === "year" ? {} : { start_month, end_month }) };
}

function threshold(answer: Leaderboard): Html | null {
  if (answer.body.data.min_sold_units === 0) return null;
  return html`<p class="note">
    A SKU is ranked from ${figure(answer, "min_sold_units", count)} sold units on. With fewer, a single return
    would move its rate too far.
  </p>`;
}
