import { greatest, least } from "d3-array";
import type { ReportData } from "../../contract/report.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { ApiAnswer } from "../figure.ts";
import { areFew, differ, monthFigure, rateFigure } from "./rates.ts";

/** A row of the trend, where it stands in the answer, and its place on the horizontal axis. */
export type TrendMonth = NonNullable<ReportData["trend"]>[number] & { path: string; x: number };

/**
 * The finding of a trend, from complete months with sales, oldest first: a rise or fall from first to last, else a month that
 * stands out, else that they are alike. Months differ when their intervals do not overlap; those with few units do not count.
 */
export function trendFinding(answer: ApiAnswer, months: readonly TrendMonth[], fewUnits: number): Html {
  const closed = months.filter((row) => row.is_complete !== false);
  const enough = closed.filter((row) => !areFew(row.sold_units, fewUnits));
  if (closed.length > 1 && enough.length < 2) return html`Too few units are sold in a month to show a trend`;
  const complete = closed.length > 1 ? enough : closed;
  const [first, last] = [complete.at(0), complete.at(-1)];
  if (first === undefined || last === undefined) return openFinding(answer, months);
  const rate = (row: TrendMonth): Html => rateFigure(answer, row.path);
  if (first === last) return html`${rate(last)} of what was sold in ${nameOf(answer, last)} came back`;
  const lowest = least(complete, (row) => row.return_rate) ?? first;
  const highest = greatest(complete, (row) => row.return_rate) ?? last;
  if (last.is_complete === null) {
    return html`So far, returns are highest for orders of ${nameOf(answer, highest)}: ${rate(highest)}`;
  }
  if (differ(first, last)) {
    const verb = last.return_rate > first.return_rate ? "rose" : "fell";
    return html`Returns ${verb} from ${rate(first)} to ${rate(last)} between ${between(answer, first, last)}`;
  }
  if (differ(lowest, highest)) {
    if (highest === closed.at(-1)) {
      return html`Returns were highest in ${nameOf(answer, highest)}: ${rate(highest)}; the lowest month is
      ${nameOf(answer, lowest)}, at ${rate(lowest)}`;
    }
    return html`Returns peaked at ${rate(highest)} in ${nameOf(answer, highest)}; the lowest month is
    ${nameOf(answer, lowest)}, at ${rate(lowest)}`;
  }
  return html`Returns stayed between ${rate(lowest)} and ${rate(highest)} from
  ${between(answer, first, last, "to")}`;
}

function openFinding(answer: ApiAnswer, months: readonly TrendMonth[]): Html {
  const last = months.at(-1);
  if (last === undefined) return html`Nothing was sold`;
  return html`Every month is still open: so far ${rateFigure(answer, last.path)} of ${nameOf(answer, last)}
  came back`;
}

function between(answer: ApiAnswer, first: TrendMonth, last: TrendMonth, word = "and"): Html {
  const sameYear = first.cohort_month.slice(0, 4) === last.cohort_month.slice(0, 4);
  return html`${monthFigure(answer, `${first.path}/cohort_month`, !sameYear)} ${word} ${nameOf(answer, last)}`;
}

function nameOf(answer: ApiAnswer, { path }: TrendMonth): Html {
  return monthFigure(answer, `${path}/cohort_month`);
}
