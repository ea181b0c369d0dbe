/**
 * `part` ÷ `whole` in tenths of a percent, halves away from zero: the rounding of METRICS for people. Exact for whole
 * numbers below 2^41; `whole` is above 0.
 */
export function tenthsOfPercent(part: number, whole: number): number {
  const size = Math.floor((2000 * Math.abs(part) + whole) / (2 * whole));
  return part < 0 && size > 0 ? -size : size;
}
