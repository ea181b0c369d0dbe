import assert from "node:assert/strict";
import { test } from "node:test";
import type { SourceState } from "../store/workspace.ts";
import { labelCostsIncluded } from "./label-costs.ts";

const store: SourceState = {
  source: "csv",
  kind: "store",
  status: "failed",
  currencyCode: null,
  lastSyncedAt: null,
};
const label: SourceState = {
  source: "labels",
  kind: "label_cost",
  status: "ok",
  currencyCode: "EUR",
  lastSyncedAt: new Date("2026-01-01T00:00:00Z"),
};
const included = (...sources: SourceState[]) => labelCostsIncluded({ sources, currencyCode: "EUR" });

test("M10: label costs are included when there is a label source and all of them are usable", () => {
  assert.equal(included(store, label), true);
  assert.equal(included(label, { ...label, source: "more labels", status: "syncing" }), true);
});

test("M10: label costs are not included without a label source", () => {
  assert.equal(included(), false);
  assert.equal(included({ ...store, status: "ok", lastSyncedAt: label.lastSyncedAt }), false);
});

test("M10: one label source that never synced, failed, left or has another currency leaves them out", () => {
  for (const flaw of [
    { lastSyncedAt: null },
    { status: "failed" },
    { status: "disconnected" },
    { currencyCode: "USD" },
    { currencyCode: null },
  ]) {
    assert.equal(included(store, { ...label, ...flaw }), false);
    assert.equal(included(label, { ...label, source: "more labels", ...flaw }), false);
  }
});
