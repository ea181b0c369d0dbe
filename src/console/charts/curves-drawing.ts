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
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { month } from "../format.ts";
import { observed } from "./curve-rows.ts";
import type { Curve, ChartedAge } from "./curve-rows.ts";
import { FULL, paths, percentTick, place, verticalAxis, verticalScale } from "./plot.ts";

const SHAPES = [symbolCircle, symbolSquare, symbolTriangle, symbolDiamond, symbolCross, symbolStar] as const;
const SHAPE_AREA = 56;
/** Names at the ends of curves keep this far apart, in percent of the height. */
const NAME_HEIGHT = 7;

/** Square root of the days, since most happens early. */
export function ageScale(lastAge: number): (age: number) => number {
  return scaleSqrt()
    .domain([0, Math.max(1, lastAge)])
    .range([0, FULL]);
}

/** Curves of months with a shape each, newest first, over the band of complete months, and the line of the window. */
export function curvesDrawing(
  months: readonly Curve[],
  pooled: Curve | undefined,
  windowDays: number | null,
): Html {
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

/** The shape of the curve of that order. */
export function marker(order: number, x: string, y: string): Html {
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

/** The month at the end of its curve; names of curves that end at one age are moved apart. */
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
