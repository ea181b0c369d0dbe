import { html, type Html } from "../../lib/html.ts";
import { figure, valueAt, type ApiAnswer } from "../figure.ts";
import { count, day, month, percent } from "../format.ts";

export type Interval = { low: number; high: number };

/** The parts of a rate, wherever the report has one. */
export type Rate = {
  sold_units: number;
  returned_units: number;
  return_rate: number;
  return_rate_interval: Interval | null;
};

/** The workspace's default `min_sold_units`, for a chart without the workspace's own. */
export const DEFAULT_FEW_UNITS = 20;

/** Whether something was sold, but fewer units than a rate needs to say much (`min_sold_units`). */
export function areFew(soldUnits: number, fewUnits: number): boolean {
  return soldUnits > 0 && soldUnits < fewUnits;
}

const NOTHING_SOLD = "nothing was sold";

/** "7.1 %"; without sales there is no rate, although the API has 0 (C5). */
export function rateFigure(answer: ApiAnswer, path: string): Html {
  const sold = valueAt(answer, `${path}/sold_units`);
  const format = sold === 0 ? () => html`– <small>${NOTHING_SOLD}</small>` : percent;
  return figure(answer, `${path}/return_rate`, format);
}

/** "6.0–8.3 %", "< 0.1 % to 3.1 %", or why there is none. `path` locates the interval. */
export function intervalFigure(answer: ApiAnswer, path: string, absent = NOTHING_SOLD): Html {
  if ((valueAt(answer, path) ?? null) === null) return figure(answer, path, String, absent);
  const ends = [valueAt(answer, `${path}/low`), valueAt(answer, `${path}/high`)];
  const high = figure<number>(answer, `${path}/high`, percent);
  // "< 0.1–3.1 %" would read as one comparison.
  return ends.some((end) => /[<>]/u.test(percent(Number(end))))
    ? html`<span class="interval">${figure<number>(answer, `${path}/low`, percent)} to ${high}</span>`
    : html`<span class="interval">${figure<number>(answer, `${path}/low`, withoutSign)}–${high}</span>`;
}

/** Sold units, marked where they are few. */
export function soldFigure(answer: ApiAnswer, path: string, isFew: boolean): Html {
  return html`${figure(answer, `${path}/sold_units`, count)}${isFew && html` <small>few units</small>`}`;
}

/** "May 2026", or "May" where the year follows anyway. */
export function monthFigure(answer: ApiAnswer, path: string, withYear = true): Html {
  return figure<string>(answer, path, (value) =>
    withYear ? month(value) : ((month(value) as string).split(" ")[0] ?? ""),
  );
}

export type Step = "month" | "week" | "day";

/** The step of the rows of a report's trend (M26). */
export function stepOf(answer: ApiAnswer): Step {
  return (valueAt(answer, "meta/interval") as Step | undefined) ?? "month";
}

/** The month, first day of the week, or day that a row of a trend is about. */
export function placeFigure(answer: ApiAnswer, path: string): Html {
  return stepOf(answer) === "month"
    ? monthFigure(answer, `${path}/cohort_month`)
    : figure(answer, `${path}/period_start`, day);
}

/** The same within a sentence: "May 2026", "the week from 27 Oct 2025", "27 Oct 2025". */
export function placeName(answer: ApiAnswer, path: string): Html {
  return html`${stepOf(answer) === "week" && "the week from "}${placeFigure(answer, path)}`;
}

/** Whether two rates differ clearly: their intervals do not overlap. */
export function differ(one: Rate, other: Rate): boolean {
  const [left, right] = [one.return_rate_interval, other.return_rate_interval];
  return left !== null && right !== null && (left.high < right.low || right.high < left.low);
}

function withoutSign(value: number): string {
  return percent(value).replace(" %", "");
}
