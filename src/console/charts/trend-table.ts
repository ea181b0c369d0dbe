import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { count, percent } from "../format.ts";
import { areFew, intervalFigure, monthFigure, rateFigure, soldFigure } from "./rates.ts";
import { table } from "./table.ts";
import type { TrendMonth } from "./trend-finding.ts";

/** The trend's figures, a row per month; the readout begins with the newest complete one. */
export function trendTable(answer: ApiAnswer, months: readonly TrendMonth[], fewUnits: number): Html {
  const hasOutlook = months.some((row) => row.outlook !== null);
  const start = months.findLast((row) => row.sold_units > 0 && row.is_complete !== false);
  return table(
    [
      "Month",
      "Return rate",
      "95 % interval",
      ...(hasOutlook ? ["Outlook"] : []),
      "Units sold",
      "Units returned",
      "Month is",
    ],
    months.map((row) => ({
      head: monthFigure(answer, `${row.path}/cohort_month`),
      cells: [
        rateFigure(answer, row.path),
        intervalFigure(answer, `${row.path}/return_rate_interval`),
        ...(hasOutlook ? [outlookCell(answer, row)] : []),
        soldFigure(answer, row.path, areFew(row.sold_units, fewUnits)),
        figure(answer, `${row.path}/returned_units`, count),
        figure(answer, `${row.path}/is_complete`, stateOf, "never complete: no window"),
      ],
      x: row.x,
      isStart: row === start,
    })),
  );
}

function stateOf(isComplete: boolean): string {
  return isComplete ? "complete" : "still open";
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
