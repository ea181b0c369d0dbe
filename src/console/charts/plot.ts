import { scaleBand, scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { html, type Html, type HtmlValue } from "../../lib/html.ts";
import { month } from "../format.ts";
import type { Rate } from "./rates.ts";

/**
 * A drawing has no pixels: its box is 100 wide and 100 high at any size, so that text, dots and strokes keep their size at every
 * width. Positions are percentages; paths are in a stretched box of 100 × 100.
 */
export const FULL = 100;

export type Scale = { (value: number): number; ticks: (count: number) => number[] };

const TICKS = 4;
const DECIMALS = 1000;

/** A place as an attribute: 12.3456 → "12.346%". */
export function place(value: number): string {
  return `${Math.round(value * DECIMALS) / DECIMALS}%`;
}

/** From the bottom up, beginning with zero or below. */
export function verticalScale(lowest: number, highest: number): Scale {
  return scaleLinear()
    .domain([Math.min(0, lowest), highest > 0 ? highest : 1])
    .nice(TICKS)
    .range([FULL, 0]);
}

/** Paths, whose coordinates are 0–100 in both directions. Clipped, they end at the edge of the drawing. */
export function paths(content: HtmlValue, clipped = false): Html {
  return html`<svg
    class="${clipped ? "paths clipped" : "paths"}"
    width="100%"
    height="100%"
    viewBox="0 0 100 100"
    preserveAspectRatio="none"
  >
    ${content}
  </svg>`;
}

/** Lines across, each with its value to the left. */
export function verticalAxis(scale: Scale, format: (value: number, step: number) => string): Html {
  const ticks = scale.ticks(TICKS);
  const step = (ticks[1] ?? 1) - (ticks[0] ?? 0);
  return html`<g class="axis"
    >${ticks.map((tick) => {
      const y = place(scale(tick));
      return html`<line class="${tick === 0 ? "zero" : "grid"}" x1="0" x2="100%" y1="${y}" y2="${y}" /><text
          x="0"
          dx="-8"
          dy="4"
          y="${y}"
          text-anchor="end"
          >${format(tick, step)}</text
        >`;
    })}</g
  >`;
}

/** 0.05 → "5 %"; with a decimal where steps are smaller than a percent. */
export function percentTick(value: number, step: number): string {
  return `${(value * 100).toFixed(step < 0.01 ? 1 : 0)} %`;
}

/** A column for each of the given number of months or other steps: its middle, left edge and width. */
export function columns(count: number): {
  middle: (index: number) => number;
  left: (index: number) => number;
  width: number;
} {
  const band = scaleBand<number>()
    .domain(Array.from({ length: count }, (_, index) => index))
    .range([0, FULL])
    .paddingInner(0.3)
    .paddingOuter(0.15);
  const width = band.bandwidth();
  const left = (index: number): number => band(index) ?? 0;
  return { middle: (index) => left(index) + width / 2, left, width };
}

/** The part of a stacked bar between two values of a scale; empty if there is none. */
export function barPart(
  className: string,
  { left, width, from, to }: { left: number; width: number; from: number; to: number },
  scale: (value: number) => number,
  fill: string | null = null,
): Html | false {
  return (
    from !== to &&
    html`<rect
      class="${className}"
      x="${place(left)}"
      width="${place(width)}"
      y="${place(scale(to))}"
      height="${place(scale(from) - scale(to))}"
      ${fill !== null && html` fill="${fill}"`}
    />`
  );
}

/** The interval of named months, so that names keep apart: on wide screens, and on a phone. */
const MOST_NAMES = { wide: 12, narrow: 6 } as const;

/** The same months of each year. */
const MONTH_STEPS = [1, 2, 3, 4, 6, 12];

/** Names of months ("2026-08-01") under their columns, counted from the newest; the year under its first. */
export function monthAxis(months: readonly string[], middle: (index: number) => number): Html {
  return html`<g class="axis"
    >${(["wide", "narrow"] as const).map((width) => {
      const least = Math.ceil(months.length / MOST_NAMES[width]);
      const step = MONTH_STEPS.find((each) => each >= least) ?? Math.ceil(least / 12) * 12;
      const named = months
        .map((text, index) => ({ text, index }))
        .filter(({ index }) => (months.length - 1 - index) % step === 0);
      return html`<g class="${width}"
        >${named.map(({ text, index }, order) => {
          const [name, year] = (month(text) as string).split(" ");
          const isFirst = order === 0 || named[order - 1]?.text.slice(0, 4) !== text.slice(0, 4);
          const x = place(middle(index));
          return html`<text x="${x}" y="100%" dy="19" text-anchor="middle">${name}</text
            >${isFirst && html`<text x="${x}" y="100%" dy="35" text-anchor="middle">${year}</text>`}`;
        })}</g
      >`;
    })}</g
  >`;
}

/** Hatching for open months: `<rect fill="url(#id)">`. */
export function hatch(id: string, className: string): Html {
  return html`<pattern
    id="${id}"
    width="6"
    height="6"
    patternUnits="userSpaceOnUse"
    patternTransform="rotate(45)"
    ><line class="${className}" x1="3" x2="3" y1="0" y2="6"
  /></pattern>`;
}

/** Samples in a legend, 30 × 14 pixels. */
export function lineSwatch(className: string, mark?: HtmlValue): Html {
  return html`<line class="${className}" x1="0" x2="30" y1="7" y2="7" />${mark}`;
}

export function dotSwatch(className: string): Html {
  return html`<circle class="${className}" cx="15" cy="7" r="4" />`;
}

/** `pattern` is the id of a hatch. */
export function boxSwatch(className: string, pattern?: string): Html {
  return html`<rect class="${className}" width="30" height="14" ${pattern !== undefined && html` fill="url(#${pattern})"`} />`;
}

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
