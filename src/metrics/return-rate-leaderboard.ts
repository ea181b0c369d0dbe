import { compareCodePoints } from "./code-point.ts";
import { latestCompleteMonth } from "./completeness.ts";
import { compareRates, reachesRate } from "./rate.ts";

export interface ReturnRateRow {
  sku: string;
  soldUnits: number;
  returnedUnits: number;
  vendor: string | null;
}

export interface ReturnRateRanking {
  workspaceMinSoldUnits: number;
  minSoldUnits: number | null;
  /** A 0–1 fraction, compared with the exact rate. */
  minReturnRate: number | null;
  vendor: string | null;
  limit: number;
  fullLeaderboards: boolean;
  visibleCardSize: number;
}

export interface ReturnRateLeaderboard<Row extends ReturnRateRow> {
  rows: Row[];
  /** Rows of the whole ranking that pass all filters, before the clamp and the limit. */
  totalEligibleCount: number;
  /** The threshold applied. */
  minSoldUnits: number;
  /** The limit applied. */
  limit: number;
}

/**
 * M12: the cohort months ranked: the latest complete one, or the twelve latest. Null when no source was
 * ever synced. A year starts 11 months before its last month, whether or not data does.
 */
export function leaderboardMonths(
  period: "month" | "year",
  primaryWindowDays: number,
  asOfDay: number | null,
): { startMonth: number; endMonth: number } | null {
  const endMonth = latestCompleteMonth(primaryWindowDays, asOfDay);
  if (endMonth === null) return null;
  return { startMonth: period === "month" ? endMonth : endMonth - 11, endMonth };
}

/**
 * M12: ranks one row per SKU. Without full leaderboards only the first `visibleCardSize` rows of the
 * unfiltered ranking are visible, and the filters apply to those.
 */
export function rankReturnRate<Row extends ReturnRateRow>(
  rows: readonly Row[],
  ranking: ReturnRateRanking,
): ReturnRateLeaderboard<Row> {
  const minSoldUnits = Math.max(ranking.workspaceMinSoldUnits, ranking.minSoldUnits ?? 0);
  const passes = (row: Row): boolean =>
    row.soldUnits >= minSoldUnits &&
    (ranking.vendor === null || row.vendor === ranking.vendor) &&
    (ranking.minReturnRate === null || reachesRate(row.returnedUnits, row.soldUnits, ranking.minReturnRate));

  const ranked = rows
    .filter((row) => row.soldUnits >= ranking.workspaceMinSoldUnits)
    .toSorted(compareReturnRateRows);
  const pool = ranking.fullLeaderboards ? ranked : ranked.slice(0, ranking.visibleCardSize);
  const limit = ranking.fullLeaderboards ? ranking.limit : Math.min(ranking.limit, ranking.visibleCardSize);
  return {
    rows: pool.filter(passes).slice(0, limit),
    totalEligibleCount: ranked.filter(passes).length,
    minSoldUnits,
    limit,
  };
}

/** M12: exact rate ↓, returned units ↓, sold units ↓, sku ↑ by code point. */
export function compareReturnRateRows(left: ReturnRateRow, right: ReturnRateRow): number {
  return (
    compareRates(right.returnedUnits, right.soldUnits, left.returnedUnits, left.soldUnits) ||
    right.returnedUnits - left.returnedUnits ||
    right.soldUnits - left.soldUnits ||
    compareCodePoints(left.sku, right.sku)
  );
}
