/** Currencies whose number of decimals differs from 2 (ISO 4217). */
const exponents: ReadonlyMap<string, number> = new Map([
  ...listed(0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"),
  ...listed(3, "BHD IQD JOD KWD LYD OMR TND"),
  ...listed(4, "CLF UYW"),
]);

/** M9: how many decimals a currency has; 2 for a code that is not listed. */
export function currencyExponent(currencyCode: string): number {
  return exponents.get(currencyCode.toUpperCase()) ?? 2;
}

function listed(exponent: number, codes: string): [string, number][] {
  return codes.split(" ").map((code) => [code, exponent]);
}
