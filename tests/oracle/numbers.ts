/** M6: rounded to 6 decimals, in whole numbers only; 0 if the divisor is 0. */
export function rateOf(part: number, whole: number): number {
  return whole === 0 ? 0 : nearest(BigInt(part) * 1_000_000n, BigInt(whole)) / 1_000_000;
}

export function shareOf(part: number, whole: number): number | null {
  return whole === 0 ? null : rateOf(part, whole);
}

/** M6: the difference of two exact rates, halves rounded away from zero; null when either side sold nothing. */
export function changeOf(
  now: { returned: number; sold: number },
  before: { returned: number; sold: number },
): number | null {
  if (now.sold === 0 || before.sold === 0) return null;
  const difference = now.returned * before.sold - before.returned * now.sold;
  const size = rateOf(Math.abs(difference), now.sold * before.sold);
  return difference < 0 && size !== 0 ? -size : size;
}

/** The textbook form of the 95 % Wilson interval, to 6 decimals, with the units divided by the design effect. */
export function wilsonOf(
  returned: number,
  sold: number,
  effect: number,
): { low: number; high: number } | null {
  if (sold === 0) return null;
  const units = sold / effect;
  const z = 1.959963984540054;
  const rate = returned / sold;
  const center = rate + (z * z) / (2 * units);
  const spread = z * Math.sqrt((rate * (1 - rate)) / units + (z * z) / (4 * units * units));
  const scale = 1 + (z * z) / units;
  const shown = (bound: number): number =>
    Math.round(Math.min(1, Math.max(0, bound)) * 1_000_000) / 1_000_000;
  return { low: shown((center - spread) / scale), high: shown((center + spread) / scale) };
}

/** A division of whole numbers, rounded to the nearest, a half away from zero; the divisor is above 0. */
export function nearest(dividend: bigint, divisor: bigint): number {
  const size = dividend < 0n ? -dividend : dividend;
  const whole = size / divisor + (2n * (size % divisor) >= divisor ? 1n : 0n);
  return Number(dividend < 0n ? -whole : whole);
}

/** M9: how many decimals the currencies of the test stores have. */
export function decimalsOf(currencyCode: string): number {
  return { JPY: 0, KWD: 3 }[currencyCode] ?? 2;
}

/** M9: minor units of a decimal text `times` over, rounded once from the digits as they are written. */
export function minorOf(text: string, currencyCode: string, times = 1): number {
  const [whole = "", fraction = ""] = text.split(".");
  const scaled = BigInt(whole + fraction) * BigInt(times) * 10n ** BigInt(decimalsOf(currencyCode));
  return nearest(scaled, 10n ** BigInt(fraction.length));
}

/** M9: the decimal number of minor units. */
export function amountOf(minor: number, currencyCode: string): number {
  return minor / 10 ** decimalsOf(currencyCode);
}

/** A comparison by code point for `sort`; UTF-8 bytes have the same order. */
export function byCodePoint(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

export function total<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + valueOf(item), 0);
}

/** Stirling's series, shifted to where it converges. */
export function logGamma(value: number): number {
  let shift = 0;
  let at = value;
  for (; at < 12; at += 1) shift -= Math.log(at);
  const inverse = 1 / (at * at);
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / at;
  return shift + (at - 0.5) * Math.log(at) - at + 0.5 * Math.log(2 * Math.PI) + series;
}
