/** A stream of pseudo-random numbers that is the same for the same seed on every machine. */
export interface Random {
  /** A number in [0, 1). */
  fraction(): number;
  /** A number in [low, high). */
  between(low: number, high: number): number;
  /** A whole number from low to high, both included. */
  integer(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  /** Log-normal: half of the draws lie below the median; spread is the standard deviation of the logarithm. */
  logNormal(median: number, spread: number): number;
  exponential(mean: number): number;
}

/** A draw from items in proportion to their weights. */
export type WeightedDraw<Item> = (random: Random) => Item;

/** Streams of one seed with different names are independent, so that one part of the store can change separately. */
export function createRandom(seed: number, name: string): Random {
  const fraction = mulberry32(hashText(`${seed}/${name}`));
  const between = (low: number, high: number) => low + fraction() * (high - low);
  return {
    fraction,
    between,
    integer: (low, high) => low + Math.floor(fraction() * (high - low + 1)),
    chance: (probability) => fraction() < probability,
    pick: (items) => itemAt(items, Math.floor(fraction() * items.length)),
    logNormal: (median, spread) => median * Math.exp(spread * normal(fraction)),
    exponential: (mean) => -mean * Math.log(1 - fraction()),
  };
}

/** Prepares draws from a list; weights must be at least 0 and not all 0. */
export function weightedDraw<Item>(
  items: readonly Item[],
  weightOf: (item: Item) => number,
): WeightedDraw<Item> {
  const upperEnds: number[] = [];
  let total = 0;
  for (const item of items) upperEnds.push((total += weightOf(item)));
  return (random) => {
    const point = random.fraction() * total;
    return itemAt(
      items,
      upperEnds.findIndex((end) => end > point),
    );
  };
}

function itemAt<Item>(items: readonly Item[], index: number): Item {
  if (index < 0 || index >= items.length)
    throw new RangeError(`no item ${index} in a list of ${items.length}`);
  return items[index] as Item;
}

function normal(fraction: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - fraction())) * Math.cos(2 * Math.PI * fraction());
}

/** Fractions in [0, 1) that a 32-bit seed decides. */
export function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** FNV-1a, 32 bits. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash;
}
