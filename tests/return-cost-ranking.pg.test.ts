import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { loadReturnCosts } from "../src/store/queries/return-cost-leaderboard.ts";
import { byCodePoint } from "./oracle/numbers.ts";
import { openControlDatabase } from "./support/control.ts";
import { MONTH, SELECTIONS, VENDORS, anyRows, insertRankedShop } from "./support/ranked-shop.ts";
import type { RankedRow as Row, Vendor } from "./support/ranked-shop.ts";
import { reportWorkspace } from "./support/report-store.ts";
import { use } from "./support/use.ts";

const control = use(openControlDatabase);

type Costs = { minCostMinor: number | null; labelCostsIncluded: boolean; vendor: Vendor; limit: number };
const ALL_COSTS: Costs = { minCostMinor: null, labelCostsIncluded: true, vendor: null, limit: 50 };

async function costRanking(rows: readonly Row[], costs: Costs): Promise<{ skus: string[]; count: number }> {
  const workspace = reportWorkspace(await insertRankedShop(control.pool, rows), "2025-06-01T00:00:00Z");
  const answers = [];
  for (const selection of SELECTIONS) {
    const range = { selection, windowDays: 30, startMonth: MONTH, endMonth: MONTH };
    const loaded = await loadReturnCosts(control.database, workspace, { ...range, ...costs });
    answers.push({ skus: loaded.rows.map((row) => row.sku), count: loaded.eligible_count });
  }
  assert.deepEqual(answers[1], answers[0], "within a family");
  return answers[0] as { skus: string[]; count: number };
}

const cost = (sku: string, refund: number, label: number, vendor: Vendor = null): Row => ({
  sku,
  sold: 9,
  returned: 1,
  vendor,
  refund,
  label,
});
const COSTLY = [
  cost("a", 500, 0, "Acme"),
  cost("b", 300, 300, "Bolt"),
  cost("c", 0, 0),
  cost("d", 0, 90, "Acme"),
  cost("B", 600, 0),
];

test("M13: SKUs with a cost are ranked by it, ties by sku by code point", async () => {
  assert.deepEqual((await costRanking(COSTLY, ALL_COSTS)).skus, ["B", "b", "a", "d"]);
  assert.deepEqual((await costRanking(COSTLY.toReversed(), ALL_COSTS)).skus, ["B", "b", "a", "d"]);
  const ties = [cost("😀", 1, 0), cost("\u{ffff}", 1, 0)];
  assert.deepEqual((await costRanking(ties, ALL_COSTS)).skus, ["\u{ffff}", "😀"]);
});

test("M13: without label costs a SKU that only has them is left out", async () => {
  assert.deepEqual(await costRanking(COSTLY, { ...ALL_COSTS, labelCostsIncluded: false }), {
    skus: ["B", "a", "b"],
    count: 3,
  });
});

test("M13: a cost of 0 or below is left out", async () => {
  assert.deepEqual((await costRanking([cost("a", -100, 50), cost("b", -100, 100)], ALL_COSTS)).skus, []);
});

test("M13: a minimum cost holds its own edge and may be fractional", async () => {
  assert.deepEqual((await costRanking(COSTLY, { ...ALL_COSTS, minCostMinor: 600 })).skus, ["B", "b"]);
  assert.deepEqual((await costRanking(COSTLY, { ...ALL_COSTS, minCostMinor: 600.5 })).skus, []);
});

test("M13: vendor filters before the count, the limit after it", async () => {
  const board = await costRanking(COSTLY, { ...ALL_COSTS, vendor: "Acme", limit: 1 });
  assert.deepEqual(board, { skus: ["a"], count: 2 });
});

test("M13: any ranking is that of a naive sort, with ties, credits and absent vendors", async () => {
  const anyCosts = fc.record({
    minCostMinor: fc.option(fc.constantFrom(0, 0.5, 2, 3)),
    labelCostsIncluded: fc.boolean(),
    vendor: fc.constantFrom(...VENDORS),
    limit: fc.integer({ min: 1, max: 6 }),
  });
  await fc.assert(
    fc.asyncProperty(anyRows, anyCosts, async (rows, costs) => {
      const costOf = (row: Row): number => row.refund + (costs.labelCostsIncluded ? row.label : 0);
      const ranked = rows
        .filter((row) => costOf(row) > 0 && costOf(row) >= (costs.minCostMinor ?? 0))
        .filter((row) => costs.vendor === null || row.vendor === costs.vendor)
        .toSorted((left, right) => costOf(right) - costOf(left) || byCodePoint(left.sku, right.sku));
      assert.deepEqual(await costRanking(rows, costs), {
        skus: ranked.slice(0, costs.limit).map((row) => row.sku),
        count: ranked.length,
      });
    }),
    { numRuns: 40 },
  );
});
