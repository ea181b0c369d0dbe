import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";

/** One row of a short ranking: what it is, where it leads, its figure, and what the figure is made of. */
export type RankedRow = { label: string; detail: string | null; href: string; value: Html; note: Html };

/** A short list of the worst, each a link to its report. */
export function ranking(rows: readonly RankedRow[]): Html {
  return html`<ol class="ranking">
    ${rows.map(
      ({ label, detail, href, value, note }) =>
        html`<li>
          <a href="${href}">${label}</a
          >${detail !== null && html`<span class="detail">${detail}</span>`}<strong>${value}</strong
          ><span class="note">${note}</span>
        </li>`,
    )}
  </ol>`;
}
