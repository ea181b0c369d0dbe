import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { dayFromText, monthFromText } from "./month.ts";
import { compareReturnRateRows, leaderboardMonths, rankReturnRate } from "./return-rate-leaderboard.ts";
import type { ReturnRateRanking, ReturnRateRow } from "./return-rate-leaderboard.ts";

const open: ReturnRateRanking = {
  workspaceMinSoldUnits: 20,
  minSoldUnits: null,
  minReturnRate: null,
  vendor: null,
  limit: 50,
  fullLeaderboards: true,
  visibleCardSize: 2,
};
const clamped = { ...open, fullLeaderboards: false };

const row = (
  sku: string,
  soldUnits: number,
  returnedUnits: number,
  vendor: string | null = null,
): ReturnRateRow => ({
  sku,
  soldUnits,
  returnedUnits,
  vendor,
});
const store = [
  row("half", 20, 10, "Acme"),
  row("few", 19, 19, "Acme"),
  row("third", 300, 100, "Bolt"),
  row("tenth", 100, 10, "Acme"),
  row("none", 50, 0),
];
const skusOf = (board: { rows: ReturnRateRow[] }): string[] => board.rows.map(({ sku }) => sku);

const anyRow = fc
  .record({
    sku: fc.string({ unit: fc.constantFrom("a", "B", "\u{ffff}", "😀"), minLength: 1, maxLength: 3 }),
    soldUnits: fc.integer({ min: 0, max: 6 }),
    part: fc.integer({ min: 0, max: 6 }),
    vendor: fc.constantFrom("Acme", "Bolt", null),
  })
  .map(({ sku, soldUnits, part, vendor }) => row(sku, soldUnits, Math.min(part, soldUnits), vendor));
const anyRows = fc.uniqueArray(anyRow, { selector: ({ sku }) => sku, maxLength: 14 });
const anyRanking: fc.Arbitrary<ReturnRateRanking> = fc.record({
  workspaceMinSoldUnits: fc.integer({ min: 0, max: 4 }),
  minSoldUnits: fc.option(fc.integer({ min: 0, max: 6 })),
  minReturnRate: fc.option(fc.constantFrom(0, 0.25, 0.5, 1)),
  vendor: fc.option(fc.constantFrom("Acme", "Bolt")),
  limit: fc.integer({ min: 1, max: 6 }),
  fullLeaderboards: fc.boolean(),
  visibleCardSize: fc.integer({ min: 1, max: 6 }),
});

test("M12: a month is the latest complete one, a year the twelve latest", () => {
  const asOfDay = dayFromText("2024-03-02") as number;
  const january = monthFromText("2024-01") as number;
  assert.deepEqual(leaderboardMonths("month", 30, asOfDay), { startMonth: january, endMonth: january });
  assert.deepEqual(leaderboardMonths("year", 30, asOfDay), { startMonth: january - 11, endMonth: january });
  assert.deepEqual(leaderboardMonths("month", 30, asOfDay - 1), {
    startMonth: january - 1,
    endMonth: january - 1,
  });
  assert.equal(leaderboardMonths("year", 30, null), null);
});

test("M12: rows are ranked by rate, then returned units, sold units and sku", () => {
  assert.deepEqual(skusOf(rankReturnRate(store, open)), ["half", "third", "tenth", "none"]);
  const ties = [
    row("b", 40, 0),
    row("small", 30, 10),
    row("large", 60, 20),
    row("more", 50, 0),
    row("\u{ffff}", 40, 0),
    row("😀", 40, 0),
  ];
  assert.deepEqual(skusOf(rankReturnRate(ties, open)), ["large", "small", "more", "b", "\u{ffff}", "😀"]);
});

test("M12: the exact rate ranks, not the rounded one", () => {
  const close = [row("lower", 3_000_001, 1_000_000), row("higher", 3_000_000, 1_000_000)];
  assert.deepEqual(skusOf(rankReturnRate(close, open)), ["higher", "lower"]);
});

test("M12: the larger of both thresholds applies", () => {
  assert.equal(rankReturnRate(store, { ...open, minSoldUnits: 5 }).minSoldUnits, 20);
  const board = rankReturnRate(store, { ...open, minSoldUnits: 51 });
  assert.deepEqual(
    [board.minSoldUnits, skusOf(board), board.totalEligibleCount],
    [51, ["third", "tenth"], 2],
  );
});

test("M12: with full leaderboards the filters reach the whole ranking, and the limit comes last", () => {
  const board = rankReturnRate(store, { ...open, vendor: "Acme", limit: 1 });
  assert.deepEqual([skusOf(board), board.totalEligibleCount, board.limit], [["half"], 2, 1]);
  assert.deepEqual(skusOf(rankReturnRate(store, { ...open, minReturnRate: 0.1 })), [
    "half",
    "third",
    "tenth",
  ]);
});

test("M12: without full leaderboards the filters take away from the visible card", () => {
  const board = rankReturnRate(store, { ...clamped, vendor: "Acme" });
  assert.deepEqual([skusOf(board), board.totalEligibleCount, board.limit], [["half"], 2, 2]);
  assert.deepEqual(skusOf(rankReturnRate(store, { ...clamped, minSoldUnits: 50 })), ["third"]);
  assert.equal(rankReturnRate(store, { ...clamped, minSoldUnits: 50 }).totalEligibleCount, 3);
  assert.equal(rankReturnRate(store, { ...clamped, limit: 1 }).limit, 1);
});

test("M12: the ranking is a total order", () => {
  fc.assert(
    fc.property(anyRow, anyRow, anyRow, (first, second, third) => {
      const order = Math.sign(compareReturnRateRows(first, second));
      assert.equal(order + Math.sign(compareReturnRateRows(second, first)), 0);
      if (order === 0) assert.equal(first.sku, second.sku);
      if (order <= 0 && compareReturnRateRows(second, third) <= 0) {
        assert.ok(compareReturnRateRows(first, third) <= 0);
      }
    }),
    { numRuns: 3000 },
  );
});

test("M12: the order of the rows given does not matter", () => {
  const shuffled = anyRows.chain((rows) =>
    fc.tuple(fc.constant(rows), fc.shuffledSubarray(rows, { minLength: rows.length })),
  );
  fc.assert(
    fc.property(shuffled, anyRanking, ([rows, otherRows], ranking) => {
      assert.deepEqual(rankReturnRate(rows, ranking), rankReturnRate(otherRows, ranking));
    }),
  );
});

test("M12: a clamped plan sees, of what the full one sees, what stands on its card", () => {
  fc.assert(
    fc.property(anyRows, anyRanking, (rows, ranking) => {
      const full = rankReturnRate(rows, { ...ranking, fullLeaderboards: true, limit: 500 });
      const card = rankReturnRate(rows, {
        ...ranking,
        fullLeaderboards: true,
        minSoldUnits: null,
        minReturnRate: null,
        vendor: null,
        limit: ranking.visibleCardSize,
      });
      const seen = rankReturnRate(rows, { ...ranking, fullLeaderboards: false });
      assert.deepEqual(
        skusOf(seen),
        skusOf(full)
          .filter((sku) => skusOf(card).includes(sku))
          .slice(0, seen.limit),
      );
      assert.equal(seen.totalEligibleCount, full.rows.length);
    }),
    { numRuns: 1000 },
  );
});
