/** The stores of the benchmarks. */
export type StoreKind = "typical" | "whale" | "crowd";

/** What one workspace's store is made of. */
export type StorePlan = {
  lines: number;
  skus: number;
  families: number;
  categories: number;
  vendors: number;
  /** The same seed gives the same rows. */
  seed: number;
};

export const FIRST_MONTH = "2023-01";
export const LAST_MONTH = "2025-12";
/** All months but the last are complete for the primary window of 30 days (M5). */
export const AS_OF = new Date("2026-01-01T06:00:00Z");
export const CURRENCY = "USD";

/** How many workspaces the crowd has. */
export const CROWD_WORKSPACES = 1000;

const TYPICAL = { lines: 60_000, skus: 500, families: 10, categories: 6, vendors: 12, seed: 1 };
const WHALE = { lines: 6_000_000, skus: 20_000, families: 40, categories: 20, vendors: 60, seed: 1 };

/** The crowd is made of typical stores. */
export function planOf(kind: StoreKind, change: Partial<StorePlan>): StorePlan {
  return { ...(kind === "whale" ? WHALE : TYPICAL), ...change };
}
