import { max } from "d3-array";
import { scaleSqrt } from "d3-scale";
import {
  area,
  line,
  symbol,
  symbolCircle,
  symbolCross,
  symbolDiamond,
  symbolSquare,
  symbolStar,
  symbolTriangle,
} from "d3-shape";
import { html, type Html } from "../../lib/html.ts";
import { figure, valueAt, type ApiAnswer } from "../figure.ts";
import { count, days, months as monthsText, units, month } from "../format.ts";
import { ageFigure, curveName, observed, readCurves, curvesFinding } from "./curve-rows.ts";
import type { Curve, ChartedAge } from "./curve-rows.ts";
import { chartFigure, nothingToDraw, figureTable, type ChartInput } from "./frame.ts";
import {
  FULL,
  paths,
  percentTick,
  place,
  verticalAxis,
  verticalScale,
  boxSwatch,
  lineSwatch,
} from "./plot.ts";
import { DEFAULT_FEW_UNITS, intervalFigure, soldFigure } from "./rates.ts";

const SHAPES = [symbolCircle, symbolSquare, symbolTriangle, symbolDiamond, symbolCross, symbolStar] as const;
const SHAPE_AREA = 56;
/** Minimum distance of names at the ends of curves, in percent of the height. */
const NAME_HEIGHT = 7;

/** Square root of the days, since most returns come early. */
function ageScale(lastAge: number): (age: number) => number {
  return scaleSqrt()
    .domain([0, Math.max(1, lastAge)])
    .range([0, FULL]);
}

/** Curves of months with a shape each, newest first, over the band of complete months, and the line of the window. */
function curvesDrawing(months: readonly Curve[], pooled: Curve | undefined, windowDays: number | null): Html {
  const curves = months.map((curve) => observed(curve));
  const last =
    max([...curves, observed(pooled ?? (months[0] as Curve))], (ages) => ages.at(-1)?.age_days ?? 0) ?? 1;
  const usual = pooled === undefined ? [] : observed(pooled);
  const x = ageScale(last);
  const highest = max([...curves, usual].flat(), (age) => age.return_rate ?? 0) ?? 0;
  const y = verticalScale(
    0,
    Math.max(highest, max(usual, (age) => age.return_rate_interval?.high ?? 0) ?? 0),
  );
  const path = line<ChartedAge>()
    .x((age) => x(age.age_days))
    .y((age) => y(age.return_rate ?? 0));
  const band = area<ChartedAge>()
    .x((age) => x(age.age_days))
    .y0((age) => y(age.return_rate_interval?.low ?? 0))
    .y1((age) => y(age.return_rate_interval?.high ?? 0))
    .defined((age) => age.return_rate_interval !== null);
  return html`${verticalAxis(y, percentTick)}${ageAxis(months, x, last)}
  ${paths(html`<path class="usual-band" d="${band(usual) ?? ""}" /><path class="curve usual" d="${path(usual) ?? ""}" />`)}
  ${windowDays !== null && windowDays <= last && html`<line class="window" x1="${place(x(windowDays))}" x2="${place(x(windowDays))}" y1="0" y2="100%" /><text x="${place(x(windowDays))}" y="0" dy="-6" text-anchor="middle">window</text>`}
  ${paths(curves.map((ages, order) => html`<path class="curve line-${order + 1}" d="${path(ages) ?? ""}" />`).toReversed())}
  ${curves.map((ages, order) => ages.map((age) => marker(order, place(x(age.age_days)), place(y(age.return_rate ?? 0))))).toReversed()}
  ${endNames(months, x, y)}`;
}

function marker(order: number, x: string, y: string): Html {
  const shape = symbol(SHAPES[order % SHAPES.length], SHAPE_AREA)() ?? "";
  return html`<svg x="${x}" y="${y}" overflow="visible">
    <path class="mark mark-${order + 1}" d="${shape}" />
  </svg>`;
}

function ageAxis(months: readonly Curve[], x: (age: number) => number, last: number): Html {
  const ages = (months[0]?.ages ?? []).map((age) => age.age_days).filter((age) => age <= last);
  return html`<g class="axis"
    >${ages.map((age) => html`<text x="${place(x(age))}" y="100%" dy="19" text-anchor="middle">${age}</text>`)}</g
  >`;
}

/** The month at the end of its curve; names of curves that end at the same age are moved apart. */
function endNames(months: readonly Curve[], x: (age: number) => number, y: (rate: number) => number): Html[] {
  const ends = months
    .map((curve) => ({ curve, end: observed(curve).at(-1) }))
    .map(({ curve, end }) => ({ curve, left: x(end?.age_days ?? 0), top: y(end?.return_rate ?? 0) }))
    .toSorted((one, other) => one.left - other.left || one.top - other.top);
  let above = { left: -1, top: 0 };
  return ends.map(({ curve, left, top }) => {
    above = { left, top: above.left === left ? Math.max(top, above.top + NAME_HEIGHT) : top };
    return html`<text class="end" x="${place(left)}" y="${place(above.top)}" dx="9" dy="4"
      >${(month(curve.month ?? "") as string).split(" ")[0]}</text
    >`;
  });
}

/** How many months are drawn, the newest that have reached the first age. */
const MOST_CURVES = 6;

/** How do a month's returns arrive? The share returned by age of the newest months, against complete months together. */
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
  return figureTable(["Age", ...curves.map((curve) => curveName(answer, curve))], [...rows, sold]);
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
