import { line } from "d3-shape";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { paths, place, verticalScale } from "./plot.ts";

/**
 * The course of a figure, beside the figure itself and for the eye alone: from zero up, the newest value as a dot. null
 * leaves a gap; fewer than two values draw nothing.
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
