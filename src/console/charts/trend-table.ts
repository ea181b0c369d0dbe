import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { count, percent } from "../format.ts";
import { place } from "./plot.ts";
import { intervalFigure, monthFigure, rateFigure, soldFigure } from "./rates.ts";
import type { TrendMonth } from "./trend-finding.ts";

/** The trend's figures, a row per month. */
export function trendTable(answer: ApiAnswer, months: readonly TrendMonth[]): Html {
  const hasOutlook = months.some((row) => row.outlook !== null);
  return html`<table>
    <thead>
      <tr>
        <th scope="col">Month</th>
        <th scope="col">Return rate</th>
        <th scope="col">95 % interval</th>
        ${hasOutlook && html`<th scope="col">Outlook</th>`}
        <th scope="col">Sold</th>
        <th scope="col">Returned</th>
        <th scope="col">Month is</th>
      </tr>
    </thead>
    <tbody>
      ${months.map(
        (row) =>
          html`<tr data-x="${place(row.x)}">
            <th scope="row">${monthFigure(answer, `${row.path}/cohort_month`)}</th>
            <td>${rateFigure(answer, row.path)}</td>
            <td>${intervalFigure(answer, `${row.path}/return_rate_interval`)}</td>
            ${hasOutlook && html`<td>${outlookCell(answer, row)}</td>`}
            <td>${soldFigure(answer, row.path)}</td>
            <td>${figure(answer, `${row.path}/returned_units`, count)}</td>
            <td>
              ${figure<boolean>(answer, `${row.path}/is_complete`, (isComplete) => (isComplete ? "complete" : "still open"), "never complete: no window")}
            </td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function outlookCell(answer: ApiAnswer, { path, outlook, is_complete: isComplete }: TrendMonth): Html {
  if (outlook === null) {
    return figure(
      answer,
      `${path}/outlook`,
      String,
      isComplete === false ? "too little history" : "complete",
    );
  }
  return html`${figure(answer, `${path}/outlook/return_rate`, percent)}
  (${intervalFigure(answer, `${path}/outlook`)}), ${figure(answer, `${path}/outlook/share_observed`, percent)}
  of it seen`;
}
