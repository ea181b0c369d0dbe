import { greatest, max } from "d3-array";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure, valueAt } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { count } from "../format.ts";
import { against, ageFigure, curveName, observed, readCurves } from "./curve-rows.ts";
import type { Curve } from "./curve-rows.ts";
import { ageScale, curvesDrawing, marker } from "./curves-drawing.ts";
import { chartFigure, nothingToDraw } from "./frame.ts";
import type { ChartInput } from "./frame.ts";
import { place } from "./plot.ts";
import { intervalFigure, soldFigure } from "./rates.ts";

/** How many months are drawn, the newest that have reached the first age. */
const MOST_CURVES = 6;

/** How does a cohort ripen? The share returned by age of the newest months, against complete months together. */
export function curvesChart({ answer, exportHref }: ChartInput): Html {
  const { months, pooled, ages } = readCurves(answer);
  const drawn = months
    .filter((curve) => observed(curve).length > 0)
    .slice(-MOST_CURVES)
    .toReversed();
  const all = pooled === undefined ? drawn : [...drawn, pooled];
  const lastAge = max(all, (curve) => observed(curve).at(-1)?.age_days ?? 0) ?? 0;
  if (drawn.length === 0) return nothingToDraw("No month is old enough for a return curve yet.");
  const windowDays = valueAt(answer, "window_days") as number | null;
  return chartFigure({
    id: `${answer.name}-curves`,
    title: findingOf(answer, drawn, pooled),
    summary: html`Share of what was sold in a month that had come back by each age. A curve ends where its
    month is still
    open.${
      windowDays !== null &&
      html` The dashed line marks the window of ${figure(answer, "window_days", count)} days.`
    }`,
    drawing: lastAge > (ages[0] ?? 0) ? curvesDrawing(drawn, pooled, windowDays) : null,
    axisLabel: "Days since the order",
    legend: [
      ...drawn.map((curve, order) => ({
        swatch: html`<line
            class="curve line-${order + 1}"
            x1="0"
            x2="30"
            y1="7"
            y2="7"
          />${marker(order, "15", "7")}`,
        text: curveName(answer, curve),
      })),
      ...(pooled
        ? [
            {
              swatch: html`<rect class="usual-band" y="1" width="30" height="12" /><line
                  class="curve usual"
                  x1="0"
                  x2="30"
                  y1="7"
                  y2="7"
                />`,
              text: "complete months together, with 95 % interval",
            },
          ]
        : []),
    ],
    table: tableOf(answer, all, ages, lastAge),
    readout: "Age in days",
    exportHref,
  });
}

function findingOf(answer: ApiAnswer, drawn: readonly Curve[], pooled: Curve | undefined): Html {
  const ends = drawn.flatMap((curve) => {
    const index = observed(curve).length - 1;
    const age = curve.ages[index];
    return age === undefined ? [] : [{ curve, index, age, side: against(pooled, age, index) }];
  });
  const distance = ({ age, index }: (typeof ends)[number]): number =>
    Math.abs(age.return_rate - (pooled?.ages[index]?.return_rate ?? 0));
  const found =
    greatest(
      ends.filter(({ side }) => side !== 0),
      distance,
    ) ?? ends[0];
  if (found === undefined) return html`No month is old enough for a return curve yet`;
  const { curve, index, side } = found;
  const rate = ageFigure(answer, curve, index);
  const days = figure(answer, `${curve.path}/ages/${index}/age_days`, count);
  const usual = pooled !== undefined && observed(pooled).length > index && ageFigure(answer, pooled, index);
  if (usual === false)
    return html`${rate} of what was sold in ${curveName(answer, curve)} came back within ${days} days`;
  if (side === 0)
    return html`${curveName(answer, curve)} ripens as months do: ${rate} came back within ${days} days,
    ${usual} of complete months`;
  return html`${side > 0 ? "More" : "Less"} than usual comes back from ${curveName(answer, curve)}: ${rate}
  within ${days} days, against ${usual} of complete months`;
}

function tableOf(
  answer: ApiAnswer,
  curves: readonly Curve[],
  ages: readonly number[],
  lastAge: number,
): Html {
  const x = ageScale(lastAge);
  return html`<table>
    <thead>
      <tr>
        <th scope="col">Days</th>
        ${curves.map((curve) => html`<th scope="col">${curveName(answer, curve)}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${ages.map(
        (age, index) =>
          html`<tr${age <= lastAge && html` data-x="${place(x(age))}"`}><th scope="row">${figure(answer, `${curves[0]?.path}/ages/${index}/age_days`, count)}</th>
${curves.map((curve) => html`<td>${ageFigure(answer, curve, index)}${index < observed(curve).length && html` <small>(${intervalFigure(answer, `${curve.path}/ages/${index}/return_rate_interval`)})</small>`}</td>`)}</tr>`,
      )}
      <tr>
        <th scope="row">Sold units</th>
        ${curves.map((curve) => html`<td>${soldFigure(answer, curve.path)}</td>`)}
      </tr>
    </tbody>
  </table>`;
}
