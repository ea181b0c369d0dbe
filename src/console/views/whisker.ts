import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { FULL, place } from "../charts/plot.ts";
import type { Rate } from "../charts/rates.ts";

/** A rate with its interval inside a table cell, on an axis from zero to `highest`: it repeats the figures beside it for the eye. */
export function whisker({ return_rate: rate, return_rate_interval: interval }: Rate, highest: number): Html {
  const x = (value: number): string => place((FULL * Math.min(value, highest)) / highest);
  if (interval === null) return html``;
  return html`<svg class="intervals one" aria-hidden="true">
    <line class="side-1" x1="${x(interval.low)}" x2="${x(interval.high)}" y1="50%" y2="50%" />
    <circle class="side-1" cx="${x(rate)}" cy="50%" r="4" />
  </svg>`;
}
