/** Medians and extremes of one side's rounds, in milliseconds. */
export type Timing = { medianMs: number; leastMs: number; mostMs: number };

/** A side does its work once and returns what it took, in milliseconds. */
export type Side = () => Promise<number>;

const FEWEST_ROUNDS = 3;
const MOST_ROUNDS = 15;
const BUDGET_MS = 8000;

/**
 * Runs the sides in turn, round after round, so that what else the machine does meets all of them. The first round
 * warms up and is not counted; slow sides get fewer rounds.
 */
export async function alternate<Name extends string>(
  sides: Readonly<Record<Name, Side>>,
): Promise<Record<Name, Timing>> {
  const names = Object.keys(sides) as Name[];
  let warmUpMs = 0;
  for (const name of names) warmUpMs += await sides[name]();
  const rounds = Math.min(MOST_ROUNDS, Math.max(FEWEST_ROUNDS, Math.round(BUDGET_MS / warmUpMs)));
  const tookMs = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) tookMs.get(name)?.push(await sides[name]());
  }
  return Object.fromEntries(names.map((name) => [name, timingOf(tookMs.get(name) ?? [])])) as Record<
    Name,
    Timing
  >;
}

export function timingOf(tookMs: readonly number[]): Timing {
  const sorted = tookMs.toSorted((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  const medianMs = sorted.length % 2 === 0 ? ((sorted[middle - 1] ?? 0) + upper) / 2 : upper;
  return { medianMs, leastMs: sorted[0] ?? 0, mostMs: sorted.at(-1) ?? 0 };
}

/** Milliseconds that `work` takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** "3.1 ms (2.9–4.0)" or "2.41 s (2.30–2.60)": median, least and most. */
export function shownTiming({ medianMs, leastMs, mostMs }: Timing): string {
  const [unit, factor] = medianMs >= 1000 ? ["s", 1000] : ["ms", 1];
  const [median, least, most] = [medianMs, leastMs, mostMs].map((value) => shownNumber(value / factor));
  return `${median} ${unit} (${least}–${most})`;
}

/** "123 MB"; "unknown" for what is not a number, as where /proc is not there. */
export function shownMegabytes(value: number): string {
  return Number.isNaN(value) ? "unknown" : `${shownNumber(value)} MB`;
}

/** Three significant digits, all of a whole number. */
export function shownNumber(value: number): string {
  return Math.abs(value) >= 100
    ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(3)));
}
