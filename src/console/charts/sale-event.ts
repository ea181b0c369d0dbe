import { max } from "d3-array";
import { html, type Html } from "../../lib/html.ts";
import { figure, valueAt, type ApiAnswer } from "../figure.ts";
import { count, day, points } from "../format.ts";
import { chartFigure, nothingToDraw, figureTable, type ChartInput } from "./frame.ts";
import { FULL, percentTick, place, verticalScale, boxSwatch } from "./plot.ts";
import { DEFAULT_FEW_UNITS, areFew, differ, intervalFigure, rateFigure, soldFigure } from "./rates.ts";
import type { Interval, Rate } from "./rates.ts";

type SaleEvent = { baseline: string; event: Rate; baseline_period: Rate; return_rate_change: number | null };
type Side = { name: string; path: string; rate: Rate; y: string };

const BASELINES: Readonly<Record<string, string>> = {
  matched_prior: "as many days right before",
  selected_non_sale: "days of these months without a sale",
  prior_year: "the same days a year before",
};

/** Did the sale do it? The intervals of the sale event and of its baseline on one axis; the difference in words. */
export function saleEventChart({ answer, exportHref, fewUnits = DEFAULT_FEW_UNITS }: ChartInput): Html {
  const sale = (valueAt(answer, "sale_event") ?? null) as SaleEvent | null;
  if (sale === null) return nothingToDraw("No sale days are selected.");
  const baseline = BASELINES[sale.baseline] ?? sale.baseline;
  const sides: Side[] = [
    { name: "Sale", path: "sale_event/event", rate: sale.event, y: "32%" },
    { name: "Baseline", path: "sale_event/baseline_period", rate: sale.baseline_period, y: "82%" },
  ];
  return chartFigure({
    id: `${answer.name}-sale-event`,
    title: findingOf(answer, sale),
    summary: html`${differenceOf(answer, sale)} The baseline is
    ${figure<string>(answer, "sale_event/baseline", () => baseline)}.`,
    drawing: sides.every(({ rate }) => (rate.return_rate_interval ?? null) !== null)
      ? drawingOf(sides)
      : null,
    isShort: true,
    axisLabel: "Return rate with its 95 % interval",
    legend: [overlapOf(sides) !== null && { swatch: boxSwatch("overlap"), text: "where the ranges overlap" }],
    table: figureTable(
      ["Period", "Return rate", "95 % interval", "Units sold", "Units returned", "Days", "From", "To"],
      sides.map(({ name, path, rate }) => ({
        head: name,
        cells: [
          rateFigure(answer, path),
          intervalFigure(answer, `${path}/return_rate_interval`),
          soldFigure(answer, path, areFew(rate.sold_units, fewUnits)),
          ...["returned_units", "days"].map((each) => figure(answer, `${path}/${each}`, count)),
          // The baseline's days count from and to; the event has its dates.
          ...["starts_on", "ends_on"].map((end) =>
            figure(answer, `${path.replace("/event", "")}/${end}`, day, "no single span"),
          ),
        ],
      })),
    ),
    isTableOpen: true,
    exportHref,
  });
}

function drawingOf(sides: readonly Side[]): Html {
  const vertical = verticalScale(0, max(sides, ({ rate }) => rate.return_rate_interval?.high ?? 0) ?? 0);
  const x = (value: number): string => place(FULL - vertical(value));
  const ticks = vertical.ticks(4);
  const step = (ticks[1] ?? 1) - (ticks[0] ?? 0);
  const both = overlapOf(sides);
  return html`${both !== null && html`<rect class="overlap" x="${x(both.low)}" width="${place(vertical(both.low) - vertical(both.high))}" y="0" height="100%" />`}
    <g class="axis"
      >${ticks.map((tick) => html`<line class="${tick === 0 ? "zero" : "grid"}" x1="${x(tick)}" x2="${x(tick)}" y1="0" y2="100%" /><text x="${x(tick)}" y="100%" dy="19" text-anchor="middle">${percentTick(tick, step)}</text>`)}</g
    >
    ${sides.map(({ name, rate, y }, order) => {
      const { low: from, high: to } = rate.return_rate_interval ?? { low: 0, high: 0 };
      return html`<text class="side-name" x="0" y="${y}" dx="8" dy="-14">${name}</text
        ><line
          class="interval-line side-${order + 1}"
          x1="${x(from)}"
          x2="${x(to)}"
          y1="${y}"
          y2="${y}"
        /><circle class="mark side-mark-${order + 1}" cx="${x(rate.return_rate)}" cy="${y}" r="6" />`;
    })}`;
}

function overlapOf(sides: readonly Side[]): Interval | null {
  const low = Math.max(...sides.map(({ rate }) => rate.return_rate_interval?.low ?? 1));
  const high = Math.min(...sides.map(({ rate }) => rate.return_rate_interval?.high ?? 0));
  return low < high ? { low, high } : null;
}

function findingOf(answer: ApiAnswer, { event, baseline_period: baseline }: SaleEvent): Html {
  const name = figure(answer, "sale_event/label", String);
  if (event.sold_units === 0) return html`${name}: nothing was sold on days that count so far`;
  const rate = html`${name}: ${rateFigure(answer, "sale_event/event")} came back`;
  if (baseline.sold_units === 0) return html`${rate}; the baseline sold nothing`;
  return html`${rate}, against ${rateFigure(answer, "sale_event/baseline_period")} in the baseline`;
}

function differenceOf(
  answer: ApiAnswer,
  { event, baseline_period: baseline, return_rate_change: change }: SaleEvent,
): Html {
  if (change === null || event.sold_units === 0 || baseline.sold_units === 0)
    return html`One side sold nothing, so there is nothing to compare.`;
  const words = differ(event, baseline)
    ? "the likely ranges (95 % intervals) do not overlap, so it is clear"
    : "the likely ranges (95 % intervals) overlap, so it is not clear";
  return html`The difference is ${figure(answer, "sale_event/return_rate_change", points)}: ${words}.`;
}
