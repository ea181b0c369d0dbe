import assert from "node:assert/strict";
import { test } from "node:test";
import { rankReturnCost } from "./return-cost-leaderboard.ts";
import type { ReturnCostRow } from "./return-cost-leaderboard.ts";

const row = (
  sku: string,
  refundMinor: number,
  labelMinor: number,
  vendor: string | null = null,
): ReturnCostRow => ({
  sku,
  refundMinor,
  labelMinor,
  vendor,
});
const everything = { minCostMinor: null, labelCostsIncluded: true, vendor: null, limit: 50 };
const store = [
  row("a", 500, 0, "Acme"),
  row("b", 300, 300, "Bolt"),
  row("c", 0, 0),
  row("d", 0, 90, "Acme"),
  row("B", 600, 0),
];
const skusOf = (board: { rows: ReturnCostRow[] }): string[] => board.rows.map(({ sku }) => sku);

test("M13: SKUs with a cost are ranked by it, ties by sku by code point", () => {
  assert.deepEqual(skusOf(rankReturnCost(store, everything)), ["B", "b", "a", "d"]);
  assert.deepEqual(skusOf(rankReturnCost(store.toReversed(), everything)), ["B", "b", "a", "d"]);
  assert.deepEqual(skusOf(rankReturnCost([row("😀", 1, 0), row("\u{ffff}", 1, 0)], everything)), [
    "\u{ffff}",
    "😀",
  ]);
});

test("M13: without label costs a SKU that only has them is left out", () => {
  const board = rankReturnCost(store, { ...everything, labelCostsIncluded: false });
  assert.deepEqual([skusOf(board), board.totalEligibleCount], [["B", "a", "b"], 3]);
});

test("M13: a cost of 0 or below is left out", () => {
  assert.deepEqual(skusOf(rankReturnCost([row("a", -100, 50), row("b", -100, 100)], everything)), []);
});

test("M13: a minimum cost holds its own edge and may be fractional", () => {
  assert.deepEqual(skusOf(rankReturnCost(store, { ...everything, minCostMinor: 600 })), ["B", "b"]);
  assert.deepEqual(skusOf(rankReturnCost(store, { ...everything, minCostMinor: 600.5 })), []);
});

test("M13: vendor filters before the count, the limit after it", () => {
  const board = rankReturnCost(store, { ...everything, vendor: "Acme", limit: 1 });
  assert.deepEqual([skusOf(board), board.totalEligibleCount], [["a"], 2]);
});
