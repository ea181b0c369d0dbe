export interface RateInterval {
  low: number;
  high: number;
}

const ninetyFivePercentZ = 1.959963984540054;

/** M6: `part` ÷ `whole`, rounded to 6 decimals, exact; 0 when `whole` is 0. Both are whole units ≥ 0. */
export function rate(part: number, whole: number): number {
  return whole === 0 ? 0 : millionths(BigInt(part), BigInt(whole));
}

/** As `rate`, but null when there is nothing to divide by. */
export function share(part: number, whole: number): number | null {
  return whole === 0 ? null : rate(part, whole);
}

/**
 * The first exact rate minus the second one, to 6 decimals; null when either side sold nothing.
 * Swapping the two only changes the sign.
 */
export function signedChange(
  returnedUnits: number,
  soldUnits: number,
  otherReturnedUnits: number,
  otherSoldUnits: number,
): number | null {
  if (soldUnits === 0 || otherSoldUnits === 0) return null;
  const whole = BigInt(soldUnits) * BigInt(otherSoldUnits);
  const difference =
    BigInt(returnedUnits) * BigInt(otherSoldUnits) - BigInt(otherReturnedUnits) * BigInt(soldUnits);
  return millionths(difference, whole);
}

/** M16: orders two exact rates, below 0 when the left is smaller. A rate of nothing sold is 0 (M6). */
export function compareRates(
  leftPart: number,
  leftWhole: number,
  rightPart: number,
  rightWhole: number,
): number {
  const left = leftWhole === 0 ? ([0, 1] as const) : ([leftPart, leftWhole] as const);
  const right = rightWhole === 0 ? ([0, 1] as const) : ([rightPart, rightWhole] as const);
  const leftProduct = left[0] * right[1];
  const rightProduct = right[0] * left[1];
  if (Number.isSafeInteger(leftProduct) && Number.isSafeInteger(rightProduct)) {
    return leftProduct - rightProduct;
  }
  const exact = BigInt(left[0]) * BigInt(right[1]) - BigInt(right[0]) * BigInt(left[1]);
  return exact < 0n ? -1 : exact > 0n ? 1 : 0;
}

/**
 * M6: the 95 % Wilson interval of a rate, rounded to 6 decimals; null without sales. `effect`: that of designEffect, which
 * reduces the sold units to fewer independent ones.
 */
export function wilsonInterval(
  returnedUnits: number,
  soldUnits: number,
  effect: number,
): RateInterval | null {
  const bounds = wilsonBounds(returnedUnits, soldUnits, effect);
  return bounds === null ? null : { low: sixDecimals(bounds.low), high: sixDecimals(bounds.high) };
}

/** The same interval unrounded, for comparisons (M16). */
export function wilsonBounds(returnedUnits: number, soldUnits: number, effect: number): RateInterval | null {
  if (soldUnits === 0) return null;
  const squaredZ = ninetyFivePercentZ ** 2;
  const units = soldUnits / effect;
  const successes = returnedUnits / effect;
  const failures = (soldUnits - returnedUnits) / effect;
  const center = successes + squaredZ / 2;
  const spread = ninetyFivePercentZ * Math.sqrt((successes * failures) / units + squaredZ / 4);
  const scale = units + squaredZ;
  return {
    low: successes === 0 ? 0 : Math.max(0, (center - spread) / scale),
    high: failures === 0 ? 1 : Math.min(1, (center + spread) / scale),
  };
}

/** M13: `part` of `whole` in whole percent, rounded; 0 when `whole` is 0. */
export function wholePercent(part: number, whole: number): number {
  return whole === 0 ? 0 : Number(roundedQuotient(BigInt(part) * 100n, BigInt(whole)));
}

/** An estimated fraction, limited to 0 to 1 and rounded to 6 decimals. */
export function fractionInMillionths(fraction: number): number {
  return sixDecimals(Math.min(1, Math.max(0, fraction)));
}

function millionths(part: bigint, whole: bigint): number {
  // An integer divided by a power of ten is the nearest double of that decimal.
  return Number(roundedQuotient(part * 1_000_000n, whole)) / 1_000_000;
}

function sixDecimals(value: number): number {
  return Math.round(value * 1_000_000) / 1_000_000;
}

/** The one rounding rule: `dividend` ÷ `divisor` (> 0) to the nearest whole, halves away from zero; exact. */
export function roundedQuotient(dividend: bigint, divisor: bigint): bigint {
  const half = dividend < 0n ? -divisor : divisor;
  // BigInt division cuts towards zero.
  return (2n * dividend + half) / (2n * divisor);
}
