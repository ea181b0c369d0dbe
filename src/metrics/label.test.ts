import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { allocateLabel, areLabelCostsIncluded } from "./label.ts";

const shares = fc.array(
  fc.record({ key: fc.string({ maxLength: 2 }), units: fc.integer({ min: 0, max: 9 }) }),
  { maxLength: 8 },
);
const amount = fc.oneof(fc.integer({ min: -2000, max: 2000 }), fc.maxSafeInteger());

test("M10: a label is split by units, leftovers go to the largest remainders", () => {
  const split = allocateLabel(1000, [
    { key: "a", units: 1 },
    { key: "b", units: 1 },
    { key: "c", units: 4 },
  ]);
  assert.deepEqual(
    split,
    new Map([
      ["a", 167],
      ["b", 167],
      ["c", 666],
    ]),
  );
});

test("M10: equal remainders are decided by the line id, by code point", () => {
  const split = allocateLabel(100, [
    { key: "😀", units: 1 },
    { key: "\u{ffff}", units: 1 },
    { key: "b", units: 1 },
  ]);
  assert.deepEqual(
    split,
    new Map([
      ["b", 34],
      ["\u{ffff}", 33],
      ["😀", 33],
    ]),
  );
});

test("M10: a line without units takes no part", () => {
  assert.deepEqual(
    allocateLabel(999, [
      { key: "a", units: 0 },
      { key: "b", units: 2 },
    ]),
    new Map([
      ["b", 999],
      ["a", 0],
    ]),
  );
});

test("M10: a label over no units is unmatched", () => {
  assert.equal(allocateLabel(500, []), null);
  assert.equal(allocateLabel(500, [{ key: "a", units: 0 }]), null);
});

test("M10: the parts sum to the label, each within one minor unit of its exact share", () => {
  fc.assert(
    fc.property(amount, shares, (amountMinor, rows) => {
      const parts = allocateLabel(amountMinor, rows);
      const totalUnits = rows.reduce((sum, row) => sum + row.units, 0);
      if (parts === null) return assert.equal(totalUnits, 0);
      assert.equal(
        parts.values().reduce((sum, part) => sum + BigInt(part), 0n),
        BigInt(amountMinor),
      );
      for (const [key, part] of parts) {
        const units = rows.filter((row) => row.key === key).reduce((sum, row) => sum + row.units, 0);
        const scaledError = BigInt(part) * BigInt(totalUnits) - BigInt(amountMinor) * BigInt(units);
        assert.ok(scaledError < BigInt(totalUnits) && -scaledError < BigInt(totalUnits));
      }
    }),
    { numRuns: 1000 },
  );
});

test("M10: the split does not depend on the order of the lines", () => {
  const shuffled = shares.chain((rows) =>
    fc.tuple(fc.constant(rows), fc.shuffledSubarray(rows, { minLength: rows.length })),
  );
  fc.assert(
    fc.property(amount, shuffled, (amountMinor, [rows, otherRows]) => {
      assert.deepEqual(allocateLabel(amountMinor, rows), allocateLabel(amountMinor, otherRows));
    }),
  );
});

const store = {
  kind: "store",
  status: "failed",
  currencyCode: null,
  lastSyncedAt: null,
};
const label = {
  kind: "label_cost",
  status: "ok",
  currencyCode: "EUR",
  lastSyncedAt: new Date("2026-01-01T00:00:00Z"),
};
const included = (...sources: Parameters<typeof areLabelCostsIncluded>[0]["sources"]) =>
  areLabelCostsIncluded({ sources, currencyCode: "EUR" });

test("M10: label costs are included when there is a label source and all of them are usable", () => {
  assert.equal(included(store, label), true);
  assert.equal(included(label, { ...label, status: "syncing" }), true);
});

test("M10: label costs are not included without a label source", () => {
  assert.equal(included(), false);
  assert.equal(included({ ...store, status: "ok", lastSyncedAt: label.lastSyncedAt }), false);
});

test("M10: one label source that never synced, failed, left or has another currency leaves them out", () => {
  for (const flaw of [
    { lastSyncedAt: null },
    { status: "failed" },
    { status: "disconnected" },
    { currencyCode: "USD" },
    { currencyCode: null },
  ]) {
    assert.equal(included(store, { ...label, ...flaw }), false);
    assert.equal(included(label, { ...label, ...flaw }), false);
  }
});
