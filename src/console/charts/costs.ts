import { greatest, max, min } from "d3-array";
import { stack, stackOffsetDiverging } from "d3-shape";
import type { ReportData } from "../../contract/report.ts";
import { html, type Html, type HtmlValue } from "../../lib/html.ts";
import { figure, figuresAt, valueAt, type ApiAnswer } from "../figure.ts";
import { count, money, percent } from "../format.ts";
import { chartFigure, nothingToDraw, figureTable, type ChartInput } from "./frame.ts";
import { barPart, columns, hatch, monthAxis, verticalAxis, verticalScale, boxSwatch } from "./plot.ts";
import { monthFigure } from "./rates.ts";

type CostMonth = NonNullable<ReportData["trend"]>[number];
type Part = "refunded_amount" | "return_label_cost";

/** Stacked, from the bottom up. */
const COST_PARTS = ["refunded_amount", "return_label_cost"] as const;
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Stacked bars; hatched where the month is still open. `id` begins the ids of the hatches. */
function costsDrawing(id: string, months: readonly CostMonth[]): Html {
  const series = stack<unknown, CostMonth, Part>().keys(COST_PARTS).offset(stackOffsetDiverging)(
    months as CostMonth[],
  );
  const ends = series.flatMap((part) => part.flatMap(([from, to]) => [from, to]));
  const scale = verticalScale(min(ends) ?? 0, max(ends) ?? 0);
  const { left, middle, width } = columns(months.length);
  return html`<defs>${hatch(`${id}-1`, "hatch-1")}${hatch(`${id}-2`, "hatch-2")}</defs>
    ${verticalAxis(scale, (value) => compact.format(value))}${monthAxis(
      months.map((row) => row.cohort_month),
      middle,
    )}
    ${series.map((part, order) =>
      part.map(([from, to], index) => {
        const open = months[index]?.is_complete === false;
        const name = `${open ? "outline" : "series"}-${order + 1}`;
        const fill = open ? `url(#${id}-${order + 1})` : "currentColor";
        return barPart(name, { left: left(index), width, from, to }, scale, fill);
      }),
    )}`;
}

/**
 * What does it cost? Refunds and return labels of each order month, stacked. Labels that match no return or order are mentioned
 * next to it, if the answer has them.
 */
export function costsChart({ answer, exportHref }: ChartInput): Html {
  const months = (valueAt(answer, "trend") ?? []) as CostMonth[];
  const hasLabels = valueAt(answer, "label_costs_included") === true;
  const notes = notesOf(answer, hasLabels);
  if (months.every((row) => COST_PARTS.every((part) => row[part] === 0))) {
    return nothingToDraw(
      html`No refund${hasLabels && " and no return label"} is known for these months. ${notes}`,
    );
  }
  const id = `${answer.name}-costs`;
  const isOpen = months.some((row) => row.is_complete === false);
  return chartFigure({
    id,
    title: findingOf(answer, months),
    summary: html`Refunds${hasLabels && " and return labels"} for what was sold in each month, in
    ${figure(answer, "currency_code", String)}.`,
    drawing: months.length > 1 ? costsDrawing(id, months) : null,
    legend: [
      { swatch: boxSwatch("series-1"), text: hasLabels ? "refunds, below" : "refunds" },
      hasLabels && { swatch: boxSwatch("series-2"), text: "return labels, on top" },
      isOpen && { swatch: boxSwatch("outline-1", `${id}-1`), text: "hatched: still open, can rise" },
    ],
    notes,
    table: tableOf(answer, months),
    readout: "Month",
    exportHref,
  });
}

function findingOf(answer: ApiAnswer, months: readonly CostMonth[]): Html {
  const complete = months.filter((row) => row.is_complete !== false);
  const highest = greatest(complete.length > 0 ? complete : months, (row) => row.returns_cost);
  const index = highest === undefined ? 0 : months.indexOf(highest);
  const words = complete.length > 1 ? "Returns cost the most for orders of" : "Returns for orders of";
  return html`${words}
  ${monthFigure(answer, `trend/${index}/cohort_month`)}${complete.length > 1 ? ":" : " cost"}
  ${moneyFigure(answer, `trend/${index}/returns_cost`)}`;
}

function notesOf(answer: ApiAnswer, hasLabels: boolean): HtmlValue[] {
  const unmatched = valueAt(answer, "costs/unmatched_label_cost");
  return [
    !hasLabels && "Refunds only: label costs are not included.",
    typeof unmatched === "number" &&
      unmatched !== 0 &&
      html`Labels of ${moneyFigure(answer, "costs/unmatched_label_cost")} match no return or order. They are
      not included in any month.`,
  ].filter((note) => note !== false);
}

function tableOf(answer: ApiAnswer, months: readonly CostMonth[]): Html {
  const { middle } = columns(months.length);
  const start = months.findLastIndex((row) => row.is_complete !== false);
  const heads = ["Refunds", "Return labels", "Together", "Units refunded", "Sold for", "Value known"];
  return figureTable(
    ["Month", ...heads, "Share refunded"],
    months.map((row, index) => {
      const at = figuresAt(answer, `trend/${index}`);
      const amount = (member: string, absent?: string) =>
        moneyFigure(answer, `trend/${index}/${member}`, absent);
      return {
        head: html`${monthFigure(answer, `trend/${index}/cohort_month`)}${row.is_complete === false && html` <small>still open</small>`}`,
        cells: [
          ...[...COST_PARTS, "returns_cost"].map((member) => amount(member)),
          at("refunded_units", count),
          amount("sold_amount", "no price is known"),
          at("sold_amount_coverage", percent, "nothing was sold"),
          at("refund_share", percent, "prices of too few units are known"),
        ],
        x: middle(index),
        isStart: index === start,
      };
    }),
  );
}

function moneyFigure(answer: ApiAnswer, path: string, absent?: string): Html {
  return figure(answer, path, money(String(valueAt(answer, "currency_code"))), absent);
}
