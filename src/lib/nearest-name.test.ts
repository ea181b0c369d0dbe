import assert from "node:assert/strict";
import { test } from "node:test";
import { nearestName } from "./nearest-name.ts";

const NAMES = [
  "sku",
  "product_gid",
  "product_group_type",
  "product_group_key",
  "start_month",
  "end_month",
  "window",
  "include_incomplete",
  "limit",
  "q",
  "reportSection",
];

function expectNearest(expected: Readonly<Record<string, string | null>>): void {
  for (const [name, nearest] of Object.entries(expected))
    assert.equal(nearestName(name, NAMES), nearest, name);
}

test("a name with a wrong, missing, added or swapped letter, or other separators, is recognized", () => {
  expectNearest({
    windwo: "window",
    windw: "window",
    wyndow: "window",
    limits: "limit",
    skus: "sku",
    SKU: "sku",
    startMonth: "start_month",
    "start-month": "start_month",
    report_section: "reportSection",
    product_id: "product_gid",
  });
});

test("a name that is part of a known one, or contains one, matches the nearest in length", () => {
  expectNearest({
    start: "start_month",
    product_group: "product_group_key",
    product: "product_gid",
    group: "product_group_key",
    incomplete: "include_incomplete",
    product_sku: "sku",
    page_limit: "limit",
  });
});

test("an unrelated, empty or long name matches none", () => {
  expectNearest({ from: null, "": null, "[]": null, x: null, query_text: null, __proto__x: null });
  assert.equal(nearestName("start_month".repeat(100), NAMES), null);
});
