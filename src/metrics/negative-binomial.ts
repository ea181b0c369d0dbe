/**
 * Counts with an uncertain rate: the rate is Gamma(shape, scale⁻¹ = weight), the count over an exposure is Poisson, so the count
 * is negative binomial. Closed form by the recurrence of its probabilities, without simulation.
 */

/** A rate per line: its mean is `shape` ÷ `weight`; the larger both are, the more certain it is. */
export type GammaRate = { shape: number; weight: number };

/** P(Y ≥ count) of returned lines over an `exposure` in lines. */
export function tailProbability(count: number, { shape, weight }: GammaRate, exposure: number): number {
  if (count <= 0) return 1;
  const odds = exposure / (weight + exposure);
  const growth = (position: number): number => ((shape + position) / (position + 1)) * odds;
  let logProbability = shape * Math.log(weight / (weight + exposure));
  let below = 0;
  for (let position = 0; position < count; position += 1) {
    below += Math.exp(logProbability);
    logProbability += Math.log(growth(position));
  }
  // Above the mode the terms fall; the sum of what lies below would lose a small tail to rounding.
  if (growth(count) >= 1) return Math.max(0, 1 - below);
  let term = Math.exp(logProbability);
  let tail = 0;
  for (let position = count; term > tail * 1e-15; position += 1) {
    tail += term;
    term *= growth(position);
  }
  return Math.min(1, tail);
}

/** The smallest count whose P(Y ≤ count) reaches each of the `levels`, which ascend. */
export function quantiles(
  levels: readonly number[],
  { shape, weight }: GammaRate,
  exposure: number,
): number[] {
  const odds = exposure / (weight + exposure);
  const found: number[] = [];
  let logProbability = shape * Math.log(weight / (weight + exposure));
  let below = 0;
  for (let count = 0; ; count += 1) {
    below += Math.exp(logProbability);
    // Rounding may keep the sum below a level near 1: the remainder beyond ten times the mean is negligible.
    const reached = count > 100 + (10 * shape * exposure) / weight ? 1 : below;
    while (found.length < levels.length && reached >= (levels[found.length] as number)) found.push(count);
    if (found.length === levels.length) return found;
    logProbability += Math.log(((shape + count) / (count + 1)) * odds);
  }
}
