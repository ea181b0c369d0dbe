/** Who the demo store is; its domain is reserved for examples and has no owner. */
export const DEMO_STORE = {
  domain: "demo-store.example",
  name: "Demo Store",
  currency: "GBP",
  /** A leaderboard threshold that fits the store's size: below it, single months are mostly chance. */
  minSoldUnits: 20,
} as const;
