/**
 * M22: whether a product runs small or large, and in which sizes. Each size has a share of returns that were too small or too
 * large, Beta distributed, with its siblings as prior, and the usual share as theirs.
 */

/** Returns with a stated reason, an order counted once for each size, and those that were too small or too large. */
export type FitCounts = { returns: number; tooSmall: number; tooLarge: number };

export type FitShare = { share: number; low: number; high: number };

export type Fit = { tooSmall: FitShare; tooLarge: FitShare; fit: "small" | "large" | null; isThin: boolean };

/** Weight of a size's prior, in returns. */
const PRIOR_RETURNS = 5;
/** Without other products a quarter of the returns is too small, and a quarter too large. */
const USUAL_RETURNS = 20;
const USUAL_SHARE = 0.25;
const FEWEST = 5;
const FACTOR = 1.75;
const THIN_RETURNS = 20;
const LEVELS = [0.05, 0.95] as const;

/** The usual shares: those of other products. */
export function usualShares({
  returns,
  tooSmall,
  tooLarge,
}: FitCounts): Record<"tooSmall" | "tooLarge", number> {
  const share = (count: number): number => (count + USUAL_RETURNS * USUAL_SHARE) / (returns + USUAL_RETURNS);
  return { tooSmall: share(tooSmall), tooLarge: share(tooLarge) };
}

/** The fit of each of a product's sizes, in their order, and of all of them together; `every`: its sizes, if these are but some. */
export function fitOfSizes(
  sizes: readonly FitCounts[],
  others: FitCounts,
  every: readonly FitCounts[] = sizes,
): { sizes: Fit[]; whole: Fit } {
  const usual = usualShares(others);
  const all = every.reduce(
    (sum, size) => ({
      returns: sum.returns + size.returns,
      tooSmall: sum.tooSmall + size.tooSmall,
      tooLarge: sum.tooLarge + size.tooLarge,
    }),
    { returns: 0, tooSmall: 0, tooLarge: 0 },
  );
  const siblingShare = (kind: "tooSmall" | "tooLarge", own: FitCounts): number =>
    (all[kind] - own[kind] + PRIOR_RETURNS) / (all.returns - own.returns + PRIOR_RETURNS / usual[kind]);
  return {
    sizes: sizes.map((own) =>
      fitOf(own, usual, {
        tooSmall: siblingShare("tooSmall", own),
        tooLarge: siblingShare("tooLarge", own),
      }),
    ),
    whole: fitOf(all, usual, usual),
  };
}

type Shares = Record<"tooSmall" | "tooLarge", number>;

function fitOf(own: FitCounts, usual: Shares, prior: Shares): Fit {
  const tooSmall = shareOf(own.tooSmall, own.returns, prior.tooSmall);
  const tooLarge = shareOf(own.tooLarge, own.returns, prior.tooLarge);
  const runsSmall =
    own.tooSmall >= FEWEST && tooSmall.low >= FACTOR * usual.tooSmall && tooSmall.low > tooLarge.high;
  const runsLarge =
    own.tooLarge >= FEWEST && tooLarge.low >= FACTOR * usual.tooLarge && tooLarge.low > tooSmall.high;
  return {
    tooSmall,
    tooLarge,
    fit: runsSmall ? "small" : runsLarge ? "large" : null,
    isThin: own.returns < THIN_RETURNS,
  };
}

function shareOf(count: number, returns: number, prior: number): FitShare {
  const alpha = PRIOR_RETURNS + count;
  const beta = PRIOR_RETURNS / prior - PRIOR_RETURNS + returns - count;
  const [low, high] = LEVELS.map((level) => betaQuantile(level, alpha, beta)) as [number, number];
  return { share: alpha / (alpha + beta), low, high };
}

/** The sentence about a product, with the labels of its sizes; null where none of them runs small or large. */
export function fitSentence(
  labels: readonly string[],
  { sizes, whole }: { sizes: readonly Pick<Fit, "fit">[]; whole: Pick<Fit, "fit"> },
): string | null {
  const parts = (["small", "large"] as const).flatMap((fit) => {
    const named = labels.filter((_label, index) => sizes[index]?.fit === fit);
    if (named.length > 0) return [`${fit} in ${listOf(named)}`];
    return whole.fit === fit ? [`${fit} on the whole`] : [];
  });
  return parts.length === 0 ? null : `Runs ${parts.join(", and ")}.`;
}

function listOf(labels: readonly string[]): string {
  return labels.length === 1 ? String(labels[0]) : `${labels.slice(0, -1).join(", ")} and ${labels.at(-1)}`;
}

/** The value that a Beta(α, β) variable stays below with this probability, to nine digits. */
function betaQuantile(level: number, alpha: number, beta: number): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < 40; step += 1) {
    const middle = (low + high) / 2;
    if (betaBelow(middle, alpha, beta) < level) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** P(Beta(α, β) ≤ x): the regularized incomplete beta function, by its continued fraction (Lentz). */
export function betaBelow(x: number, alpha: number, beta: number): number {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  if (x > (alpha + 1) / (alpha + beta + 2)) return 1 - betaBelow(1 - x, beta, alpha);
  const logFront =
    logGamma(alpha + beta) - logGamma(alpha) - logGamma(beta) + alpha * Math.log(x) + beta * Math.log1p(-x);
  let [c, d] = [1, 1 / (1 - ((alpha + beta) * x) / (alpha + 1))];
  let fraction = d;
  for (let m = 1; m < 1000; m += 1) {
    const even = (m * (beta - m) * x) / ((alpha + 2 * m - 1) * (alpha + 2 * m));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    fraction *= c * d;
    const odd = (-(alpha + m) * (alpha + beta + m) * x) / ((alpha + 2 * m) * (alpha + 2 * m + 1));
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    fraction *= c * d;
    if (Math.abs(c * d - 1) < 1e-14) break;
  }
  return (Math.exp(logFront) * fraction) / alpha;
}

/** By Stirling's series, after shifting the argument above 10. */
function logGamma(x: number): number {
  let [shifted, correction] = [x, 0];
  while (shifted < 10) {
    correction -= Math.log(shifted);
    shifted += 1;
  }
  const inverse = 1 / shifted;
  const series = inverse / 12 - inverse ** 3 / 360 + inverse ** 5 / 1260 - inverse ** 7 / 1680;
  return correction + (shifted - 0.5) * Math.log(shifted) - shifted + Math.log(2 * Math.PI) / 2 + series;
}
