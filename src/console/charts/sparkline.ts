import { line } from "d3-shape";
import { html, type Html } from "../../lib/html.ts";
import { paths, place, verticalScale, FULL } from "./plot.ts";
import type { Rate } from "./rates.ts";

/**
 * A figure's development, next to the figure and only visual: from zero up, the newest value as a dot. null leaves a gap; fewer
 * than two values draw nothing.
 */
export function sparkline(values: readonly (number | null)[]): Html | null {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return null;
  const scale = verticalScale(Math.min(...known), Math.max(...known));
  const x = (index: number): number => (100 * index) / (values.length - 1);
  const course = line<number | null>()
    .x((_, index) => x(index))
    .y((value) => scale(value ?? 0))
    .defined((value) => value !== null);
  const last = values.findLastIndex((value) => value !== null);
  return html`<svg class="spark" aria-hidden="true">
    ${paths(html`<path d="${course(values as (number | null)[]) ?? ""}" />`)}
    <circle cx="${place(x(last))}" cy="${place(scale(values[last] ?? 0))}" r="2.5" />
  </svg>`;
}

/** A rate with its interval inside a table cell, on an axis from zero to `highest`: a visual copy of the figures next to it. */
export function whisker({ return_rate: rate, return_rate_interval: interval }: Rate, highest: number): Html {
  const x = (value: number): string => place((FULL * Math.min(value, highest)) / highest);
  if (interval === null) return html``;
  return html`<svg class="intervals one" aria-hidden="true">
    <line class="side-1" x1="${x(interval.low)}" x2="${x(interval.high)}" y1="50%" y2="50%" />
    <circle class="side-1" cx="${x(rate)}" cy="50%" r="4" />
  </svg>`;
}
