import { currencyExponent } from "../../../lib/currency.ts";
import { decimalFromText, minorFromDecimal, roundedMinor } from "../../../metrics/money.ts";
import { SourceFailed } from "../../connector.ts";

/**
 * M9: an amount in minor units of its currency; a number is read as its decimal text. Decimals beyond the currency's are rounded,
 * halves away from zero. Throws `SourceFailed` for an invalid amount.
 */
export function minorOf(amount: string | number, currencyCode: string): number {
  const text = String(amount).trim();
  const exponent = currencyExponent(currencyCode);
  const exact = minorFromDecimal(text, exponent);
  const decimal = exact === null ? decimalFromText(text) : null;
  const minor = decimal === null ? exact : roundedMinor(decimal, exponent);
  if (minor !== null) return minor;
  throw new SourceFailed(`A response cannot be read: ${JSON.stringify(amount)} is not an amount of money.`);
}

/**
 * Splits a whole into parts by weight: largest remainder, ties to the earlier part; evenly when nothing weighs. A
 * negative whole is split as its size would be.
 */
export function splitMinor(wholeMinor: number, weights: readonly number[]): number[] {
  if (wholeMinor < 0) return splitMinor(-wholeMinor, weights).map((part) => 0 - part);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const fair = total > 0 ? weights : weights.map(() => 1);
  const fairTotal = total > 0 ? total : fair.length;
  const exact = fair.map((weight) => (wholeMinor * weight) / fairTotal);
  const parts = exact.map(Math.floor);
  let leftMinor = wholeMinor - parts.reduce((sum, part) => sum + part, 0);
  const byRemainder = exact
    .map((share, index) => ({ index, remainder: share - Math.floor(share) }))
    .toSorted((left, right) => right.remainder - left.remainder || left.index - right.index);
  for (const { index } of byRemainder) {
    if (leftMinor === 0) break;
    parts[index] = (parts[index] ?? 0) + 1;
    leftMinor -= 1;
  }
  return parts;
}
