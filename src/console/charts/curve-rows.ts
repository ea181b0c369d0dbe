import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import { figure, valueAt } from "../figure.ts";
import type { ApiAnswer } from "../figure.ts";
import { percent } from "../format.ts";
import { monthFigure } from "./rates.ts";
import type { Interval } from "./rates.ts";

export type CurveAge = {
  age_days: number;
  returned_units: number;
  return_rate: number;
  return_rate_interval: Interval | null;
  is_complete: boolean;
};

/** One return curve: of a cohort month, or of all complete ones together (null). */
export type Curve = { cohort_month: string | null; sold_units: number; ages: CurveAge[]; path: string };

/** The curves of the answer that sold something, oldest month first; the pooled one apart. */
export function readCurves(answer: ApiAnswer): {
  months: Curve[];
  pooled: Curve | undefined;
  ages: number[];
} {
  const rows = (valueAt(answer, "return_curves") ?? []) as Curve[];
  const curves = rows.map((row, index) => ({ ...row, path: `return_curves/${index}` }));
  return {
    months: curves.filter((curve) => curve.cohort_month !== null && curve.sold_units > 0),
    pooled: curves.find((curve) => curve.cohort_month === null && curve.sold_units > 0),
    ages: (rows[0]?.ages ?? []).map((age) => age.age_days),
  };
}

/** The ages that a curve has reached. It ends at the first that is still open. */
export function observed(curve: Curve): CurveAge[] {
  const open = curve.ages.findIndex((age) => !age.is_complete);
  return open < 0 ? curve.ages : curve.ages.slice(0, open);
}

/** "Aug 2026", or what the pooled curve is. */
export function curveName(answer: ApiAnswer, { cohort_month: month, path }: Curve): Html {
  return month === null ? html`complete months` : monthFigure(answer, `${path}/cohort_month`);
}

/** The rate at an age; the first open age shows what came back so far, later ones nothing. */
export function ageFigure(answer: ApiAnswer, curve: Curve, index: number): Html {
  const reached = observed(curve).length;
  const path = `${curve.path}/ages/${index}/return_rate`;
  if (index < reached) return figure(answer, path, percent);
  if (index === reached) return html`${figure(answer, path, percent)} <small>so far</small>`;
  return figure<number>(answer, path, () => html`– <small>still open</small>`, "still open");
}

/** 1 = above, −1 = below what complete months had brought back at that age, beyond chance; 0 = neither. */
export function against(pooled: Curve | undefined, age: CurveAge, index: number): -1 | 0 | 1 {
  const usual = pooled?.ages[index]?.return_rate_interval;
  const own = age.return_rate_interval;
  if (!usual || !own || !age.is_complete) return 0;
  if (own.low > usual.high) return 1;
  return own.high < usual.low ? -1 : 0;
}
