import { max } from "d3-array";
import { scaleQuantize } from "d3-scale";
import { html, type Html } from "../../lib/html.ts";
import { figure, valueAt, type ApiAnswer } from "../figure.ts";
import { count, day, days, percent, units } from "../format.ts";
import { dayToText, lastDayOfMonth, monthOfDate } from "../../lib/month.ts";
import { against, ageFigure, curveName, observed, readCurves, usualAt, heatFinding } from "./curve-rows.ts";
import type { ChartedAge, Curve } from "./curve-rows.ts";
import { chartFrame, heatKey, nothingToDraw, scrolling, SHADES, type ChartInput } from "./frame.ts";
import { DEFAULT_FEW_UNITS, intervalFigure, soldFigure } from "./rates.ts";

/** The middle shade is what complete months had at that age; the darkest is this many times as much, or more. */
const DARKEST = 2;

/**
 * Which cohort is off? A table of months by age, newest first: shaded by how a rate compares with complete months of the same
 * age. The table is the chart itself.
 */
export function heatTable({ answer, exportHref, fewUnits = DEFAULT_FEW_UNITS }: ChartInput): Html {
  const { months, pooled, ages } = readCurves(answer, fewUnits);
  if (months.length === 0)
    return nothingToDraw("Nothing was sold in these months, so there are no months to compare.");
  const id = `${answer.name}-heat`;
  const windowDays = valueAt(answer, "window_days") as number | null;
  const edge = windowDays === null ? -1 : ages.findLastIndex((age) => age <= windowDays);
  const shades = ages.map((_, index) => shadeAt(months, pooled, index));
  const head = (pooled ?? months[0]) as Curve;
  const rows = [...(pooled ? [pooled] : []), ...months.toReversed()];
  const table = html`<table class="heat">
    <thead>
      <tr>
        <th scope="col">Month</th>
        ${ages.map((_, index) => html`<th scope="col" class="${index === edge ? "edge" : ""}">${figure(answer, `${head.agesPath}/${index}/age_days`, days)}</th>`)}
        <th scope="col">Units sold</th>
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (curve) =>
          html`<tr${curve === pooled && html` class="pooled"`}><th scope="row">${curve === pooled ? "Complete months" : curveName(answer, curve)}</th>
${ages.map((_, index) => cell(answer, curve, index, { pooled, shade: shades[index], isEdge: index === edge }))}<td>${soldCell(answer, curve)}</td></tr>`,
      )}
    </tbody>
  </table>`;
  return chartFrame(
    {
      id,
      title: heatFinding(answer, months, pooled),
      summary: html`Share of what was sold in a month that had come back by each
        age.${
          windowDays !== null &&
          html` The heavy line marks the window of ${figure(answer, "window_days", days)}.`
        }`,
      exportHref,
    },
    html`${scrolling(id, table)}
      <ul class="chart-legend">
        ${heatKey("less → more came back than in complete months at the same age")}
        ${heatKey("still open, can rise", "hatched")}
        ${pooled && html`<li><span>▲ ▼ more or less than complete months: the likely ranges (95 % intervals) do not overlap</span></li>`}
      </ul>`,
  );
}

/** Complete months together have no one number: fewer of them have reached each later age. */
function soldCell(answer: ApiAnswer, curve: Curve): Html {
  return curve.month === null
    ? html`– <small>differs by age</small>`
    : soldFigure(answer, curve.path, curve.hasFewUnits);
}

type CellLook = { pooled: Curve | undefined; shade: ((rate: number) => number) | undefined; isEdge: boolean };

function cell(answer: ApiAnswer, curve: Curve, index: number, { pooled, shade, isEdge }: CellLook): Html {
  const age = curve.ages[index];
  const isOpen = index >= observed(curve).length;
  const side = curve === pooled ? 0 : against(pooled, curve, index);
  const look = isOpen
    ? "hatched"
    : curve !== pooled && !curve.hasFewUnits && age !== undefined && shade
      ? `heat-${shade(age.return_rate ?? 0)}`
      : "";
  const mark =
    side !== 0 &&
    html`<span class="side" role="img" aria-label="${side > 0 ? "above" : "below"} complete months"
      >${side > 0 ? "▲" : "▼"}</span
    > `;
  return html`<td class="${isEdge ? `${look} edge` : look}"
    ><label
      ><input type="radio" name="${answer.name}-heat" />${mark}${ageFigure(answer, curve, index)}${peek(answer, curve, index)}</label
    ></td
  >`;
}

/** The card of a cell, shown while the cell is hovered or focused; arrow keys move to the next. */
function peek(answer: ApiAnswer, curve: Curve, index: number): Html {
  const age = curve.ages[index];
  const path = `${curve.agesPath}/${index}`;
  const soldPath = curve.month === null ? `${path}/sold_units` : `${curve.path}/sold_units`;
  const back =
    (age?.return_rate ?? null) === null
      ? html`no rate yet from ${figure(answer, soldPath, units)}`
      : html`${figure(answer, `${path}/returned_units`, count)} of ${figure(answer, soldPath, units)} came back,
        ${figure(answer, `${path}/return_rate`, percent)}, likely
        ${intervalFigure(answer, `${path}/return_rate_interval`, "not known")}`;
  return html`<span class="peek"
    ><strong>${curveName(answer, curve)}, ${figure(answer, `${path}/age_days`, days)}:</strong> ${back};
    ${completion(curve, age)}</span
  >`;
}

/** M19: an age is complete when the orders of the month's last day have reached it. */
function completion(curve: Curve, age: ChartedAge | undefined): Html {
  if (curve.month === null) return html`of the months that are complete at this age`;
  if (age === undefined || age.is_complete) return html`complete`;
  const last = dayToText(lastDayOfMonth(monthOfDate(curve.month)) + age.age_days);
  return html`open, complete after <time datetime="${last}">${day(last)}</time>`;
}

/** Nine shades around the rate of complete months at that age; without such a rate, up to the column's highest. */
function shadeAt(
  months: readonly Curve[],
  pooled: Curve | undefined,
  index: number,
): (rate: number) => number {
  const closed = months.filter((curve) => !curve.hasFewUnits && observed(curve).length > index);
  const usual = (usualAt(pooled, index)?.return_rate ?? 0) * DARKEST;
  const highest = max(closed, (curve) => curve.ages[index]?.return_rate ?? 0) ?? 0;
  // A month that no other can be compared with is neither low nor high.
  const top = usual > 0 ? usual : highest * (closed.length > 1 ? 1 : DARKEST);
  return scaleQuantize()
    .domain([0, top > 0 ? top : 1])
    .range(SHADES);
}
