import { greatest } from "d3-array";
import type { ReportData } from "../../contract/report.ts";
import { html, type Html } from "../../lib/html.ts";
import { figure, valueAt, type ApiAnswer } from "../figure.ts";
import { percent, days as daysText } from "../format.ts";
import { areFew, monthFigure } from "./rates.ts";

type MonthCurve = NonNullable<ReportData["return_curves"]>[number];
type PooledAge = NonNullable<ReportData["pooled_return_curve"]>[number];
/** `months_included`: of the pooled curve. */
export type ChartedAge = MonthCurve["ages"][number] & { months_included?: number };

/** A return curve: of a cohort month, or of all complete ones together (null). `agesPath` locates its ages. */
export type Curve = {
  month: string | null;
  path: string;
  agesPath: string;
  ages: ChartedAge[];
  /** Too few were sold for its rates to be compared. */
  hasFewUnits: boolean;
};

/**
 * The curves of the answer that sold something, oldest month first; apart the pooled one, if it holds more than one month.
 * `fewUnits`: see `areFew`.
 */
export function readCurves(
  answer: ApiAnswer,
  fewUnits: number,
): {
  months: Curve[];
  pooled: Curve | undefined;
  ages: number[];
} {
  const rows = (valueAt(answer, "return_curves") ?? []) as MonthCurve[];
  const pooled = (valueAt(answer, "pooled_return_curve") ?? []) as PooledAge[];
  const paths = rows.map((row, index) => ({ row, path: `return_curves/${index}` }));
  return {
    months: paths
      .filter(({ row }) => row.sold_units > 0)
      .map(({ row, path }) => ({
        month: row.cohort_month,
        path,
        agesPath: `${path}/ages`,
        ages: row.ages,
        hasFewUnits: areFew(row.sold_units, fewUnits),
      })),
    pooled: isPool(pooled[0]) ? pooledCurve(pooled) : undefined,
    ages: (rows[0]?.ages ?? pooled).map((age) => age.age_days),
  };
}

function isPool(youngest: PooledAge | undefined): boolean {
  return youngest !== undefined && youngest.return_rate !== null && youngest.months_included > 1;
}

function pooledCurve(ages: readonly PooledAge[]): Curve {
  const path = "pooled_return_curve";
  return {
    month: null,
    path,
    agesPath: path,
    ages: ages.map((age) => ({ ...age, is_complete: age.months_included > 0 })),
    hasFewUnits: false,
  };
}

/** The ages that a curve has reached. It ends at the first that is still open. */
export function observed({ ages }: Curve): ChartedAge[] {
  const open = ages.findIndex((age) => !age.is_complete || age.return_rate === null);
  return open < 0 ? ages : ages.slice(0, open);
}

/** "Aug 2026", or the name of the pooled curve. */
export function curveName(answer: ApiAnswer, { month, path }: Curve): Html {
  return month === null ? html`complete months` : monthFigure(answer, `${path}/cohort_month`);
}

/** The rate at an age; for an open age the returns so far, if the answer has them. */
export function ageFigure(answer: ApiAnswer, curve: Curve, index: number): Html {
  const rate = figure(answer, `${curve.agesPath}/${index}/return_rate`, percent, "still open");
  const age = curve.ages[index];
  return age === undefined || age.is_complete || age.return_rate === null
    ? rate
    : html`${rate} <small>so far</small>`;
}

/** Complete months at an age; undefined if a month would only be compared with itself. */
export function usualAt(pooled: Curve | undefined, index: number): ChartedAge | undefined {
  const age = pooled?.ages[index];
  return (age?.months_included ?? 0) > 1 ? age : undefined;
}

/**
 * 1 = above, −1 = below what complete months had brought back at that age, by intervals that do not overlap; 0 = neither, still
 * open, or too few units to say.
 */
export function against(pooled: Curve | undefined, curve: Curve, index: number): -1 | 0 | 1 {
  const usual = usualAt(pooled, index)?.return_rate_interval;
  const own = observed(curve)[index]?.return_rate_interval;
  if (!usual || !own || curve.hasFewUnits) return 0;
  if (own.low > usual.high) return 1;
  return own.high < usual.low ? -1 : 0;
}

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
    return html`Several months have a higher return rate than complete months had at the same age; the newest is
    ${curveName(answer, newest)}`;
  }
  if (off.length === 0)
    return html`No month has a higher return rate than complete months had at the same age`;
  return html`${names} ${off.length === 1 ? "has" : "have"} a higher return rate than complete months had at the same
  age`;
}
