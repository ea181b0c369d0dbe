import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SourceState, Workspace } from "../store/workspace.ts";
import { baseMeta } from "./meta.ts";

const NOW = new Date("2026-07-03T12:00:00Z");

function freshnessOf(sources: Partial<SourceState>[]) {
  const workspace = {
    organizationId: "organization",
    shopId: null,
    shopDomain: "shop.example",
    dataAsOf: null,
    sources: sources.map((source) => ({ source: "csv", status: "ok", lastSyncedAt: NOW, ...source })),
  } as unknown as Workspace;
  return baseMeta(workspace, NOW, { name: "summary" }).freshness;
}

const hoursAgo = (hours: number): Date => new Date(NOW.getTime() - hours * 3_600_000);

describe("a source", () => {
  const isStale = (source: Partial<SourceState>) => freshnessOf([source]).sources[0]?.stale;

  test("is stale after more than 36 hours, to the millisecond", () => {
    assert.equal(isStale({ lastSyncedAt: hoursAgo(36) }), false);
    assert.equal(isStale({ lastSyncedAt: new Date(hoursAgo(36).getTime() - 1) }), true);
  });

  test("is stale when it never synced, failed or was disconnected, however lately", () => {
    assert.equal(isStale({ lastSyncedAt: null, status: null }), true);
    assert.equal(isStale({ status: "failed" }), true);
    assert.equal(isStale({ status: "disconnected" }), true);
  });

  test("is fresh while it syncs again", () =>
    assert.equal(isStale({ status: "syncing", lastSyncedAt: hoursAgo(1) }), false));
});

test("the numbers are as old as the most recent sync of any source", () => {
  const older = { source: "labels", lastSyncedAt: hoursAgo(5) };
  const newer = { source: "csv", lastSyncedAt: hoursAgo(2) };
  const never = { source: "other", lastSyncedAt: null };
  assert.equal(freshnessOf([older, newer, never]).data_updated_at, hoursAgo(2).toISOString());
  assert.equal(freshnessOf([newer, older]).data_updated_at, hoursAgo(2).toISOString());
  assert.equal(freshnessOf([never]).data_updated_at, null);
  assert.deepEqual(freshnessOf([]), { data_updated_at: null, sources: [] });
});
