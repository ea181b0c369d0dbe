import { html, type Html } from "../../lib/html.ts";
import { exportLink } from "../charts/frame.ts";

/**
 * `isDrawing`: repeats figures of the row for the eye, and is left out where there is no room.
 */
export type Column = {
  text: string;
  isNumber?: boolean;
  isDrawing?: boolean;
  /** The same table in the order of this column, the largest first. */
  href?: string;
  isSorted?: boolean;
};

/**
 * A table in a region that scrolls by itself and is reachable by keyboard; its first column stays visible. Cells follow the
 * columns; the first one of a row is its heading. `total`: an additional last row. `file`: its name on the page, and its address
 * as CSV without that name.
 */
export function dataTable(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly Html[])[],
  total: readonly Html[] | null = null,
  file: { id: string; exportHref: string | null } | null = null,
): Html {
  const head = columns.map(
    (column) =>
      html`<th scope="col" class="${lookOf(column)}" ${column.isSorted === true && html` aria-sort="descending"`}>
        ${column.href === undefined ? column.text : html`<a href="${column.href}">${column.text}</a>`}
      </th>`,
  );
  return html`<div class="scroll" role="region" tabindex="0" aria-label="${caption}" ${file !== null && html` id="${file.id}"`}>
    <table>
      <caption>
        <span>${caption}</span>
      </caption>
      <thead>
        <tr>
          ${head}
        </tr>
      </thead>
      <tbody>
        ${rows.map((cells) => tableRow(cells, columns))}
      </tbody>
      ${
        total !== null &&
        html`<tfoot>
          ${tableRow(total, columns)}
        </tfoot>`
      }
    </table>
  </div>
  ${file !== null && exportLink(file.exportHref, file.id)}`;
}

function tableRow(cells: readonly Html[], columns: readonly Column[]): Html {
  return html`<tr>
    ${cells.map((cell, index) => tableCell(cell, index, columns[index]))}
  </tr>`;
}

function tableCell(cell: Html, index: number, column: Column | undefined): Html {
  return index === 0
    ? html`<th scope="row">${cell}</th>`
    : html`<td class="${column === undefined ? "" : lookOf(column)}">${cell}</td>`;
}

function lookOf({ isNumber = false, isDrawing = false }: Column): string {
  if (isNumber) return "number";
  return isDrawing ? "drawing" : "text";
}
