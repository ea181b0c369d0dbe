import { compareCodePoints } from "./code-point.ts";

interface LabelShare {
  /** The line id that takes a part of the label. */
  key: string;
  units: number;
}

/**
 * M10: splits a label over its lines by units, by largest remainder, ties by key. The parts sum to the label
 * exactly. Null when there are no units to split over: the label is unmatched.
 */
export function allocateLabel(
  amountMinor: number,
  shares: readonly LabelShare[],
): Map<string, number> | null {
  const unitsByKey = new Map<string, number>();
  for (const { key, units } of shares) unitsByKey.set(key, (unitsByKey.get(key) ?? 0) + units);
  const totalUnits = BigInt(unitsByKey.values().reduce((sum, units) => sum + units, 0));
  if (totalUnits === 0n) return null;

  // A credit is split like its absolute amount; every part gets the sign again.
  const sizeMinor = Math.abs(amountMinor);
  const parts = [...unitsByKey].map(([key, units]) => {
    const product = BigInt(sizeMinor) * BigInt(units);
    return { key, minor: Number(product / totalUnits), remainder: product % totalUnits };
  });
  parts.sort(
    (left, right) => Number(right.remainder - left.remainder) || compareCodePoints(left.key, right.key),
  );
  const missingMinor = parts.reduce((rest, part) => rest - part.minor, sizeMinor);
  return new Map(
    parts.map(({ key, minor }, index) => {
      const partMinor = minor + (index < missingMinor ? 1 : 0);
      return [key, amountMinor < 0 ? 0 - partMinor : partMinor];
    }),
  );
}

/** A source of a workspace, as far as label costs depend on it. */
type LabelSourceState = {
  kind: string;
  status: string | null;
  /** The one currency of its labels; null when unknown or mixed. */
  currencyCode: string | null;
  /** null = it never synced. */
  lastSyncedAt: unknown;
};

/** A workspace, as far as label costs depend on it. */
type LabelCosts = { sources: readonly LabelSourceState[]; currencyCode: string | null };

/**
 * M10: whether label costs are included: there is a label source, and every one of them is connected, has synced once,
 * has not failed and charges in the shop's currency.
 */
export function areLabelCostsIncluded({ sources, currencyCode }: LabelCosts): boolean {
  const labelSources = sources.filter((source) => source.kind === "label_cost");
  return (
    labelSources.length > 0 &&
    labelSources.every(
      (source) =>
        source.status !== "disconnected" &&
        source.status !== "failed" &&
        source.lastSyncedAt !== null &&
        source.currencyCode === currencyCode,
    )
  );
}
