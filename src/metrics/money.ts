import { exact } from "../lib/exact.ts";
import { roundedQuotient } from "./rate.ts";

const plainDecimal = /^([+-]?)(\d+)(?:\.(\d+))?$/;

/**
 * M9: a plain decimal text in minor units. Null when it is not a plain decimal, has more decimals than the
 * currency (zeros at the end do not count), or goes beyond the safe integers.
 */
export function minorFromDecimal(text: string, exponent: number): number | null {
  const match = plainDecimal.exec(text);
  if (match === null) return null;
  const [, sign, integer = "", fraction = ""] = match;
  if (/[1-9]/.test(fraction.slice(exponent))) return null;
  const minor = Number(integer + fraction.slice(0, exponent).padEnd(exponent, "0"));
  if (!Number.isSafeInteger(minor)) return null;
  return sign === "-" ? 0 - minor : minor;
}

/** A plain decimal, exactly: `digits` ÷ 10^`scale`. */
export type Decimal = { digits: bigint; scale: number };

/** Longer texts are not amounts, and slow to compute with. */
const MAX_AMOUNT_CHARACTERS = 100;

/** A plain decimal text of at most 100 characters; null = it is not one. */
export function decimalFromText(text: string): Decimal | null {
  const match = text.length > MAX_AMOUNT_CHARACTERS ? null : plainDecimal.exec(text);
  if (match === null) return null;
  const [, sign, integer = "", fraction = ""] = match;
  const digits = BigInt(integer + fraction);
  return { digits: sign === "-" ? -digits : digits, scale: fraction.length };
}

/** M9: a decimal in minor units, halves away from zero; null beyond the safe integers. */
export function roundedMinor({ digits, scale }: Decimal, exponent: number): number | null {
  const tenTo = (power: number): bigint => 10n ** BigInt(Math.max(0, power));
  const minor = Number(roundedQuotient(digits * tenTo(exponent - scale), tenTo(scale - exponent)));
  return Number.isSafeInteger(minor) ? minor : null;
}

/** An estimated amount in whole minor units, halves away from zero. */
export function wholeMinor(minor: number): number {
  return Math.sign(minor) * Math.round(Math.abs(minor));
}

/**
 * An amount given as a number, in possibly fractional minor units, for comparing with a threshold (M13).
 * It is shifted as the decimal it is written as: 1.1 becomes 110, where 1.1 * 100 would exceed it.
 */
export function minorFromNumber(amount: number, exponent: number): number {
  const [digits, power = "0"] = String(amount).split("e");
  return Number(`${digits}e${Number(power) + exponent}`);
}

/** M9: minor units as the decimal number nearest to the amount, for presentation. Throws `Inexact`. */
export function decimalFromMinor(minor: number, exponent: number): number {
  return Number(decimalText(minor, exponent));
}

/** The same; null stays null. */
export function decimalOrNull(minor: number | null, exponent: number): number | null {
  return minor === null ? null : decimalFromMinor(minor, exponent);
}

/** M9: minor units as decimal text with all decimals of the currency. Throws `Inexact`. */
export function decimalText(minor: number, exponent: number): string {
  const sign = minor < 0 ? "-" : "";
  const digits = String(Math.abs(exact(minor))).padStart(exponent + 1, "0");
  const point = digits.length - exponent;
  return exponent === 0 ? sign + digits : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}
