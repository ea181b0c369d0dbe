import { greatest } from "d3-array";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { days as daysText } from "../format.ts";
import { against, ageFigure, curveName, observed, usualAt } from "./curve-rows.ts";
import type { Curve } from "./curve-rows.ts";

/** This many months are named; more are summed up. */
const MOST_NAMES = 3;

/** The month whose newest rate is furthest from complete months of the same age, where intervals do not overlap; else the newest. */
export function curvesFinding(answer: ApiAnswer, drawn: readonly Curve[], pooled: Curve | undefined): Html {
  const ends = drawn.flatMap((curve) => {
    const index = observed(curve).length - 1;
    const age = curve.ages[index];
    return age === undefined ? [] : [{ curve, index, age, side: against(pooled, curve, index) }];
  });
  const distance = ({ age, index }: (typeof ends)[number]): number =>
    Math.abs((age.return_rate ?? 0) - (pooled?.ages[index]?.return_rate ?? 0));
  const found =
    greatest(
      ends.filter(({ side }) => side !== 0),
      distance,
    ) ?? ends[0];
  if (found === undefined) return html`No month is old enough for a return curve yet`;
  const { curve, index, side } = found;
  const rate = ageFigure(answer, curve, index);
  const days = figure(answer, `${curve.agesPath}/${index}/age_days`, daysText);
  const usual =
    pooled !== undefined && usualAt(pooled, index) !== undefined && ageFigure(answer, pooled, index);
  if (usual === false)
    return html`${rate} of what was sold in ${curveName(answer, curve)} came back within ${days}`;
  if (side === 0)
    return html`${curveName(answer, curve)} comes back as usual: ${rate} within ${days}, against ${usual} in complete
    months`;
  return html`${side > 0 ? "More" : "Less"} than usual comes back from ${curveName(answer, curve)}: ${rate}
  within ${days}, against ${usual} in complete months`;
}

/** The months that brought back more than complete months had at the same age: those with a marked cell in the heat table. */
export function heatFinding(answer: ApiAnswer, months: readonly Curve[], pooled: Curve | undefined): Html {
  if (pooled === undefined) return html`No other complete month to compare with`;
  if (months.every((curve) => curve.hasFewUnits)) return html`Too few units are sold in a month to compare`;
  const off = months.filter((curve) => curve.ages.some((_, index) => against(pooled, curve, index) > 0));
  const names = off.map(
    (curve, order) =>
      html`${order > 0 && (order === off.length - 1 ? " and " : ", ")}${curveName(answer, curve)}`,
  );
  const newest = off.at(-1);
  if (newest !== undefined && off.length > MOST_NAMES) {
    return html`Several months bring back more than complete months did at the same age; the newest is
    ${curveName(answer, newest)}`;
  }
  if (off.length === 0) return html`No month brings back more than complete months did at the same age`;
  return html`${names} ${off.length === 1 ? "brings" : "bring"} back more than complete months did at the same
  age`;
}
