import { html, type Html } from "../../lib/html.ts";
import { exportLink, type TableFile } from "../charts/frame.ts";

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
  rows: readonly (readonly Html[])[],
  { id, exportHref, total }: Partial<TableFile> & { total?: readonly Html[] } = {},
): Html {
  const columns = heads.map((head) => (typeof head === "string" ? { text: head } : head));
  const tableRow = (cells: readonly Html[]): Html =>
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
        ${rows.map(tableRow)}
      </tbody>
      ${total !== undefined && html`<tfoot>${tableRow(total)}</tfoot>`}
    </table>
  </div>
  ${id !== undefined && exportLink(exportHref, id)}`;
}

function lookOf({ isNumber = false, isDrawing = false }: Column): string {
  if (isNumber) return "number";
  return isDrawing ? "drawing" : "text";
}
