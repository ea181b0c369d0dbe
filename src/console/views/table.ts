import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";

/**
 * `isDrawing`: repeats figures of the row for the eye, and is left out where there is no room. `isControl`: leads to what
 * can be done with the row, and is left out on paper.
 */
export type Column = { text: string; isNumber?: boolean; isDrawing?: boolean; isControl?: boolean };

/**
 * A table in a region that scrolls by itself and can be reached by keyboard; its first column stays in sight. Cells follow
 * the columns; the first one of a row heads it. `total`: a last row of its own.
 */
export function dataTable(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly Html[])[],
  total: readonly Html[] | null = null,
): Html {
  const head = columns.map((column) => html`<th scope="col" class="${lookOf(column)}">${column.text}</th>`);
  return html`<div class="scroll" role="region" tabindex="0" aria-label="${caption}">
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
  </div>`;
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

function lookOf({ isNumber = false, isDrawing = false, isControl = false }: Column): string {
  if (isNumber) return "number";
  if (isControl) return "control";
  return isDrawing ? "drawing" : "text";
}
