import { compareCodePoints } from "./code-point.ts";
import { returnsCostMinor } from "./totals.ts";

export interface ReturnCostRow {
  sku: string;
  vendor: string | null;
  refundMinor: number;
  labelMinor: number;
}

export interface ReturnCostRanking {
  /** May be fractional: a threshold of 0.005 in a currency of two decimals is 0.5. */
  minCostMinor: number | null;
  labelCostsIncluded: boolean;
  vendor: string | null;
  limit: number;
}

export interface ReturnCostLeaderboard<Row extends ReturnCostRow> {
  rows: Row[];
  /** SKUs with a cost that pass all filters, before the limit. */
  totalEligibleCount: number;
}

/** M13: ranks one row per SKU by returns cost ↓, then sku ↑ by code point; costs of 0 and below are left out. */
export function rankReturnCost<Row extends ReturnCostRow>(
  rows: readonly Row[],
  ranking: ReturnCostRanking,
): ReturnCostLeaderboard<Row> {
  const costMinor = (row: Row): number => returnsCostMinor(row, ranking.labelCostsIncluded);
  const ranked = rows
    .filter(
      (row) =>
        costMinor(row) > 0 &&
        costMinor(row) >= (ranking.minCostMinor ?? 0) &&
        (ranking.vendor === null || row.vendor === ranking.vendor),
    )
    .toSorted((left, right) => costMinor(right) - costMinor(left) || compareCodePoints(left.sku, right.sku));
  return { rows: ranked.slice(0, ranking.limit), totalEligibleCount: ranked.length };
}
