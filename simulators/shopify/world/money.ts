import type { Line } from "./types.ts";

export type LineAmounts = { netMinor: number; taxMinor: number };

/** What the customer pays for a whole line after discounts, without and of tax. */
export function lineAmounts(line: Line, taxesIncluded: boolean): LineAmounts {
  const paid = Math.max(0, line.unitPriceMinor * line.quantity - line.discountMinor);
  const rate = line.taxPerMille / 1000;
  if (!taxesIncluded) return { netMinor: paid, taxMinor: Math.round(paid * rate) };
  const netMinor = Math.round(paid / (1 + rate));
  return { netMinor, taxMinor: paid - netMinor };
}

/** The share of a line's amounts that some of its units carry. */
export function unitsAmounts(line: Line, taxesIncluded: boolean, units: number): LineAmounts {
  const { netMinor, taxMinor } = lineAmounts(line, taxesIncluded);
  if (line.quantity === 0) return { netMinor: 0, taxMinor: 0 };
  return {
    netMinor: Math.round((netMinor * units) / line.quantity),
    taxMinor: Math.round((taxMinor * units) / line.quantity),
  };
}

/** A decimal string as the platform writes money: at least one decimal, no trailing zeros beyond that. */
export function decimalOf(minor: number, exponent: number): string {
  const sign = minor < 0 ? "-" : "";
  const digits = String(Math.abs(minor)).padStart(exponent + 1, "0");
  if (exponent === 0) return `${sign}${digits}.0`;
  const whole = digits.slice(0, -exponent);
  const fraction = digits.slice(-exponent).replace(/0+$/, "");
  return `${sign}${whole}.${fraction === "" ? "0" : fraction}`;
}

const EXPONENTS: Record<string, number> = { JPY: 0, KRW: 0, CLP: 0, VND: 0, KWD: 3, BHD: 3, TND: 3, JOD: 3 };

export function exponentOf(currencyCode: string): number {
  return EXPONENTS[currencyCode] ?? 2;
}
