import { area, line } from "d3-shape";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { monthAxis, paths, percentTick, place, verticalAxis } from "./plot.ts";
import type { Scale } from "./plot.ts";
import type { TrendMonth } from "./trend-finding.ts";

/**
 * Interval as a band, rate as a line with dots. Of open months hollow dots for what came back so far, and a dashed line to the
 * outlook: a line to what can still rise would look like an improvement.
 */
export function trendDrawing(months: readonly TrendMonth[], scale: Scale): Html {
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
  return html`${verticalAxis(scale, percentTick)}${monthAxis(
    months.map((row) => row.cohort_month),
    (index) => months[index]?.x ?? 0,
  )}
  ${paths(html`<path class="band" d="${band(months) ?? ""}" />${alone.map(({ x, return_rate_interval: interval }) => html`<line class="band-line" x1="${x}" x2="${x}" y1="${scale(interval?.low ?? 0)}" y2="${scale(interval?.high ?? 0)}" />`)}`, true)}
  ${paths(html`<path class="rate" d="${rate.defined(isSolid)(months) ?? ""}" /><path class="rate open" d="${expected(dashed) ?? ""}" />`)}
  ${months.map(({ x, outlook }) => outlook && whisker(place(x), place(scale(outlook.high)), place(scale(outlook.low)), place(scale(outlook.return_rate))))}
  ${months.filter(isDrawn).map((row) => html`<circle class="${isOpen(row) ? "dot open" : "dot"}" cx="${place(row.x)}" cy="${place(scale(row.return_rate))}" r="${months.length > 36 ? 2.5 : 4}" />`)}`;
}

/** An outlook: a line from low to high, with a bar at the expected rate. */
export function whisker(x: string, top: string, bottom: string, expected: string): Html {
  return html`<g class="whisker"
    ><line x1="${x}" x2="${x}" y1="${top}" y2="${bottom}" /><svg x="${x}" overflow="visible">
      <line x1="-4" x2="4" y1="${top}" y2="${top}" />
      <line x1="-4" x2="4" y1="${bottom}" y2="${bottom}" />
      <line class="expected" x1="-6" x2="6" y1="${expected}" y2="${expected}" /></svg
  ></g>`;
}
