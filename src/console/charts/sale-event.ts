import { max } from "d3-array";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure, valueAt } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { count, day, points } from "../format.ts";
import { chartFigure, nothingToDraw } from "./frame.ts";
import type { ChartInput } from "./frame.ts";
import { FULL, percentTick, place, verticalScale } from "./plot.ts";
import { differ, intervalFigure, rateFigure, soldFigure } from "./rates.ts";
import type { Rate } from "./rates.ts";

type SaleEvent = { baseline: string; event: Rate; baseline_period: Rate; return_rate_change: number | null };
type Side = { name: string; path: string; rate: Rate; y: string };

const BASELINES: Readonly<Record<string, string>> = {
  matched_prior: "as many days right before",
  selected_non_sale: "days of these months without a sale",
  prior_year: "the same days a year before",
};

/** Did the sale do it? The intervals of the sale event and of its baseline on one axis; the difference in words. */
export function saleEventChart({ answer, exportHref }: ChartInput): Html {
  const sale = (valueAt(answer, "sale_event") ?? null) as SaleEvent | null;
  if (sale === null) return nothingToDraw("No sale event is selected.");
  const baseline = BASELINES[sale.baseline] ?? sale.baseline;
  const sides: Side[] = [
    { name: "Sale", path: "sale_event/event", rate: sale.event, y: "30%" },
    { name: "Baseline", path: "sale_event/baseline_period", rate: sale.baseline_period, y: "80%" },
  ];
  return chartFigure({
    id: `${answer.name}-sale-event`,
    title: findingOf(answer, sale),
    summary: html`Return rates with their 95 % intervals: what was sold during the sale, and the baseline,
    ${figure<string>(answer, "sale_event/baseline", () => baseline)}.`,
    drawing: sides.every(({ rate }) => (rate.return_rate_interval ?? null) !== null)
      ? drawingOf(sides)
      : null,
    axisLabel: "Return rate",
    table: html`<table>
      <thead>
        <tr>
          <th scope="col">Days</th>
          <th scope="col">Return rate</th>
          <th scope="col">95 % interval</th>
          <th scope="col">Sold</th>
          <th scope="col">Returned</th>
          <th scope="col">Days that count</th>
          <th scope="col">From</th>
          <th scope="col">To</th>
        </tr>
      </thead>
      <tbody>
        ${sides.map(
          ({ name, path }) =>
            html`<tr>
              <th scope="row">${name}</th>
              <td>${rateFigure(answer, path)}</td>
              <td>${intervalFigure(answer, `${path}/return_rate_interval`)}</td>
              <td>${soldFigure(answer, path)}</td>
              <td>${figure(answer, `${path}/returned_units`, count)}</td>
              <td>${figure(answer, `${path}/days`, count)}</td>
              ${["starts_on", "ends_on"].map((end) => html`<td>${figure(answer, `${path === "sale_event/event" ? "sale_event" : path}/${end}`, day, "no single span")}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>`,
    exportHref,
  });
}

function drawingOf(sides: readonly Side[]): Html {
  const vertical = verticalScale(0, max(sides, ({ rate }) => rate.return_rate_interval?.high ?? 0) ?? 0);
  const x = (value: number): string => place(FULL - vertical(value));
  const ticks = vertical.ticks(4);
  const step = (ticks[1] ?? 1) - (ticks[0] ?? 0);
  const low = Math.max(...sides.map(({ rate }) => rate.return_rate_interval?.low ?? 0));
  const high = Math.min(...sides.map(({ rate }) => rate.return_rate_interval?.high ?? 0));
  return html`${low < high && html`<rect class="overlap" x="${x(low)}" width="${place(vertical(low) - vertical(high))}" y="0" height="100%" />`}
    <g class="axis"
      >${ticks.map((tick) => html`<line class="${tick === 0 ? "zero" : "grid"}" x1="${x(tick)}" x2="${x(tick)}" y1="0" y2="100%" /><text x="${x(tick)}" y="100%" dy="19" text-anchor="middle">${percentTick(tick, step)}</text>`)}</g
    >
    ${sides.map(({ name, rate, y }, order) => {
      const { low: from, high: to } = rate.return_rate_interval ?? { low: 0, high: 0 };
      return html`<text class="side-name" x="0" y="${y}" dx="8" dy="-14">${name}</text
        ><line
          class="interval-line line-${order + 1}"
          x1="${x(from)}"
          x2="${x(to)}"
          y1="${y}"
          y2="${y}"
        /><circle class="mark mark-${order + 1}" cx="${x(rate.return_rate)}" cy="${y}" r="6" />`;
    })}`;
}

function findingOf(
  answer: ApiAnswer,
  { event, baseline_period: baseline, return_rate_change: change }: SaleEvent,
): Html {
  const name = figure(answer, "sale_event/label", String);
  if (event.sold_units === 0) return html`No day of ${name} counts yet, or nothing was sold`;
  const rate = html`${rateFigure(answer, "sale_event/event")} of what was sold in ${name} came back`;
  if (baseline.sold_units === 0 || change === null) return html`${rate}; the baseline sold nothing`;
  const against = html`${rate}, against ${rateFigure(answer, "sale_event/baseline_period")} of the baseline
  (${figure(answer, "sale_event/return_rate_change", points)})`;
  return html`${against}:
  ${differ(event, baseline) ? "a clear difference" : "the intervals overlap, so chance may explain it"}`;
}
