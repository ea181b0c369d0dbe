import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure, valueAt } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { percent, points } from "../format.ts";

/** How the summary's rate differs from the months before, in words and with a sign, never by colour alone. */
export function rateChange(report: ApiAnswer): Html {
  const change = valueAt(report, "comparison/return_rate_change");
  if (typeof change !== "number")
    return html`<span class="delta">no complete months before to compare with</span>`;
  const kind = change > 0 ? "up" : change < 0 ? "down" : "same";
  const word = { up: "▲", down: "▼", same: "＝" }[kind];
  return html`<span class="delta ${kind}"
      ><span aria-hidden="true">${word}</span>
      ${figure(report, "comparison/return_rate_change", points)}</span
    >
    from ${figure(report, "comparison/return_rate", percent)}`;
}
