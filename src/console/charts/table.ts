import { html } from "../../lib/html.ts";
import type { Html, HtmlValue } from "../../lib/html.ts";
import { place } from "./plot.ts";

type TableRow = {
  head: HtmlValue;
  cells: readonly HtmlValue[];
  /** Where the row lies on the horizontal axis, 0–100; the readout stops there. */
  x?: number | undefined;
  /** Whether the readout begins with this row. */
  isStart?: boolean;
};

/** The table with the figures of a chart. */
export function table(heads: readonly HtmlValue[], rows: readonly TableRow[]): Html {
  return html`<table>
    <thead>
      <tr>
        ${heads.map((head) => html`<th scope="col">${head}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(tableRow)}
    </tbody>
  </table>`;
}

function tableRow({ head, cells, x, isStart = false }: TableRow): Html {
  return html`<tr${x !== undefined && html` data-x="${place(x)}"`}${isStart && html` data-start=""`}><th scope="row">${head}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`;
}
