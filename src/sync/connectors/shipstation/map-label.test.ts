import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredMoments } from "../../../store/queries/label-record.ts";
import { SourceFailed } from "../../connector.ts";
import { readLabel, readTracking } from "./map-label.ts";
import { mapLabel } from "./map-label.ts";

const CREATED = "2026-01-10T12:00:00.000Z";
const SCANNED = "2026-01-14T09:00:00.000Z";
const ACCEPTANCE = { charge_event: "on_carrier_acceptance" };
const EVENTS = [
  { occurred_at: "2026-01-16T09:00:00Z", status_code: "IT" },
  { occurred_at: SCANNED, status_code: "AC" },
  { occurred_at: CREATED, status_code: "NY" },
];

test("M10: charged when it was created, also by the carrier's default and where no event is named", async () => {
  for (const charge_event of ["on_creation", "carrier_default", null, undefined]) {
    assert.equal((await read({ charge_event }))?.chargedAt, CREATED);
  }
});

test("M10: charged on acceptance, it is charged at its first scan, whatever came after", async () => {
  for (const tracking_status of ["in_transit", "delivered", "error"]) {
    assert.equal((await read({ ...ACCEPTANCE, tracking_status }))?.chargedAt, SCANNED);
  }
});

test("M10: charged on acceptance and not scanned, it is not charged, and the carrier is not asked", async () => {
  const asked: string[] = [];
  assert.equal(await read({ ...ACCEPTANCE, tracking_status: "unknown" }, { asked }), null);
  assert.equal(await read({ ...ACCEPTANCE, tracking_status: "in_transit", voided: true }, { asked }), null);
  assert.deepEqual(asked, []);
  assert.equal(await read({ ...ACCEPTANCE, tracking_status: "error" }, { tracking: { events: [] } }), null);
});

test("M10: on its way without a single scan, it was charged when it was shipped, else when it was created", async () => {
  const label = { ...ACCEPTANCE, tracking_status: "delivered" };
  const shipped = { shipped_date: "2026-01-12T00:00:00Z", events: [] };
  assert.equal((await read(label, { tracking: shipped }))?.chargedAt, "2026-01-12T00:00:00.000Z");
  assert.equal((await read(label, { tracking: {} }))?.chargedAt, CREATED);
});

test("a stored label keeps the time of its charge, and the carrier is not asked again", async () => {
  const asked: string[] = [];
  const stored = { label_id: "se-1", charged_at: new Date(SCANNED), voided_at: null };
  for (const tracking_status of ["delivered", "unknown"]) {
    const label = await read({ ...ACCEPTANCE, tracking_status }, { asked, stored });
    assert.equal(label?.chargedAt, SCANNED);
  }
  const voided = await read({ ...ACCEPTANCE, voided: true }, { asked, stored });
  assert.deepEqual([voided?.chargedAt, voided?.voidedAt], [SCANNED, SCANNED]);
  assert.deepEqual(asked, []);
});

test("M10: labels in progress, failed, for testing or outbound do not count", async () => {
  for (const change of [{ status: "processing" }, { status: "error" }, { test_label: true }]) {
    assert.equal(await read(change), null);
  }
  const outbound = readLabel({ ...LABEL, is_return_label: false, created_at: null, shipment_cost: null });
  assert.equal(await mapLabel(outbound, new Map(), assert.fail), null);
});

test("the RMA number is a platform's id, a return's name or an order's", async () => {
  const references = async (rma_number: string | null) => {
    const label = await read({ rma_number });
    return [label?.orderId, label?.returnId, label?.orderName];
  };
  assert.deepEqual(await references(null), [null, null, null]);
  assert.deepEqual(await references("#1001"), [null, null, "#1001"]);
  assert.deepEqual(await references("#1001-R2"), [null, null, "#1001"]);
  assert.deepEqual(await references("gid://shopify/Return/5"), [null, "gid://shopify/Return/5", null]);
  assert.deepEqual(await references("gid://shopify/Order/5"), ["gid://shopify/Order/5", null, null]);
});

test("a label without a price or currency is a failure, not a free label", async () => {
  for (const shipment_cost of [
    null,
    5,
    { currency: "usd" },
    { currency: "usd", amount: "5" },
    { currency: "usd", amount: -1 },
    { currency: "dollars", amount: 5 },
  ]) {
    await assert.rejects(read({ shipment_cost }), SourceFailed);
  }
});

const LABEL = {
  label_id: "se-1",
  status: "completed",
  created_at: CREATED,
  is_return_label: true,
  voided: false,
  tracking_status: "unknown",
  charge_event: "on_creation",
  shipment_cost: { currency: "usd", amount: 4.35 },
};

type Circumstances = { asked?: string[]; stored?: StoredMoments; tracking?: object };

async function read(change: object, { asked = [], stored, tracking }: Circumstances = {}) {
  const label = readLabel({ ...LABEL, ...change });
  const known = new Map(stored === undefined ? [] : [[stored.label_id, stored]]);
  const record = await mapLabel(label, known, (labelId) => {
    asked.push(labelId);
    return Promise.resolve(readTracking(tracking ?? { events: EVENTS }));
  });
  assert.equal(record?.recordId, "se-1");
  return record.labels[0] ?? null;
}
