import { fitOfSizes } from "../../src/metrics/fit.ts";
import type { FitCounts } from "../../src/metrics/fit.ts";
import type { FitProduct } from "./stores.ts";

const MONTHS = 12;
/** By the returns of a misfit's sizes in the twelve months. */
const CLASSES = [0, 20, 50, 100, Infinity];

export type FitScore = {
  /** Products without a misfit, once each month, and those named in a sentence. */
  fittingMonths: number;
  invented: number;
  /** Sizes without a misfit of products that have one, and those that a sentence names. */
  fittingSizes: number;
  inventedSizes: number;
  /** Misfits by how many returns show them: product-months, those that a sentence names, thin ones marked so. */
  misfits: { least: number; months: number; found: number; marked: number }[];
};

/** M22 at the end of each month, over the twelve months that end with it. */
export function scoreFit(stores: readonly (readonly FitProduct[])[]): FitScore {
  const score: FitScore = { fittingMonths: 0, invented: 0, fittingSizes: 0, inventedSizes: 0, misfits: [] };
  score.misfits = CLASSES.slice(0, -1).map((least) => ({ least, months: 0, found: 0, marked: 0 }));
  for (const store of stores) {
    const months = store[0]?.months.length ?? 0;
    for (let end = MONTHS; end <= months; end += 1) {
      const counts = store.map((product) => sumOf(product.months.slice(end - MONTHS, end)));
      for (const [place, product] of store.entries()) {
        const others = sumOf(
          [counts.filter((_sizes, other) => other !== place).flat()].map((all) => [total(all)]),
        );
        scoreProduct(product, counts[place] as FitCounts[], others[0] as FitCounts, score);
      }
    }
  }
  return score;
}

function scoreProduct(
  { misfit }: FitProduct,
  counts: readonly FitCounts[],
  others: FitCounts,
  score: FitScore,
): void {
  const { sizes, whole } = fitOfSizes(counts, others);
  if (misfit === null) {
    score.fittingMonths += 1;
    if (whole.fit !== null || sizes.some(({ fit }) => fit !== null)) score.invented += 1;
    return;
  }
  for (const [size, { fit }] of sizes.entries()) {
    if (misfit.sizes.includes(size)) continue;
    score.fittingSizes += 1;
    if (fit !== null) score.inventedSizes += 1;
  }
  const wrong = misfit.sizes.map((size) => counts[size] as FitCounts);
  const { returns } = total(wrong);
  const row = score.misfits.findLast(({ least }) => returns >= least);
  if (row === undefined) return;
  row.months += 1;
  if (whole.fit === misfit.fit || misfit.sizes.some((size) => sizes[size]?.fit === misfit.fit))
    row.found += 1;
  else if (misfit.sizes.every((size) => sizes[size]?.isThin)) row.marked += 1;
}

function sumOf(rows: readonly (readonly FitCounts[])[]): FitCounts[] {
  return (rows[0] ?? []).map((_size, place) => total(rows.map((row) => row[place] as FitCounts)));
}

function total(all: readonly FitCounts[]): FitCounts {
  const sum = { returns: 0, tooSmall: 0, tooLarge: 0 };
  for (const { returns, tooSmall, tooLarge } of all) {
    sum.returns += returns;
    sum.tooSmall += tooSmall;
    sum.tooLarge += tooLarge;
  }
  return sum;
}
