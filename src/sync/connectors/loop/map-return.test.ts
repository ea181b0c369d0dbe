import assert from "node:assert/strict";
import { test } from "node:test";
import { SourceFailed } from "../../connector.ts";
import { readReturn } from "./map-return.ts";
import { mapReturn } from "./map-return.ts";

const CREATED = "2026-01-10T12:00:00.000Z";
/** The first 16 digits of the SHA-256 of T. */
const T = "e632b7095b0bf32c";
const UPDATED = "2026-01-20T12:00:00.000Z";

test("M9: a rate is cents, unless it is written with a decimal point", () => {
  for (const [rate, minor] of [
    [785, 785],
    ["785", 785],
    [7.85, 785],
    ["7.85", 785],
    [0, 0],
    [5, 5],
  ] as const) {
    assert.equal(read({ labels: [{ rate, tracking_number: "T" }] })[0]?.amountMinor, minor, String(rate));
  }
});

test("M9: cents are hundredths of the unit, also where the currency has another smallest coin", () => {
  const rate = (currency: string) => read({ currency, labels: [{ rate: 45_000, tracking_number: "T" }] });
  assert.equal(rate("USD")[0]?.amountMinor, 45_000);
  assert.equal(rate("JPY")[0]?.amountMinor, 450);
  assert.equal(rate("KWD")[0]?.amountMinor, 450_000);
});

test("M9: label_rate is an amount, and takes precedence for a return's only label", () => {
  const only = { labels: [{ rate: 4, tracking_number: "T" }], label_rate: "4" };
  assert.equal(read(only)[0]?.amountMinor, 400);
  const two = [
    { rate: 450, tracking_number: "T1" },
    { rate: 550, tracking_number: "T2" },
  ];
  assert.deepEqual(
    read({ labels: two, label_rate: "10.00" }).map((label) => label.amountMinor),
    [450, 550],
  );
});

test("a return without a list has one label by its label_rate, and none without", () => {
  const [label] = read({ label_rate: "4.50", tracking_number: "T", label_status: "delivered" });
  assert.deepEqual(label, {
    labelId: `12:${T}`,
    orderId: "gid://shopify/Order/3248923479283",
    returnId: null,
    orderName: "#1001",
    trackingNumber: "T",
    chargedAt: CREATED,
    amountMinor: 450,
    currencyCode: "USD",
    voidedAt: null,
  });
  assert.deepEqual(read({ tracking_number: "T" }), []);
});

test("labels are identified by a digest of their tracking number, else by their position; a repeated one counts once", () => {
  const labels = [
    { rate: 1, tracking_number: "T" },
    { rate: 2, tracking_number: null },
    { rate: 3, tracking_number: "T" },
  ];
  assert.deepEqual(
    read({ labels }).map(({ labelId, amountMinor }) => [labelId, amountMinor]),
    [
      [`12:${T}`, 3],
      ["12:1", 2],
    ],
  );
});

test("M10: a canceled label is voided when that was first seen", () => {
  const labels = [{ rate: 1, tracking_number: "T", status: "cancelled" }];
  assert.equal(read({ labels })[0]?.voidedAt, UPDATED);
  const earlier = new Date("2026-01-15T00:00:00.000Z");
  const stored = { label_id: `12:${T}`, charged_at: new Date(CREATED), voided_at: earlier };
  const record = mapReturn(returnOf({ labels }), new Map([[`12:${T}`, stored]]));
  assert.equal(record.labels[0]?.voidedAt, earlier.toISOString());
});

test("ids that come as numbers are ids, and what has another type is a failure", () => {
  const [label] = read({ id: 12, provider_order_id: 5_444_175_757_553, label_rate: "1.00" });
  assert.deepEqual([label?.labelId, label?.orderId], ["12:0", "gid://shopify/Order/5444175757553"]);
  for (const change of [
    { id: null },
    { created_at: "yesterday" },
    { label_rate: "a lot" },
    { label_rate: "1.00", currency: "dollars" },
    { labels: "none" },
    { labels: [{ rate: "a lot" }] },
    { labels: [{ rate: -5 }] },
    { labels: [{ rate: true }] },
  ]) {
    assert.throws(() => read(change), SourceFailed);
  }
});

function returnOf(change: object) {
  const returned = {
    id: "12",
    created_at: CREATED,
    updated_at: UPDATED,
    currency: "USD",
    provider_order_id: "3248923479283",
    order_name: "#1001",
    ...change,
  };
  return readReturn(returned);
}

function read(change: object) {
  return mapReturn(returnOf(change), new Map()).labels;
}
