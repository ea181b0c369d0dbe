import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { FULL, place } from "../charts/plot.ts";
import type { Rate } from "../charts/rates.ts";

/**
 * Two rates with their intervals below each other, inside a table cell: the first above the second, on one axis from zero
 * to `highest`. Where they overlap, the difference is not a clear one. It repeats the figures beside it for the eye.
 */
export function intervalPair(rates: readonly [Rate, Rate], highest: number): Html {
  const x = (rate: number): string => place((FULL * rate) / (highest || 1));
  return html`<svg class="intervals" aria-hidden="true">
    ${rates.map(({ return_rate, return_rate_interval: interval }, index) => {
      if (interval === null) return null;
      const y = index === 0 ? "28%" : "72%";
      return html`<line
          class="side-${index + 1}"
          x1="${x(interval.low)}"
          x2="${x(interval.high)}"
          y1="${y}"
          y2="${y}"
        /><circle class="side-${index + 1}" cx="${x(return_rate)}" cy="${y}" r="4.5" />`;
    })}
  </svg>`;
}
