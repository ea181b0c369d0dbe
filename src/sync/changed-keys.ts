import type { LabelKey, LinePlaces } from "../store/queries/facts.ts";

/** The changed keys of a run, to be recomputed at its end. In memory, about 100 bytes each. */
export type ChangedKeys = {
  variants: Set<string>;
  products: Set<string>;
  skus: Set<string>;
  /** First days of cohort months, YYYY-MM-DD. */
  months: Set<string>;
  /** Label ids by source. */
  labels: Map<string, Set<string>>;
};

export function newChangedKeys(): ChangedKeys {
  return { variants: new Set(), products: new Set(), skus: new Set(), months: new Set(), labels: new Map() };
}

export function addLabels({ labels }: ChangedKeys, source: string, labelIds: readonly string[]): void {
  const known = labels.get(source) ?? new Set();
  labels.set(source, known);
  addAll(known, labelIds);
}

export function addLabelKeys(changedKeys: ChangedKeys, keys: readonly LabelKey[]): void {
  for (const [source, rows] of Map.groupBy(keys, (key) => key.source)) {
    addLabels(
      changedKeys,
      source,
      rows.map((row) => row.label_id),
    );
  }
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
