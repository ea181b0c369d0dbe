import { max, greatest, least } from "d3-array";
import { area, line } from "d3-shape";
import type { ReportData } from "../../contract/report.ts";
import { html, type Html } from "../../lib/html.ts";
import { dayFromText, firstDayOfMonth, monthOfDate } from "../../lib/month.ts";
import { figure, valueAt, type ApiAnswer } from "../figure.ts";
import { days, wholePercent, count, percent } from "../format.ts";
import { chartFigure, nothingToDraw, figureTable, type ChartInput, type LegendItem } from "./frame.ts";
import { marksDrawing, marksOf, triangle, type ColumnDays, type Mark } from "./marks.ts";
import {
  type Scale,
  columns,
  verticalScale,
  monthAxis,
  paths,
  percentTick,
  place,
  verticalAxis,
  boxSwatch,
  dotSwatch,
  lineSwatch,
} from "./plot.ts";
import {
  DEFAULT_FEW_UNITS,
  areFew,
  intervalFigure,
  monthFigure,
  rateFigure,
  soldFigure,
  differ,
  placeFigure,
  placeName,
  stepOf,
  type Step,
} from "./rates.ts";

/** An interval is drawn up to this multiple of the highest rate; the drawing marks that it continues. */
const REACH = 2.5;

/** The rows of the trend by the answer's interval (M26): their name, and the column heading. */
const STEPS: Readonly<Record<Step, string>> = { month: "Month", week: "Week from", day: "Day" };

/**
 * Is it rising? The return rate of each order month, week or day with its interval; open ones hollow, months with the outlook.
 */
export function trendChart({
  answer,
  exportHref,
  fewUnits = DEFAULT_FEW_UNITS,
  marks = [],
}: ChartInput & { marks?: readonly Mark[] }): Html {
  const rows = (valueAt(answer, "trend") ?? []) as ReportRow[];
  const { middle } = columns(rows.length);
  const step = stepOf(answer);
  const months = rows.map((row, index) => {
    const ofRow = daysOf(row, step);
    return { ...row, ...ofRow, x: middle(index), path: `trend/${index}`, marks: marksOf(ofRow, marks) };
  });
  const sold = months.filter((row) => row.sold_units > 0);
  if (sold.length === 0)
    return nothingToDraw("Nothing was sold in these months, so there is no return rate to draw.");
  const scale = verticalScale(0, highestOf(sold));
  const isCut = sold.some((row) => topOf(row) > highestOf(sold));
  return chartFigure({
    id: `${answer.name}-trend`,
    title: trendFinding(answer, sold, fewUnits),
    summary: summaryOf(answer),
    drawing: sold.length > 1 ? trendDrawing(months, scale) : null,
    legend: legendOf(
      answer,
      sold,
      months.flatMap((row) => row.marks),
    ),
    notes: [
      sold.some((row) => areFew(row.sold_units, fewUnits)) &&
        `Some ${step}s have few units: a wide interval means that chance alone can move the rate that far.`,
      isCut && "Some intervals extend above the chart; the table shows them in full.",
    ],
    table: trendTable(answer, months, fewUnits),
    readout: STEPS[step],
    exportHref,
  });
}

function legendOf(
  answer: ApiAnswer,
  sold: readonly TrendMonth[],
  marks: readonly Mark[],
): (LegendItem | false)[] {
  const expected = sold.find((row) => row.outlook !== null);
  return [
    { swatch: lineSwatch("rate", dotSwatch("dot")), text: "return rate" },
    { swatch: boxSwatch("band"), text: "likely range (95 % interval)" },
    sold.some((row) => row.is_complete === false) && {
      swatch: dotSwatch("dot open"),
      text: `so far in ${stepOf(answer)}s still open, can rise`,
    },
    expected !== undefined && {
      swatch: html`${lineSwatch("rate open")}${whisker("15", "1", "13", "7")}`,
      text: html`outlook: where the month is likely to end,
      ${figure<number>(answer, `${expected.path}/outlook/level`, wholePercent)} of the time`,
    },
    marks.some(({ kind }) => kind === "problem") && {
      swatch: html`<svg x="15" y="11" overflow="visible">${triangle()}</svg>`,
      text: "a problem began",
    },
    marks.some(({ kind }) => kind === "sale") && { swatch: lineSwatch("sale"), text: "sale days" },
  ];
}

function topOf({
  return_rate_interval: interval,
  is_complete: isComplete,
  return_rate: rate,
}: TrendMonth): number {
  return isComplete === false ? rate : Math.max(rate, interval?.high ?? 0);
}

function highestOf(sold: readonly TrendMonth[]): number {
  const highest = max(sold, (row) => Math.max(row.return_rate, row.outlook?.high ?? 0)) ?? 0;
  const top = max(sold, topOf) ?? 0;
  return highest > 0 ? Math.min(1, Math.max(highest, Math.min(top, highest * REACH))) : top;
}

function summaryOf(answer: ApiAnswer): Html {
  const step = stepOf(answer);
  if (valueAt(answer, "window_days") === null) {
    return html`Share of the units sold in a ${step} that has come back so far. Newer ${step}s have had less time,
    so they look better than they will.`;
  }
  return html`Share of the units sold in a ${step} that came back within ${figure(answer, "window_days", days)}
  of the order. The band is the likely range of each rate: the 95 % interval, wide where little was sold or
  orders come back as a whole.`;
}

/** The trend's figures, a row per month, week or day; the readout begins with the newest complete one. */
function trendTable(answer: ApiAnswer, months: readonly TrendMonth[], fewUnits: number): Html {
  const hasOutlook = months.some((row) => row.outlook !== null);
  const hasMarks = months.some((row) => row.marks.length > 0);
  const step = stepOf(answer);
  const start = months.findLast((row) => row.sold_units > 0 && row.is_complete !== false);
  return figureTable(
    [
      STEPS[step],
      "Return rate",
      "95 % interval",
      ...(hasOutlook ? ["Outlook"] : []),
      "Units sold",
      "Units returned",
      `${step === "month" ? "Month" : step === "week" ? "Week" : "Day"} is`,
      ...(hasMarks ? ["Marked"] : []),
    ],
    months.map((row) => ({
      head: placeFigure(answer, row.path),
      cells: [
        rateFigure(answer, row.path),
        intervalFigure(answer, `${row.path}/return_rate_interval`),
        ...(hasOutlook ? [outlookCell(answer, row)] : []),
        soldFigure(answer, row.path, areFew(row.sold_units, fewUnits)),
        figure(answer, `${row.path}/returned_units`, count),
        figure(answer, `${row.path}/is_complete`, stateOf, "never complete: no window"),
        ...(hasMarks
          ? [
              html`<span class="marked">${row.marks.map(({ words }, order) => html`${order > 0 && "; "}${words}`)}</span>`,
            ]
          : []),
      ],
      x: row.x,
      isStart: row === start,
    })),
  );
}

function stateOf(isComplete: boolean): string {
  return isComplete ? "complete" : "still open";
}

function outlookCell(answer: ApiAnswer, { path, outlook, is_complete: isComplete }: TrendMonth): Html {
  if (outlook === null) {
    return figure(
      answer,
      `${path}/outlook`,
      String,
      isComplete === false ? "too little history" : "complete",
    );
  }
  return html`${figure(answer, `${path}/outlook/return_rate`, percent)}
  (${intervalFigure(answer, `${path}/outlook`)}), ${figure(answer, `${path}/outlook/share_observed`, percent)}
  of it seen`;
}

/**
 * Interval as a band, rate as a line with dots. Open months have hollow dots for the returns so far, and a dashed line to the
 * outlook: a line to a rate that can still rise would look like an improvement.
 */
function trendDrawing(months: readonly TrendMonth[], scale: Scale): Html {
  const isDrawn = (row: TrendMonth): boolean => row.sold_units > 0;
  const isOpen = (row: TrendMonth): boolean => isDrawn(row) && row.is_complete === false;
  const isSolid = (row: TrendMonth): boolean => isDrawn(row) && !isOpen(row);
  const isBanded = (row: TrendMonth): boolean => isSolid(row) && row.return_rate_interval !== null;
  const rate = line<TrendMonth>()
    .x((row) => row.x)
    .y((row) => scale(row.return_rate));
  const band = area<TrendMonth>()
    .x((row) => row.x)
    .y0((row) => scale(row.return_rate_interval?.low ?? 0))
    .y1((row) => scale(row.return_rate_interval?.high ?? 0))
    .defined(isBanded);
  const expected = line<TrendMonth>()
    .x((row) => row.x)
    .y((row) => scale(row.outlook?.return_rate ?? row.return_rate))
    .defined((row) => isSolid(row) || (isDrawn(row) && row.outlook !== null));
  const dashed = months.filter(
    (row, index) =>
      isOpen(row) ||
      (isSolid(row) && months[index + 1] !== undefined && isOpen(months[index + 1] as TrendMonth)),
  );
  const alone = months.filter(
    (row, index) =>
      isBanded(row) && ![months[index - 1], months[index + 1]].some((beside) => beside && isBanded(beside)),
  );
  const firsts = months.filter((row, index) => row.cohort_month !== months[index - 1]?.cohort_month);
  return html`${verticalAxis(scale, percentTick)}${monthAxis(
    firsts.map((row) => row.cohort_month),
    (index) => firsts[index]?.x ?? 0,
  )}
  ${paths(html`<path class="band" d="${band(months) ?? ""}" />${alone.map(({ x, return_rate_interval: interval }) => html`<line class="band-line" x1="${x}" x2="${x}" y1="${scale(interval?.low ?? 0)}" y2="${scale(interval?.high ?? 0)}" />`)}`, true)}
  ${paths(html`<path class="rate" d="${rate.defined(isSolid)(months) ?? ""}" /><path class="rate open" d="${expected(dashed) ?? ""}" />`)}
  ${months.map(({ x, outlook }) => outlook && whisker(place(x), place(scale(outlook.high)), place(scale(outlook.low)), place(scale(outlook.return_rate))))}
  ${months.filter(isDrawn).map((row) => html`<circle class="${isOpen(row) ? "dot open" : "dot"}" cx="${place(row.x)}" cy="${place(scale(row.return_rate))}" r="${months.length > 36 ? 2.5 : 4}" />`)}
  ${marksDrawing(months)}`;
}

/** An outlook: a line from low to high, with a bar at the expected rate. */
function whisker(x: string, top: string, bottom: string, expected: string): Html {
  return html`<g class="whisker"
    ><line x1="${x}" x2="${x}" y1="${top}" y2="${bottom}" /><svg x="${x}" overflow="visible">
      <line x1="-4" x2="4" y1="${top}" y2="${top}" />
      <line x1="-4" x2="4" y1="${bottom}" y2="${bottom}" />
      <line class="expected" x1="-6" x2="6" y1="${expected}" y2="${expected}" /></svg
  ></g>`;
}

/** A row of the trend, its position in the answer, and its place on the horizontal axis. */
type ReportRow = NonNullable<ReportData["trend"]>[number];
type TrendMonth = ReportRow & ColumnDays & { path: string; x: number; marks: readonly Mark[] };

/**
 * The finding of a trend, from complete months with sales, oldest first: a rise or fall from first to last, else a month that
 * stands out, else that they are similar. Months differ if their intervals do not overlap; those with few units do not count. Of
 * many weeks or days one always stands out by chance, so none is named.
 */
function trendFinding(answer: ApiAnswer, months: readonly TrendMonth[], fewUnits: number): Html {
  const closed = months.filter((row) => row.is_complete !== false);
  const enough = closed.filter((row) => !areFew(row.sold_units, fewUnits));
  if (closed.length > 1 && enough.length < 2)
    return html`Too few units are sold in a ${stepOf(answer)} to show a trend`;
  const complete = closed.length > 1 ? enough : closed;
  const [first, last] = [complete.at(0), complete.at(-1)];
  if (first === undefined || last === undefined) return openFinding(answer, months);
  const rate = (row: TrendMonth): Html => rateFigure(answer, row.path);
  if (first === last) return html`${rate(last)} of what was sold in ${nameOf(answer, last)} came back`;
  const lowest = least(complete, (row) => row.return_rate) ?? first;
  const highest = greatest(complete, (row) => row.return_rate) ?? last;
  if (last.is_complete === null) {
    return html`So far, returns are highest for orders of ${nameOf(answer, highest)}: ${rate(highest)}`;
  }
  if (differ(first, last)) {
    const verb = last.return_rate > first.return_rate ? "rose" : "fell";
    return html`Returns ${verb} from ${rate(first)} to ${rate(last)} between ${between(answer, first, last)}`;
  }
  if (differ(lowest, highest) && stepOf(answer) === "month") {
    if (highest === closed.at(-1)) {
      return html`Returns were highest in ${nameOf(answer, highest)}: ${rate(highest)}; the lowest month is
      ${nameOf(answer, lowest)}, at ${rate(lowest)}`;
    }
    return html`Returns peaked at ${rate(highest)} in ${nameOf(answer, highest)}; the lowest month is
    ${nameOf(answer, lowest)}, at ${rate(lowest)}`;
  }
  return html`Returns stayed between ${rate(lowest)} and ${rate(highest)} from
  ${between(answer, first, last, "to")}`;
}

function openFinding(answer: ApiAnswer, months: readonly TrendMonth[]): Html {
  const last = months.at(-1);
  if (last === undefined) return html`Nothing was sold`;
  return html`Every ${stepOf(answer)} with sales is still open: so far ${rateFigure(answer, last.path)} of
  ${nameOf(answer, last)} came back`;
}

function between(answer: ApiAnswer, first: TrendMonth, last: TrendMonth, word = "and"): Html {
  if (first.period_start !== undefined) return html`${nameOf(answer, first)} ${word} ${nameOf(answer, last)}`;
  const sameYear = first.cohort_month.slice(0, 4) === last.cohort_month.slice(0, 4);
  return html`${monthFigure(answer, `${first.path}/cohort_month`, !sameYear)} ${word} ${nameOf(answer, last)}`;
}

function nameOf(answer: ApiAnswer, { path }: TrendMonth): Html {
  return placeName(answer, path);
}

/** The days of a row: a week ends with its Sunday or its month. */
function daysOf({ cohort_month: month, period_start: from }: ReportRow, step: Step): ColumnDays {
  const start = dayFromText(from ?? month) ?? 0;
  const nextMonth = firstDayOfMonth(monthOfDate(month) + 1);
  const length = { month: nextMonth - start, week: DAYS_OF_WEEK - ((start + 3) % DAYS_OF_WEEK), day: 1 }[
    step
  ];
  return { start, end: Math.min(start + length, nextMonth) };
}

const DAYS_OF_WEEK = 7;
