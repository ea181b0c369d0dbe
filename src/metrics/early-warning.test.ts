import assert from "node:assert/strict";
import { test } from "node:test";
import { findEarlyWarnings, type EarlyWarning, type ListingLines } from "./early-warning.ts";

const HORIZON = 60;
const WINDOW_AGES = Array.from({ length: 28 }, (_, age) => age);

type Change = Partial<Omit<ListingLines, "base" | "recent">> & {
  baseLines?: number;
  baseReturned?: number;
  linesPerDay?: number;
  /** Ages of the orders that came back. */
  returned?: number[];
  orders?: string[];
};

/** A listing of which one line in ten came back, half of them after 10 days and half after 30. */
function listing(sku: string, change: Change = {}): ListingLines {
  const { baseLines = 1000, baseReturned = 100, linesPerDay = 2, returned = [], orders, ...names } = change;
  return {
    sku,
    productGid: `product of ${sku}`,
    used: false,
    family: null,
    category: null,
    ...names,
    base: { lines: baseLines, lagDays: [10, 30], returnedLines: [baseReturned / 2, baseReturned / 2] },
    recent: {
      ageDays: WINDOW_AGES,
      lines: WINDOW_AGES.map(() => linesPerDay),
      returnedAgeDays: returned,
      returnedOrders: orders ?? returned.map((_, place) => `${sku} ${place}`),
    },
  };
}

const warn = (listings: ListingLines[], baseSoldDays = 240): EarlyWarning[] =>
  findEarlyWarnings({ listings, baseSoldDays }, HORIZON);
const named = (warnings: EarlyWarning[]) => warnings.map(({ kind, key }) => `${kind} ${key}`);
const MANY = Array.from({ length: 14 }, (_, place) => 12 + place);

test("M17: lines that come back at the usual rate raise no warning", () =>
  assert.deepEqual(warn([listing("A", { returned: [12, 20] }), listing("B")]), []));

test("M17: far more than expected at this age raise one, about the window with the smallest p", () => {
  const [sku, product] = warn([listing("A", { returned: MANY }), listing("B")]);
  assert.deepEqual(
    [sku?.kind, sku?.key, sku?.windowDays, sku?.lines, sku?.returnedLines],
    ["sku", "A", 28, 56, 14],
  );
  // 18 days of age 10 to 27 with two lines each, half of one in ten back: 105 / 1050 of 18.
  assert.ok(Math.abs((sku?.expectedLines ?? 0) - 1.8) < 1e-9);
  assert.ok((sku?.p ?? 1) < 1e-6);
  assert.equal(product?.key, "product of A");
  assert.deepEqual(
    product?.parts.map(({ key }) => key),
    ["A"],
  );
});

test("M17: fewer than five returned lines are never enough", () => {
  const few = { linesPerDay: 0.01, baseReturned: 2 };
  assert.deepEqual(named(warn([listing("A", { ...few, returned: [1, 2, 3, 4] }), listing("B")])), []);
  assert.deepEqual(named(warn([listing("A", { ...few, returned: [1, 2, 3, 4, 5] }), listing("B")])), [
    "sku A",
    "product product of A",
  ]);
});

test("M17: the lines of one order are one event", () => {
  const orders = MANY.map(() => "one order");
  assert.deepEqual(warn([listing("A", { returned: MANY, orders }), listing("B")]), []);
});

test("M17: a warning needs at least 1.5 times the expected lines", () => {
  const large = { linesPerDay: 2000, baseLines: 1e6, baseReturned: 1e5 };
  const returned = (count: number) => Array.from({ length: count }, () => 15);
  assert.deepEqual(warn([listing("A", { ...large, returned: returned(2600) }), listing("B")]), []);
  assert.equal(warn([listing("A", { ...large, returned: returned(2800) }), listing("B")]).length, 2);
});

test("M17: a store with few days in the base period, or without returns, is not judged", () => {
  const store = [listing("A", { returned: MANY }), listing("B")];
  assert.deepEqual(warn(store, 59), []);
  assert.notDeepEqual(warn(store, 60), []);
  assert.deepEqual(warn([listing("A", { returned: MANY, baseReturned: 0 })]), []);
});

test("M17: an entity without history takes the store's rate", () => {
  const fresh = { baseLines: 0, baseReturned: 0 };
  const warnings = warn([listing("A", { ...fresh, returned: MANY }), listing("B")]);
  // Five lines at one in ten are its whole past: 5 / 50 of 18.
  assert.ok(Math.abs((warnings[0]?.expectedLines ?? 0) - 1.8) < 1e-9);
  assert.deepEqual(warn([listing("A", { ...fresh, returned: [12, 14, 16] }), listing("B")]), []);
});

test("M17: more entities with sales require more evidence", () => {
  const borderline = MANY.slice(0, 11);
  const others = (count: number) => Array.from({ length: count }, (_, place) => listing(`other ${place}`));
  assert.notDeepEqual(warn([listing("A", { returned: borderline }), ...others(1)]), []);
  assert.deepEqual(warn([listing("A", { returned: borderline }), ...others(400)]), []);
});

test("M17: a category with 200 returned lines has its own curve and rate", () => {
  const late = (sku: string, change: Change = {}): ListingLines => {
    const made = listing(sku, { category: "Late", ...change });
    return { ...made, base: { ...made.base, lagDays: [50, 55] } };
  };
  const returned = [12, 13, 14, 15, 16, 17];
  const early = Array.from({ length: 20 }, (_, place) => listing(`early ${place}`));
  // Of "Late", nothing should be back before 50 days: six lines are many. By the store's curve they are usual.
  assert.ok(named(warn([late("A", { returned }), late("B"), ...early])).includes("sku A"));
  assert.ok(!named(warn([late("A", { returned, baseReturned: 60 }), ...early])).includes("sku A"));
});

test("M14: a product has its lines in new condition, a group those in both", () => {
  const used = listing("U", { used: true, productGid: "P", family: "F", returned: MANY });
  const warnings = named(warn([used, listing("N", { productGid: "P", family: "F" }), listing("B")]));
  assert.deepEqual(warnings, ["sku U", "family F"]);
});
