import assert from "node:assert/strict";
import { test } from "node:test";
import { staleAlert, type WatchedSource } from "./stale-alert.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const lastSyncedAt = new Date("2026-07-01T04:30:00.123Z");
const shopify: WatchedSource = {
  source: "shopify",
  kind: "store",
  isConnected: true,
  lastSyncedAt,
  connectedAt: new Date("2026-01-01T00:00:00Z"),
};
const after = (ageMs: number): Date => new Date(lastSyncedAt.getTime() + ageMs);

test("a source is stale when its last sync is more than 36 hours ago", () => {
  assert.equal(staleAlert(shopify, after(36 * HOUR_MS)), null);
  assert.deepEqual(staleAlert(shopify, after(36 * HOUR_MS + 1)), {
    eventKey: "stale:shopify:2026-07-01T04:30:00.123Z",
    category: "connection_stale",
    severity: "warning",
    title: "shopify has stopped syncing",
    body:
      "Its last successful sync was at 2026-07-01 04:30 UTC, 36 hours ago. Until it syncs again, orders and returns " +
      "stay as they were then.",
    metadata: { source: "shopify", last_synced_at: "2026-07-01T04:30:00.123Z" },
  });
});

test("an outage is critical when it is first seen after seven days, and the same event at any age", () => {
  const young = staleAlert(shopify, after(7 * DAY_MS - 1));
  const old = staleAlert(shopify, after(7 * DAY_MS));
  assert.deepEqual([young?.severity, old?.severity], ["warning", "critical"]);
  assert.equal(young?.eventKey, old?.eventKey);
  assert.match(old?.body ?? "", /, 7 days ago\./u);
});

test("the next outage is another event", () => {
  const next = { ...shopify, lastSyncedAt: after(DAY_MS) };
  assert.notEqual(
    staleAlert(next, after(4 * DAY_MS))?.eventKey,
    staleAlert(shopify, after(4 * DAY_MS))?.eventKey,
  );
});

test("a source that never synced is stale 36 hours after it was connected", () => {
  const silent: WatchedSource = {
    ...shopify,
    kind: "label_cost",
    lastSyncedAt: null,
    connectedAt: lastSyncedAt,
  };
  assert.equal(staleAlert(silent, after(36 * HOUR_MS)), null);
  const alert = staleAlert(silent, after(3 * DAY_MS));
  assert.equal(alert?.eventKey, "stale:shopify:never:2026-07-01T04:30:00.123Z");
  assert.equal(alert?.title, "shopify has never synced");
  assert.match(alert?.body ?? "", /^It was connected at 2026-07-01 04:30 UTC, 3 days ago\..+label costs/u);
  assert.deepEqual(alert?.metadata, { source: "shopify", last_synced_at: null });
});

test("a sync in the future is not an outage", () =>
  assert.equal(staleAlert(shopify, after(-30 * DAY_MS)), null));

test("imported data has no connection that could be stale, whatever its name", () => {
  for (const source of ["csv", "csv_labels", "shopify"]) {
    assert.equal(staleAlert({ ...shopify, source, isConnected: false }, after(5000 * DAY_MS)), null);
  }
});
