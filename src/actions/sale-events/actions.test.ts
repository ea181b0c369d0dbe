import assert from "node:assert/strict";
import { test } from "node:test";
import { overlapsOf } from "./actions.ts";

test("of many events that overlap one, three are named and the others counted", () => {
  const days = { label: "Sale", starts_on: "2026-01-01", ends_on: "2026-01-02", skus: null };
  const events = Array.from({ length: 1000 }, (_, index) => ({ ...days, slug: `s${index}` }));
  const named = "It overlaps Sale: 1 Jan 2026 to 2 Jan 2026 are in both.";
  assert.deepEqual(overlapsOf({ ...days, slug: "s0" }, events.slice(0, 4)), [named, named, named]);
  assert.deepEqual(overlapsOf({ ...days, slug: "s0" }, events), [
    named,
    named,
    named,
    "It overlaps 996 more.",
  ]);
});
