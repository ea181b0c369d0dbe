import { max } from "d3-array";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure, valueAt } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { count, days, months as monthsText, units } from "../format.ts";
import { ageFigure, curveName, observed, readCurves } from "./curve-rows.ts";
import type { Curve } from "./curve-rows.ts";
import { curvesFinding } from "./curves-finding.ts";
import { ageScale, curvesDrawing, marker } from "./curves-drawing.ts";
import { chartFigure, nothingToDraw } from "./frame.ts";
import type { ChartInput } from "./frame.ts";
import { DEFAULT_FEW_UNITS, intervalFigure, soldFigure } from "./rates.ts";
import { boxSwatch, lineSwatch } from "./swatches.ts";
import { table } from "./table.ts";

/** How many months are drawn, the newest that have reached the first age. */
const MOST_CURVES = 6;

/** How does a cohort ripen? The share returned by age of the newest months, against complete months together. */
export function curvesChart({ answer, exportHref, fewUnits = DEFAULT_FEW_UNITS }: ChartInput): Html {
  const { months, pooled, ages } = readCurves(answer, fewUnits);
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
    title: curvesFinding(answer, drawn, pooled),
    summary: html`Share of what was sold in a month that had come back by each age. A curve ends where its
    month is still open.${pooled && " Later ages count fewer complete months, so their line can fall."}${
      windowDays !== null &&
      html` The dashed line marks the window of ${figure(answer, "window_days", days)}.`
    }`,
    drawing: lastAge > (ages[0] ?? 0) ? curvesDrawing(drawn, pooled, windowDays) : null,
    axisLabel: "Days since the order",
    legend: [
      ...drawn.map((curve, order) => ({
        swatch: lineSwatch(`curve line-${order + 1}`, marker(order, "15", "7")),
        text: curveName(answer, curve),
      })),
      pooled !== undefined && {
        swatch: html`${boxSwatch("usual-band")}${lineSwatch("curve usual")}`,
        text: "complete months together, with their likely range (95 % interval)",
      },
    ],
    table: tableOf(answer, all, ages, lastAge),
    readout: "Age",
    exportHref,
  });
}

function tableOf(
  answer: ApiAnswer,
  curves: readonly Curve[],
  ages: readonly number[],
  lastAge: number,
): Html {
  const x = ageScale(lastAge);
  const start = observed(curves[0] as Curve).length - 1;
  const rows = ages.map((age, index) => ({
    head: html`${figure(answer, `${curves[0]?.agesPath}/${index}/age_days`, days)}`,
    cells: curves.map((curve) => ageCell(answer, curve, index)),
    x: age <= lastAge ? x(age) : undefined,
    isStart: index === start,
  }));
  const months = curves.filter((curve) => curve.month !== null);
  const sold = {
    head: "Sold units",
    cells: months.map((curve) => soldFigure(answer, curve.path, curve.hasFewUnits)),
  };
  return table(["Age", ...curves.map((curve) => curveName(answer, curve))], [...rows, sold]);
}

function ageCell(answer: ApiAnswer, curve: Curve, index: number): Html {
  const rate = ageFigure(answer, curve, index);
  const path = `${curve.agesPath}/${index}`;
  if (index >= observed(curve).length) return rate;
  const of =
    curve.month === null &&
    html` of ${figure(answer, `${path}/sold_units`, count)} in
    ${figure(answer, `${path}/months_included`, monthsText)}`;
  return html`${rate}
    <small class="under"
      >(${intervalFigure(answer, `${path}/return_rate_interval`)})
      ${figure(answer, `${path}/returned_units`, units)}${of}</small
    >`;
}
