import { html, type Html, type HtmlValue } from "../../lib/html.ts";
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
type Fact = { name: HtmlValue; value: HtmlValue; note?: HtmlValue };

export const fact = (name: string, value: HtmlValue, note: HtmlValue = null): Fact => ({
  name,
  value,
  note,
});

/** Side by side where there is room; false: none. `file`: as for a table. */
export const facts = (list: readonly (Fact | false)[], file: TableFile | null = null): Html =>
  file === null
    ? listed("facts", list)
    : html`<div id="${file.id}">${listed("facts", list)}</div>
        ${exportLink(file.exportHref, file.id)}`;

/** A line each. */
export const rows = (list: readonly (Fact | false)[]): Html => listed("rows", list);

export function section(id: string, title: string, body: Html): Html {
  return html`<section id="${id}">
    <h2>${title}</h2>
    ${body}
  </section>`;
}

function listed(look: "facts" | "rows", list: readonly (Fact | false)[]): Html {
  return html`<dl class="${look}">
    ${list
      .filter((each) => each !== false)
      .map(
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

/** The way through a list that has pages: forward by a cursor, the parameter `name`, or back to its first page. */
export function pageLinks(
  { query, href }: Pick<PageCall, "query" | "href">,
  path: string,
  next: string | null,
  name = "cursor",
): Html | null {
  const { [name]: cursor, ...rest } = query;
  if (cursor === undefined && next === null) return null;
  return html`<nav class="pages" aria-label="Pages of the list">
    ${cursor !== undefined && html`<a href="${href(path, rest)}">First page</a>`}
    ${next !== null && html`<a href="${href(path, { ...rest, [name]: next })}" rel="next">Next page</a>`}
  </nav>`;
}

/** `isDrawing`: repeats figures of the row for the eye, and is left out where there is no room. */
export type Column = {
  text: string;
  isNumber?: boolean;
  isDrawing?: boolean;
  /** The same table in the order of this column, the largest first. */
  href?: string;
  isSorted?: boolean;
};

export const numbers = (...texts: string[]): Column[] => texts.map((text) => ({ text, isNumber: true }));

/**
 * A table in a region that scrolls by itself and is reachable by keyboard; its first column stays visible. Cells follow the
 * columns, of which a text alone is one; the first one of a row is its heading. `total`: an additional last row. `id`: its name
 * on the page; `exportHref`: its address as CSV without that name.
 */
export function dataTable(
  caption: string,
  heads: readonly (Column | string)[],
  lines: readonly (readonly HtmlValue[])[],
  { id, exportHref, total }: Partial<TableFile> & { total?: readonly HtmlValue[] } = {},
): Html {
  const columns = heads.map((head) => (typeof head === "string" ? { text: head } : head));
  const tableRow = (cells: readonly HtmlValue[]): Html =>
    html`<tr>
      ${cells.map((cell, index) =>
        index === 0
          ? html`<th scope="row">${cell}</th>`
          : html`<td class="${lookOf(columns[index] as Column)}">${cell}</td>`,
      )}
    </tr>`;
  return html`<div class="scroll" role="region" tabindex="0" aria-label="${caption}" ${id !== undefined && html` id="${id}"`}>
    <table>
      <caption>
        <span>${caption}</span>
      </caption>
      <thead>
        <tr>
          ${columns.map(
            (column) =>
              html`<th scope="col" class="${lookOf(column)}" ${column.isSorted === true && html` aria-sort="descending"`}>
                ${column.href === undefined ? column.text : html`<a href="${column.href}">${column.text}</a>`}
              </th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${lines.map(tableRow)}
      </tbody>
      ${total !== undefined && html`<tfoot>${tableRow(total)}</tfoot>`}
    </table>
  </div>
  ${id !== undefined && exportLink(exportHref, id)}`;
}

/** A column of rows of one kind: its heading, and its cell in a row. */
type RowColumn<Row> = readonly [head: string, cell: (row: Row) => HtmlValue, look?: "number"];

/** A table by its columns. */
export function tableOf<Row>(
  caption: string,
  list: readonly Row[],
  columns: readonly RowColumn<Row>[],
): Html {
  return dataTable(
    caption,
    columns.map(([text, , look]) => ({ text, isNumber: look === "number" })),
    list.map((row) => columns.map(([, cell]) => cell(row))),
  );
}

function lookOf({ isNumber = false, isDrawing = false }: Column): string {
  if (isNumber) return "number";
  return isDrawing ? "drawing" : "text";
}
