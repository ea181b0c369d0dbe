import assert from "node:assert/strict";
import { test } from "node:test";
import { reasonLabel } from "./report-reason.ts";

test("M8: a reason's handle becomes words, in either case", () => {
  assert.equal(reasonLabel("too_small"), "Too small");
  assert.equal(reasonLabel("SIZE_TOO_SMALL"), "Size too small");
  assert.equal(reasonLabel("not-as-described"), "Not as described");
  assert.equal(reasonLabel("defective"), "Defective");
});

test("M8: units without a return and returns without a reason have words of their own", () => {
  assert.equal(reasonLabel("refund_only"), "Refund without return");
  assert.equal(reasonLabel("unspecified"), "Unspecified");
});

test("a reason that is no handle stays as the store wrote it", () => {
  for (const reason of ["Zu klein", "wrong colour", "=1+1", "_", "größe", "🧦", "a__b", "iPhone"]) {
    assert.equal(reasonLabel(reason), reason);
  }
});
