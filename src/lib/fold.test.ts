import assert from "node:assert/strict";
import { test } from "node:test";
import { fold } from "./fold.ts";

test("folding removes accents and case, and leaves the rest", () => {
  assert.equal(fold("Crème BRÛLÉE No. 5"), "creme brulee no. 5");
  assert.equal(fold("ＦＵＬＬ ﬁt"), "full fit");
  assert.equal(fold("日本 👟"), "日本 👟");
});
