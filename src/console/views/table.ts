import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";

export type Column = { text: string; isNumber?: boolean };

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
  const head = columns.map(
    ({ text, isNumber }) => html`<th scope="col" ${isNumber === true && html` class="number"`}>${text}</th>`,
  );
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
  if (index === 0) return html`<th scope="row">${cell}</th>`;
  return column?.isNumber === true ? html`<td class="number">${cell}</td>` : html`<td>${cell}</td>`;
}
