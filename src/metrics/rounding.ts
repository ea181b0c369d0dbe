/** The one rounding rule: `dividend` ÷ `divisor` (> 0) to the nearest whole, halves away from zero; exact. */
export function roundedQuotient(dividend: bigint, divisor: bigint): bigint {
  const half = dividend < 0n ? -divisor : divisor;
  // BigInt division cuts towards zero.
  return (2n * dividend + half) / (2n * divisor);
}
