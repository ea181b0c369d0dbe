import type { FitCounts } from "../../src/metrics/fit.ts";
import { createRandom } from "./made-store.ts";

const PRODUCTS = 25;
const MONTHS = 24;

/** A product by month and size; `misfit`: the sizes that truly run small or large. */
export type FitProduct = {
  misfit: { fit: "small" | "large"; sizes: readonly number[] } | null;
  months: FitCounts[][];
};

/**
 * A store of products in six sizes. What is true of it is drawn from the seed: how many returns say that a size is wrong, how much products
 * and sizes differ in that without any being cut wrong, how many come back, and one product in five of which one to three sizes, or all,
 * are cut so that 55 to 80 % of their returns are too small, or too large.
 */
export function makeFitStore(seed: number): FitProduct[] {
  const random = createRandom(seed * 104_729);
  const small = 0.12 + 0.2 * random.uniform();
  const large = 0.1 + 0.15 * random.uniform();
  return Array.from({ length: PRODUCTS }, () => {
    const monthly = 2 + 28 * random.uniform() ** 2;
    const lean = 0.12 * random.normal();
    const misfit =
      random.uniform() < 0.2
        ? {
            fit: random.uniform() < 0.7 ? ("small" as const) : ("large" as const),
            sizes:
              random.uniform() < 0.3 ? [0, 1, 2, 3, 4, 5] : someSizes(random.uniform(), random.uniform()),
          }
        : null;
    const wrong = 0.55 + 0.25 * random.uniform();
    const sizes = [0, 1, 2, 3, 4, 5].map((size) => {
      const edge = size === 0 ? 1.3 : size === 5 ? 1 / 1.3 : 1;
      const own = Math.exp(lean + 0.08 * random.normal());
      const isWrong = misfit?.sizes.includes(size) === true;
      const usualSmall = Math.min(0.5, small * own * edge);
      const usualLarge = Math.min(0.4, (large / own) * (1 / edge));
      const weight = (1.2 - Math.abs(size - 2.5) / 3) * (isWrong ? 1.5 : 1);
      return {
        weight,
        small: isWrong ? (misfit?.fit === "small" ? wrong : 0.05) : usualSmall,
        large: isWrong ? (misfit?.fit === "large" ? wrong : 0.05) : usualLarge,
      };
    });
    const total = sizes.reduce((sum, { weight }) => sum + weight, 0);
    const months = Array.from({ length: MONTHS }, () =>
      sizes.map((size) => {
        const counts = { returns: random.poisson((monthly * size.weight) / total), tooSmall: 0, tooLarge: 0 };
        for (let left = counts.returns; left > 0; left -= 1) {
          const point = random.uniform();
          if (point < size.small) counts.tooSmall += 1;
          else if (point < size.small + size.large) counts.tooLarge += 1;
        }
        return counts;
      }),
    );
    return { misfit, months };
  });
}

/** One to three neighbouring sizes. */
function someSizes(first: number, count: number): number[] {
  const start = Math.floor(first * 4);
  return Array.from({ length: 1 + Math.floor(count * 3) }, (_, step) => start + step);
}
