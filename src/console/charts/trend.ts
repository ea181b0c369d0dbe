import { max } from "d3-array";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure, valueAt } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { days, wholePercent } from "../format.ts";
import { chartFigure, nothingToDraw } from "./frame.ts";
import type { ChartInput, LegendItem } from "./frame.ts";
import { columns, verticalScale } from "./plot.ts";
import { DEFAULT_FEW_UNITS, areFew } from "./rates.ts";
import { boxSwatch, dotSwatch, lineSwatch } from "./swatches.ts";
import { trendDrawing, whisker } from "./trend-drawing.ts";
import { trendFinding } from "./trend-finding.ts";
import type { TrendMonth } from "./trend-finding.ts";
import { trendTable } from "./trend-table.ts";

/** An interval reaches at most this many times as high as the highest rate; beyond, the drawing says that it goes on. */
const REACH = 2.5;

/**
 * Is it rising? The return rate of each order month with its interval; open months hollow, with the outlook.
 * `path` leads to the report's trend.
 */
export function trendChart({
  answer,
  exportHref,
  fewUnits = DEFAULT_FEW_UNITS,
  path = "trend",
}: ChartInput & { path?: string }): Html {
  const rows = (valueAt(answer, path) ?? []) as TrendMonth[];
  const { middle } = columns(rows.length);
  const months = rows.map((row, index) => ({ ...row, x: middle(index), path: `${path}/${index}` }));
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
    legend: legendOf(answer, sold),
    notes: [
      sold.some((row) => areFew(row.sold_units, fewUnits)) &&
        "Some months have few units: a wide interval means that chance alone can move the rate that far.",
      isCut && "Some intervals reach above the drawing; the table has them in full.",
    ],
    table: trendTable(answer, months, fewUnits),
    readout: "Month",
    exportHref,
  });
}

function legendOf(answer: ApiAnswer, sold: readonly TrendMonth[]): (LegendItem | false)[] {
  const expected = sold.find((row) => row.outlook !== null);
  return [
    { swatch: lineSwatch("rate", dotSwatch("dot")), text: "return rate" },
    { swatch: boxSwatch("band"), text: "likely range (95 % interval)" },
    sold.some((row) => row.is_complete === false) && {
      swatch: dotSwatch("dot open"),
      text: "so far in months still open, can rise",
    },
    expected !== undefined && {
      swatch: html`${lineSwatch("rate open")}${whisker("15", "1", "13", "7")}`,
      text: html`outlook: where the month is likely to end,
      ${figure<number>(answer, `${expected.path}/outlook/level`, wholePercent)} of the time`,
    },
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
  if (valueAt(answer, "window_days") === null) {
    return html`Share of the units sold in a month that has come back so far. Newer months have had less time,
    so they look better than they will.`;
  }
  return html`Share of the units sold in a month that came back within ${figure(answer, "window_days", days)}
  of the order. The band is the likely range of each rate: the 95 % interval, wide where little was sold or
  orders come back as a whole.`;
}
