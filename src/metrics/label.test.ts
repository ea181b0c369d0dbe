import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { allocateLabel, areLabelCostsIncluded } from "./label.ts";

const shares = fc.array(
  fc.record({ key: fc.string({ maxLength: 2 }), units: fc.integer({ min: 0, max: 9 }) }),
  { maxLength: 8 },
);
const amount = fc.oneof(fc.integer({ min: -2000, max: 2000 }), fc.maxSafeInteger());

test("M10: a label is split by units; what is left over goes to the largest remainders, of equal ones by code point of the line", () => {
  for (const [amountMinor, units, expected] of [
    [1000, { a: 1, b: 1, c: 4 }, { a: 167, b: 167, c: 666 }],
    [100, { "😀": 1, "\u{ffff}": 1, b: 1 }, { b: 34, "\u{ffff}": 33, "😀": 33 }],
    // A line without units takes no part, and a label over none is unmatched.
    [999, { a: 0, b: 2 }, { a: 0, b: 999 }],
    [500, { a: 0 }, null],
    [500, {}, null],
  ] as const) {
    const rows = Object.entries<number>(units).map(([key, count]) => ({ key, units: count }));
    const split = allocateLabel(amountMinor, rows);
    assert.deepEqual(split && Object.fromEntries(split), expected);
  }
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
