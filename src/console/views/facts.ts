import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";

/** Names with their values; a note says more about a value. */
export type Facts = readonly { name: Html | string; value: Html | string; note?: Html | string | null }[];

/** Side by side where there is room. */
export const facts = (list: Facts): Html => listed("facts", list);

/** A line each. */
export const rows = (list: Facts): Html => listed("rows", list);

function listed(look: "facts" | "rows", list: Facts): Html {
  return html`<dl class="${look}">
    ${list.map(
      ({ name, value, note }) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}${note !== undefined && note !== null && html` <small>${note}</small>`}</dd>
        </div>`,
    )}
  </dl>`;
}
