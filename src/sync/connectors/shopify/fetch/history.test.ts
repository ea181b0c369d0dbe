import assert from "node:assert/strict";
import { test } from "node:test";
import { newBackfill, readCursor, type ShopifyCursor } from "../settings.ts";
import { firstWholeMonth, historyFromOf, isOutdated, limitAfter, surelyVisibleFrom } from "./history.ts";

const NOW = new Date("2026-06-01T12:00:00Z");
const LIMITED = { hasAllOrders: false };
const ALL = { hasAllOrders: true };
const cursor = (values: Partial<ShopifyCursor>): ShopifyCursor => ({ ...readCursor(null), ...values });

test("M5: history begins with the first month of which all 58 surely visible days are shown", () => {
  assert.equal(surelyVisibleFrom(NOW), "2026-04-04");
  assert.equal(firstWholeMonth(NOW), "2026-05-01");
  assert.equal(firstWholeMonth(new Date("2026-05-29T12:00:00Z")), "2026-04-01");
  assert.equal(firstWholeMonth(new Date("2027-01-31T00:00:00Z")), "2027-01-01");
  assert.equal(firstWholeMonth(new Date("2027-01-20T00:00:00Z")), "2026-12-01");
});

test("history does not move forward once orders are stored, and has no beginning where all orders are shown", () => {
  const limit = { historyFrom: "2026-01-01", unread: null };
  assert.equal(historyFromOf(cursor({}), LIMITED, NOW), "2026-05-01");
  assert.equal(
    historyFromOf(cursor({ watermark: "2026-05-30T00:00:00.000Z", limit }), LIMITED, NOW),
    "2026-01-01",
  );
  assert.equal(historyFromOf(cursor({ watermark: "2026-05-30T00:00:00.000Z" }), LIMITED, NOW), null);
  assert.equal(historyFromOf(cursor({ limit }), ALL, NOW), null);
});

test("days that were shown while nothing was read are remembered until all orders are read", () => {
  const away = cursor({ watermark: "2026-01-10T08:00:00.000Z" });
  const limit = limitAfter(away, LIMITED, NOW);
  assert.deepEqual(limit, { historyFrom: null, unread: { from: "2026-01-10", until: "2026-04-04" } });
  const back = cursor({ watermark: NOW.toISOString(), limit });
  assert.deepEqual(limitAfter(back, LIMITED, NOW), limit);
  assert.deepEqual(limitAfter(back, ALL, NOW), limit);
  const terms = { hasAllOrders: true, historyFrom: null, familyMetafield: null };
  assert.equal(limitAfter({ ...back, backfill: newBackfill(NOW, terms) }, ALL, NOW), null);
});

test("an unfinished backfill is outdated by other scopes, another metafield, and in a limited shop by a day", () => {
  const begun = { hasAllOrders: false, historyFrom: null, familyMetafield: "custom.family" };
  const backfill = newBackfill(NOW, begun);
  const same = { access: LIMITED, familyMetafield: "custom.family", now: NOW };
  const later = new Date(NOW.getTime() + 86_400_001);
  assert.equal(isOutdated(backfill, same), false);
  assert.equal(isOutdated(backfill, { ...same, access: ALL }), true);
  const { recordFormat: _recordFormat, ...earlier } = backfill;
  assert.equal(isOutdated(earlier, same), true, "begun by a version that fetched less");
  assert.equal(isOutdated(backfill, { ...same, familyMetafield: null }), true);
  assert.equal(isOutdated(backfill, { ...same, now: later }), true);
  const all = newBackfill(NOW, { ...begun, hasAllOrders: true });
  assert.equal(isOutdated(all, { ...same, access: ALL, now: later }), false);
});
