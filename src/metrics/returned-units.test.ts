import assert from "node:assert/strict";
import { test } from "node:test";
import type { DocumentRefund, DocumentReturn } from "./order.ts";
import { REFUND_ONLY, UNSPECIFIED, classifyUnits, reasonOf, unitsOf } from "./returned-units.ts";

const CLOSED_AT = "2024-01-20T12:00:00Z";

const closedReturn = (reason: string | null, returnId = "r1"): DocumentReturn => ({
  returnId,
  lineId: "l1",
  status: "CLOSED",
  units: 1,
  processedUnits: null,
  requestedAt: null,
  closedAt: CLOSED_AT,
  reason,
});
const refund: DocumentRefund = {
  refundId: "f1",
  lineId: "l1",
  refundedAt: CLOSED_AT,
  units: 1,
  subtotalMinor: 100,
  restockType: "RETURN",
  returnId: null,
};

test("M8: no stated reason, however it is written, is a key for having none", () => {
  const keys = ["refund_only", "unspecified", REFUND_ONLY, UNSPECIFIED];
  for (const text of [...keys, "\trefund_only ", "\u00a0unspecified"]) {
    assert.equal(reasonOf(closedReturn(text)), text.trim());
    assert.ok(![REFUND_ONLY, UNSPECIFIED].includes(reasonOf(closedReturn(text))));
  }
  for (const text of [null, "", " \t"]) assert.equal(reasonOf(closedReturn(text)), UNSPECIFIED);
});

test("M8: a stated refund_only and units known from a refund alone are kept apart at one instant", () => {
  const units = classifyUnits(4, [closedReturn("refund_only"), closedReturn(null, "r2")], [refund]);
  assert.deepEqual(
    units.map(({ reason, returnedUnits }) => [reason, returnedUnits]),
    [
      ["refund_only", 1],
      [UNSPECIFIED, 1],
      [REFUND_ONLY, 1],
    ],
  );
});

test("M2: a request's units are the processed ones as soon as any are reported, in every state", () => {
  for (const status of ["REQUESTED", "OPEN", "CLOSED", "DECLINED", "CANCELED"] as const) {
    const request = { ...closedReturn(null), status, units: 3 };
    assert.equal(unitsOf(request), 3);
    assert.equal(unitsOf({ ...request, processedUnits: 1 }), 1);
    assert.equal(unitsOf({ ...request, processedUnits: 0 }), 0);
  }
});
