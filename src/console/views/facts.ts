import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";

/** Names with their values, a line each; a note says what a value means. */
export function facts(rows: readonly { name: string; value: Html; note?: Html | string | null }[]): Html {
  return html`<dl class="facts">
    ${rows.map(
      ({ name, value, note }) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}${note !== undefined && note !== null && html` <small>${note}</small>`}</dd>
        </div>`,
    )}
  </dl>`;
}
