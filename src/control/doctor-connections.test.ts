import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConnectionHealthRow } from "../store/queries/worker-health.ts";
import { checkConnections, checkWorker, diagnoseConnections } from "./doctor-connections.ts";

const NOW = new Date("2026-07-01T06:00:00Z");
const healthy: ConnectionHealthRow = {
  shop_domain: "shop.example",
  source: "shopify",
  kind: "store",
  status: "ok",
  foreign_currency_code: null,
  last_synced_at: new Date("2026-07-01T05:50:00Z"),
  connected_at: new Date("2026-01-01T00:00:00Z"),
  last_error: null,
  last_run: null,
  interrupted_runs: 1,
  waiting: [],
};
const problemsOf = (change: Partial<ConnectionHealthRow>) =>
  diagnoseConnections([{ ...healthy, ...change }], NOW)[0]?.problems;

test("each problem of a connection is reported once, and none of one that is well", () => {
  assert.deepEqual(problemsOf({}), []);
  assert.deepEqual(problemsOf({ status: "disconnected", last_error: "The token is refused." }), [
    "shopify is disconnected (The token is refused); it waits to be connected again",
  ]);
  const waiting: ConnectionHealthRow["waiting"] = [
    { kind: "incremental", failures: 3, run_after: "2026-07-01T06:02:00Z" },
  ];
  assert.deepEqual(problemsOf({ status: "failed", last_error: "It answered 503.", waiting }), [
    "shopify failed 3 times in a row (It answered 503)",
  ]);
  assert.deepEqual(problemsOf({ status: "syncing", last_error: "It answered 503." }), [
    "shopify failed (It answered 503)",
  ]);
  assert.deepEqual(problemsOf({ status: "failed" }), ["shopify failed"]);
  assert.deepEqual(problemsOf({ source: "loop", kind: "label_cost", foreign_currency_code: "USD" }), [
    "loop has labels in USD, which is not the shop's currency: its costs are not used",
  ]);
  assert.deepEqual(problemsOf({ interrupted_runs: 5 }), ["5 runs of shopify were cut off within a day"]);
});

test("a connection is stale after 36 hours, counted from when it was connected if it never synced", () => {
  assert.deepEqual(problemsOf({ last_synced_at: new Date("2026-06-29T18:00:00Z") }), []);
  assert.deepEqual(problemsOf({ last_synced_at: new Date("2026-06-29T17:59:59Z") }), [
    "shopify has not synced for 36 hours",
  ]);
  const connectedAt = new Date("2026-06-29T00:00:00Z");
  assert.deepEqual(problemsOf({ last_synced_at: null, connected_at: connectedAt }), [
    "shopify has never synced in 54 hours",
  ]);
});

test("that no worker is there matters once something is connected", () => {
  const checks = [checkWorker(1, 1), checkWorker(0, 0), checkWorker(null, 1), checkWorker(0, 1)];
  assert.deepEqual(
    checks.map(({ message, alert }) => [message, alert]),
    [
      ["connected", null],
      ["none, and nothing is connected", null],
      ["not seen from this node: ask at the coordinator", null],
      ["No worker is running: nothing is synced, and no alert is evaluated or pushed.", "ReturnsNoWorker"],
    ],
  );
});

test("a connection that is refused or stale is a problem, one that the operator has disconnected is none", () => {
  const check = (...changes: Partial<ConnectionHealthRow>[]) =>
    checkConnections(
      diagnoseConnections(
        changes.map((change) => ({ ...healthy, ...change })),
        NOW,
      ),
    );
  const old = new Date("2026-06-01T00:00:00Z");
  assert.deepEqual(check({}, { status: "failed", last_error: "The source answered 503." }), {
    name: "connections",
    ok: true,
    alert: null,
    message: "none is refused or stale",
  });
  assert.equal(check({ status: "disconnected", last_synced_at: old }).ok, true);
  assert.deepEqual(check({}, { status: "disconnected", last_error: "The token is refused." }), {
    name: "connections",
    ok: false,
    alert: null,
    message: "shopify of shop.example is refused.",
  });
  assert.equal(
    check({ last_synced_at: old }, { status: "failed", last_error: "x", last_synced_at: old }).message,
    "shopify of shop.example is stale, and 1 more.",
  );
  assert.equal(check().message, "none");
});
