/** One measured row: a value with its unit, and reference values. */
export type BenchRow = { name: string; value: string; floor?: string; ratio?: string; target?: string };

/** Median, minimum and maximum of some rounds. */
export type Spread = { median: number; least: number; most: number };

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((left, right) => left - right);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { median: at(0.5), least: at(0), most: at(1) };
}

/** Milliseconds that `work` takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** "0.58 (0.49–0.63)". */
export function shownSpread({ median, least, most }: Spread, digits: number): string {
  const shown = (value: number): string =>
    value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${shown(median)} (${shown(least)}–${shown(most)})`;
}

/** "3.1 ms (2.9–4.0)" or "2.41 s (2.30–2.60)". */
export function shownTiming(tookMs: readonly number[]): string {
  const { median, least, most } = spreadOf(tookMs);
  const [unit, factor] = median >= 1000 ? ["s", 1000] : ["ms", 1];
  return `${shownNumber(median / factor)} ${unit} (${shownNumber(least / factor)}–${shownNumber(most / factor)})`;
}

/** "123 MB"; "unknown" for NaN, as without /proc. */
export function shownMegabytes(value: number): string {
  return Number.isNaN(value) ? "unknown" : `${shownNumber(value)} MB`;
}

/** Three significant digits, but all digits of a whole number. */
export function shownNumber(value: number): string {
  return Math.abs(value) >= 100
    ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(3)));
}
