import { html, type Html } from "../../lib/html.ts";
import { exportLink, type TableFile } from "../charts/frame.ts";
import type { PageCall } from "../page.ts";

/** One entry of a list: its title, a line about it, and its forms and links. */
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

/** A name with its value; a note explains the value. */
type Fact = { name: Html | string; value: Html | string; note?: Html | string | null };

export const fact = (name: string, value: Html | string, note: Fact["note"] = null): Fact => ({
  name,
  value,
  note,
});

/** Side by side where there is room. `file`: as for a table. */
export const facts = (list: readonly Fact[], file: TableFile | null = null): Html =>
  file === null
    ? listed("facts", list)
    : html`<div id="${file.id}">${listed("facts", list)}</div>
        ${exportLink(file.exportHref, file.id)}`;

/** A line each. */
export const rows = (list: readonly Fact[]): Html => listed("rows", list);

export function section(id: string, title: string, body: Html): Html {
  return html`<section id="${id}">
    <h2>${title}</h2>
    ${body}
  </section>`;
}

function listed(look: "facts" | "rows", list: readonly Fact[]): Html {
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

/** Text to copy, with a button if scripts run; `form` names its purpose. */
export function codeToCopy(form: string, text: string): Html {
  return html`<div class="code">
    <pre tabindex="0"><code data-form="${form}">${text}</code></pre>
    <button type="button" class="copy" aria-live="polite" hidden>Copy</button>
  </div>`;
}

/** Links to the parts of a page. */
export function tabs(
  label: string,
  links: readonly { text: string; href: string; isCurrent: boolean }[],
): Html {
  return html`<nav aria-label="${label}">
    <ul class="tabs">
      ${links.map(
        ({ text, href, isCurrent }) =>
          html`<li><a href="${href}" ${isCurrent && html` aria-current="true"`}>${text}</a></li>`,
      )}
    </ul>
  </nav>`;
}

/** The way through a list that has pages: forward by the API's cursor, or back to its first page. */
export function pageLinks(call: PageCall, path: string, nextCursor: string | null): Html | null {
  const { cursor, ...rest } = call.query;
  if (cursor === undefined && nextCursor === null) return null;
  return pageNav(
    cursor === undefined ? null : call.href(path, rest),
    nextCursor === null ? null : call.href(path, { ...rest, cursor: nextCursor }),
  );
}

/** Where the first page is, null = this is it, and the next one, null = this is the last. */
export function pageNav(firstHref: string | null, nextHref: string | null): Html {
  return html`<nav class="pages" aria-label="Pages of the list">
    ${firstHref !== null && html`<a href="${firstHref}">First page</a>`}
    ${nextHref !== null && html`<a href="${nextHref}" rel="next">Next page</a>`}
  </nav>`;
}
