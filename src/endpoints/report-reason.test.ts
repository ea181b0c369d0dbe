import assert from "node:assert/strict";
import { test } from "node:test";
import { REFUND_ONLY, UNSPECIFIED } from "../metrics/returned-units.ts";
import { compareReasons, presentReason } from "./report-reason.ts";

const labelOf = (reason: string) => presentReason(reason).label;

test("M8: a reason's handle becomes words, in either case", () => {
  assert.equal(labelOf("too_small"), "Too small");
  assert.equal(labelOf("SIZE_TOO_SMALL"), "Size too small");
  assert.equal(labelOf("not-as-described"), "Not as described");
  assert.equal(labelOf("defective"), "Defective");
});

test("M8: a missing reason has its own wording, distinct from a reason of the same text", () => {
  assert.deepEqual([REFUND_ONLY, UNSPECIFIED, "refund_only", "unspecified"].map(presentReason), [
    { reason: "refund_only", kind: "refund_only", label: "Refund without return" },
    { reason: "unspecified", kind: "unspecified", label: "Unspecified" },
    { reason: "refund_only", kind: "stated", label: "Refund only" },
    { reason: "unspecified", kind: "stated", label: "Unspecified" },
  ]);
});

test("M8: reasons are in the order of code points, and of those that read alike the stated one comes first", () => {
  const keys = ["\u{1f9e6}", "\uff5e", UNSPECIFIED, REFUND_ONLY, "z", "unspecified", "refund_only", "a"];
  assert.deepEqual(
    keys
      .map(presentReason)
      .toSorted(compareReasons)
      .map(({ reason, kind }) => `${reason} ${kind}`),
    [
      "a stated",
      "refund_only stated",
      "refund_only refund_only",
      "unspecified stated",
      "unspecified unspecified",
      "z stated",
      "\uff5e stated",
      "\u{1f9e6} stated",
    ],
  );
});

test("a reason that is no handle stays as the store wrote it", () => {
  for (const reason of ["Zu klein", "wrong colour", "=1+1", "_", "größe", "🧦", "a__b", "iPhone"]) {
    assert.equal(labelOf(reason), reason);
  }
});
