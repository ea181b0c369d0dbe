import { signedChange } from "./rate.ts";

/** Units of a product in two periods; `returnedByThen`: of the base, at the age that this period has now. */
export interface WalkedProduct {
  soldUnits: number;
  baseSoldUnits: number;
  baseReturnedByThen: number;
}

interface RateUnits {
  soldUnits: number;
  returnedUnits: number;
}

/** M24: why a rate differs from the base period's, to 6 decimals; the three add up to the change of M6. */
interface RateWalk {
  timing: number;
  mix: number;
  rate: number;
}

const MILLION = 1_000_000;

/** null: either side has no sales. The products' units add up to those of the periods. */
export function rateWalk(
  period: RateUnits,
  base: RateUnits,
  products: readonly WalkedProduct[],
): RateWalk | null {
  const byThen = products.reduce((sum, product) => sum + product.baseReturnedByThen, 0);
  const change = signedChange(period.returnedUnits, period.soldUnits, base.returnedUnits, base.soldUnits);
  const timing = signedChange(byThen, base.soldUnits, base.returnedUnits, base.soldUnits);
  if (change === null || timing === null) return null;
  const baseRate = byThen / base.soldUnits;
  let expectedUnits = 0;
  for (const { soldUnits, baseSoldUnits, baseReturnedByThen } of products) {
    expectedUnits += soldUnits * (baseSoldUnits === 0 ? baseRate : baseReturnedByThen / baseSoldUnits);
  }
  const mix = sixDecimals(expectedUnits / period.soldUnits - baseRate);
  const rate = Math.round((change - timing - mix) * MILLION) / MILLION;
  return { timing, mix, rate };
}

/** Halves away from zero; a value that misses a half only by the last bits of its quotients counts as one. */
function sixDecimals(value: number): number {
  const size = Math.floor(Math.abs(value) * MILLION + 0.5 + 1e-6) / MILLION;
  return value < 0 && size > 0 ? -size : size;
}
