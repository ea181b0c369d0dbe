import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";

/** One entry of a list: what it is, a line about it, and the forms and links of what can be done with it. */
export type Entry = {
  name: Html | string;
  detail?: Html | string | null;
  actions?: readonly (Html | null)[];
};

export function entries(list: readonly Entry[]): Html {
  return html`<ul class="entries">
    ${list.map(
      ({ name, detail, actions = [] }) =>
        html`<li>
          <div>${name} ${detail !== undefined && detail !== null && html`<small>${detail}</small>`}</div>
          ${actions.length > 0 && html`<div class="actions">${actions}</div>`}
        </li>`,
    )}
  </ul>`;
}
