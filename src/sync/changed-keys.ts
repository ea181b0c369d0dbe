import type { LabelKey, LinePlaces } from "../store/queries/facts.ts";

/** The changed keys of a run, to be recomputed at its end. In memory, about 100 bytes each if they are short. */
export type ChangedKeys = {
  variants: Set<string>;
  products: Set<string>;
  skus: Set<string>;
  /** First days of cohort months, YYYY-MM-DD. */
  months: Set<string>;
  /** Label ids by source. */
  labels: Map<string, Set<string>>;
  /** Of variants, products, SKUs, and labels of a source. */
  most: number;
};

type KeyKind = "variants" | "products" | "skus" | "labels";

/** A run changes more keys than may be in memory. */
export class TooManyKeys extends Error {
  override name = "TooManyKeys";
  readonly kind: KeyKind;
  readonly most: number;

  constructor(kind: KeyKind, most: number) {
    super(`a run may change at most ${most} ${kind}`);
    this.kind = kind;
    this.most = most;
  }
}

/** A longer key counts for several. */
const KEY_LETTERS = 128;

/** Throws `TooManyKeys` when it has `most` keys. */
class KeySet extends Set<string> {
  readonly #kind: KeyKind;
  readonly #most: number;
  #weight = 0;

  constructor(kind: KeyKind, most: number) {
    super();
    this.#kind = kind;
    this.#most = most;
  }

  override add(key: string): this {
    const before = this.size;
    super.add(key);
    if (this.size > before) this.#weight += Math.max(1, key.length / KEY_LETTERS);
    if (this.#weight > this.#most) throw new TooManyKeys(this.#kind, this.#most);
    return this;
  }
}

/** `most`: keys of a kind, of 128 letters on average; then `TooManyKeys` is thrown. */
export function newChangedKeys(most = Infinity): ChangedKeys {
  return {
    variants: new KeySet("variants", most),
    products: new KeySet("products", most),
    skus: new KeySet("skus", most),
    months: new Set(),
    labels: new Map(),
    most,
  };
}

export function addLabels({ labels, most }: ChangedKeys, source: string, labelIds: readonly string[]): void {
  const known = labels.get(source) ?? new KeySet("labels", most);
  labels.set(source, known);
  addAll(known, labelIds);
}

export function addLabelKeys(changedKeys: ChangedKeys, keys: readonly LabelKey[]): void {
  for (const { source, label_id: labelId } of keys) addLabels(changedKeys, source, [labelId]);
}

export function addPlaces(changedKeys: ChangedKeys, { months, products, skus }: LinePlaces): void {
  addAll(changedKeys.months, months);
  addAll(changedKeys.products, products);
  addAll(changedKeys.skus, skus);
}

/** Null is nothing. */
export function addAll(set: Set<string>, values: readonly (string | null)[]): void {
  for (const value of values) if (value !== null) set.add(value);
}
