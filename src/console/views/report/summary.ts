import { html, type Html } from "../../../lib/html.ts";
import { intervalFigure, rateFigure } from "../../charts/rates.ts";
import { sparkline } from "../../charts/plot.ts";
import { figure, valueAt, type ApiAnswer, type Format } from "../../figure.ts";
import {
  count,
  days,
  keyMoney,
  month,
  percent,
  points,
  tenthsOfPoint,
  units,
  wholePercent,
} from "../../format.ts";
import type { BodyOf, PageCall } from "../../page.ts";
import { countsOpenMonths } from "../coverage.ts";

type Report = ApiAnswer<BodyOf<"report">>;
/** `trend`: of the surrounding months; `before`: of the months they are compared with. null: not requested. */
export type TileAnswers = { report: Report; trend: Report | null; before: Report | null };

type Measure = "return_rate" | "returns_cost" | "returned_units" | "sold_units";

/** One of the four figures: how it is, its course, how it was before, and what there is to say. */
export type Tile = {
  label: string;
  value: Html;
  course: readonly (number | null)[];
  change: Html | null;
  notes: readonly Html[];
};

/** The four figures that a page begins with, each with its course and how it was before. */
export function summaryTiles(answers: TileAnswers, call: PageCall): Tile[] {
  const { report } = answers;
  const key = keyAmount(call.currencyCode);
  const amount = keyMoney(call.currencyCode);
  const parts =
    report.body.data.label_costs_included &&
    html`${figure(report, "summary/refunded_amount", amount)} refunds,
    ${figure(report, "summary/return_label_cost", amount)} labels`;
  const isReturned = report.body.data.summary.returned_units > 0;
  const cost = isReturned
    ? html`${figure(report, "summary/cost_per_returned_unit", key)} per returned unit`
    : null;
  const median = isReturned
    ? html`half of them within ${figure(report, "summary/median_days_to_return", days)}`
    : null;
  const costs = report.body.data.label_costs_included ? "Returns cost" : "Returns cost: refunds only";
  const tile = (label: string, measure: Measure, value: Html, notes: readonly (Html | null)[]): Tile => ({
    label,
    value,
    course: courseOf(answers, measure),
    change: changeOf(answers, call, measure),
    notes: notes.filter((note) => note !== null),
  });
  return [
    tile("Return rate", "return_rate", rateFigure(report, "summary"), [
      rateParts(report),
      rateOutlook(report),
    ]),
    tile(costs, "returns_cost", figure(report, "summary/returns_cost", key), [cost, parts || null]),
    tile("Units returned", "returned_units", figure(report, "summary/returned_units", count), [
      median,
      unitsOutlook(report),
    ]),
    tile("Units sold", "sold_units", figure(report, "summary/sold_units", count), []),
  ];
}

export function summaryFigures(answers: TileAnswers, call: PageCall): Html {
  return html`<dl class="figures">
      ${summaryTiles(answers, call).map(
        ({ label, value, course, change, notes }) =>
          html`<div>
            <dt>${label}</dt>
            <dd>
              <strong>${value}</strong>${sparkline(course)}${change}${notes.map((note) => html`<span class="note">${note}</span>`)}
            </dd>
          </div>`,
      )}
    </dl>
    ${notCompared(answers, call)}`;
}

/** "30 days of the order", or that there is no window. */
export function windowText(report: Report): Html {
  if (report.body.data.window_days === null) return html`any time after the order`;
  return html`${figure(report, "window_days", days)} of the order`;
}

/** Longer amounts are set smaller. */
const LONG = 12;

function keyAmount(currencyCode: string): Format<number> {
  const amount = keyMoney(currencyCode);
  return (value) => {
    const text = amount(value);
    return text.length > LONG ? html`<span class="long">${text}</span>` : text;
  };
}

function courseOf({ trend }: TileAnswers, measure: Measure): (number | null)[] {
  const rows = (trend?.body.data.trend ?? []).filter(({ is_complete: isDone }) => isDone !== false);
  return rows.map((row) => (row.sold_units > 0 ? row[measure] : null));
}

/** Null without sales, which the rate itself explains. */
function rateParts(report: Report): Html | null {
  if (report.body.data.summary.return_rate_interval === null) return null;
  return html`<a href="/docs/console#a-likely-range">likely</a>
    ${intervalFigure(report, "summary/return_rate_interval")} in the long run`;
}

/** M18: where the rate is heading while months of it are open. No figure includes it. */
function rateOutlook(report: Report): Html | null {
  if (report.body.data.summary.outlook === null) return null;
  const path = "summary/outlook";
  return html`expected to end at ${figure(report, `${path}/return_rate`, percent)}: from
  ${figure(report, `${path}/low`, percent)} to ${figure(report, `${path}/high`, percent)},
  ${figure(report, `${path}/level`, wholePercent)} of the time;
  ${figure(report, `${path}/share_observed`, percent)} of it seen by now`;
}

/** An expected number of units has decimals. */
const wholeCount: Format<number> = (value) => count(Math.round(value));

function unitsOutlook(report: Report): Html | null {
  if (report.body.data.summary.outlook === null) return null;
  return html`${figure(report, "summary/outlook/returned_units", wholeCount)} expected in the end`;
}

/** Why the tiles say nothing of months before; null = they do, or nothing was asked. */
function whyNotCompared({ report, before }: TileAnswers, call: PageCall): Html | string | null {
  if (call.query["compare"] === "none") return null;
  // Months that can still rise would look like good news.
  if (countsOpenMonths(report, "summary")) return "months in progress can still rise";
  if (valueAt(report, "meta/window") === "lifetime") return "newer orders have had less time to come back";
  if (before === null || before.body.data.summary.months_included === 0) return "no complete months before";
  return before.body.data.summary.sold_units === 0 ? "nothing was sold in the months before" : null;
}

/** The months that the tiles' changes are compared with, or why there are none. */
export function notCompared(answers: TileAnswers, call: PageCall): Html | null {
  const { report, before } = answers;
  const reason = whyNotCompared(answers, call);
  if (reason !== null) return html`<p class="compared">Not compared with earlier months: ${reason}.</p>`;
  if (before === null) return null;
  const [answer, months, path] = isComparison(answers)
    ? ([report, "comparison", "comparison"] as const)
    : ([before, "meta", "summary"] as const);
  const end = figure(answer, `${months}/end_month`, month);
  const isOne = before.body.meta.start_month === before.body.meta.end_month;
  return html`<p class="compared">
    Compared with ${isOne ? end : html`${figure(answer, `${months}/start_month`, month)} to ${end}`}:
    ${figure(answer, `${path}/returned_units`, count)} of ${figure(answer, `${path}/sold_units`, units)} came
    back.${beginning(before)}
  </p>`;
}

/** That the earlier months begin before the first sale, so that their sums are small; null: they do not. */
function beginning(before: Report): Html | null {
  const first = (before.body.data.trend ?? []).findIndex((row) => row.sold_units > 0);
  if (first <= 0) return null;
  return html` Of these months, ${figure(before, `trend/${first}/cohort_month`, month)} is the first with sales, so their
  counts and costs cover fewer months.`;
}

/** A figure's previous value, in words and with a sign, never by colour alone; null: nothing to compare with. */
function changeOf(answers: TileAnswers, call: PageCall, measure: Measure): Html | null {
  const { report, before } = answers;
  if (before === null || whyNotCompared(answers, call) !== null) return null;
  const [now, then] = [report.body.data.summary[measure], before.body.data.summary[measure]];
  const isRate = measure === "return_rate";
  const isOwn = isComparison(answers);
  const exact = isOwn ? (report.body.data.comparison?.return_rate_change ?? null) : null;
  // Based on the displayed values: a change that rounds to zero has no direction.
  const change = isRate ? tenthsOfPoint(exact ?? now - then) : now - then;
  const kind = change > 0 ? "up" : change < 0 ? "down" : "same";
  const [sign, word] = CHANGES[kind];
  const isCost = measure === "returns_cost";
  const format = isRate ? percent : isCost ? keyMoney(call.currencyCode) : count;
  const earlier =
    isOwn && !isCost
      ? figure(report, `comparison/${measure}`, format)
      : figure(before, `summary/${measure}`, format);
  const step = isRate && isOwn ? figure(report, "comparison/return_rate_change", points) : html`${word}`;
  return html`<span class="delta ${kind}"
    ><span aria-hidden="true">${sign}</span> ${step} <small>from ${earlier}</small></span
  >`;
}

const CHANGES = { up: ["▲", "more"], down: ["▼", "less"], same: ["=", "the same"] } as const;

/** Whether the report's own comparison is with these months. */
function isComparison({ report, before }: TileAnswers): boolean {
  const own = report.body.data.comparison ?? null;
  const meta = before?.body.meta;
  return own !== null && own.start_month === meta?.start_month && own.end_month === meta.end_month;
}
