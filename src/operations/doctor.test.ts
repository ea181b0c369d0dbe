import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { ConnectionHealthRow } from "../store/queries/worker-health.ts";
import { API_VERSION, supportEndsAt } from "../sync/connectors/shopify/api/client.ts";
import {
  checkConnections,
  checkService,
  checkSourceApis,
  checkWorker,
  diagnoseConnections,
} from "./doctor.ts";

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
  interrupted_runs: 1,
  unbalanced_note: null,
  failures: 0,
  with_problems: 1,
  broken: 0,
};
const problemsOf = (change: Partial<ConnectionHealthRow>) =>
  diagnoseConnections([{ ...healthy, ...change }], NOW)[0]?.problems;

test("each problem of a connection is reported once, and none of one that is well", () => {
  assert.deepEqual(problemsOf({}), []);
  assert.deepEqual(problemsOf({ status: "disconnected", last_error: "The token is refused." }), [
    "shopify is disconnected (The token is refused); it must be connected again",
  ]);
  assert.deepEqual(problemsOf({ status: "failed", last_error: "It answered 503.", failures: 3 }), [
    "shopify failed 3 times in a row (It answered 503)",
  ]);
  assert.deepEqual(problemsOf({ status: "syncing", last_error: "It answered 503." }), [
    "shopify failed (It answered 503)",
  ]);
  assert.deepEqual(problemsOf({ status: "failed" }), ["shopify failed"]);
  assert.deepEqual(problemsOf({ source: "loop", kind: "label_cost", foreign_currency_code: "USD" }), [
    "loop has labels in USD, which is not the shop's currency: its costs are not used",
  ]);
  assert.deepEqual(problemsOf({ unbalanced_note: "1 lines have lost other units: #1001 Dress." }), [
    "a run of shopify within a day found: 1 lines have lost other units: #1001 Dress",
  ]);
  assert.deepEqual(problemsOf({ interrupted_runs: 5 }), ["5 runs of shopify were interrupted within a day"]);
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

test("that no worker is there matters, also before anything is connected: uploads need one", () => {
  const checks = [checkWorker(1), checkWorker(null), checkWorker(0)];
  assert.deepEqual(
    checks.map(({ message, alert }) => [message, alert]),
    [
      ["connected", null],
      ["not visible from this node: run it at the coordinator", null],
      [
        "No worker is running: nothing is synced or imported, and no alert is evaluated or pushed. Start ./returns worker.",
        "ReturnsNoWorker",
      ],
    ],
  );
});

test("a connection that is refused or stale is a problem, one that the operator has disconnected is none", () => {
  const check = (...changes: Partial<ConnectionHealthRow>[]) =>
    checkConnections({
      total: changes.length,
      with_problems: changes.length,
      first: diagnoseConnections(
        changes.map((change) => ({ ...healthy, ...change })),
        NOW,
      ),
    });
  const old = new Date("2026-06-01T00:00:00Z");
  assert.deepEqual(check({ status: "failed", last_error: "The source answered 503." }), {
    name: "connections",
    ok: true,
    alert: null,
    message: "none is refused or stale",
  });
  assert.equal(check({ status: "disconnected", last_synced_at: old }).ok, true);
  assert.deepEqual(check({ status: "disconnected", last_error: "The token is refused.", broken: 1 }), {
    name: "connections",
    ok: false,
    alert: null,
    message: "shopify of shop.example is refused: connect it again.",
  });
  assert.equal(
    check({ last_synced_at: old, broken: 2 }).message,
    "shopify of shop.example is stale, and 1 more: ./returns runs shows why.",
  );
  assert.equal(check().message, "none");
});

test("an API version is announced sixty days before its support ends, by the day of its release", () => {
  assert.deepEqual(supportEndsAt("2026-10"), new Date("2027-10-01T00:00:00Z"));
  assert.deepEqual(supportEndsAt("2027-01"), new Date("2028-01-01T00:00:00Z"));
  const ends = supportEndsAt(API_VERSION).getTime();
  const check = (daysBefore: number) => checkSourceApis(new Date(ends - daysBefore * 86_400_000));
  assert.deepEqual([check(60).alert, check(60).ok], [null, true]);
  assert.match(
    check(60).message,
    new RegExp(`^shopify ${API_VERSION}, supported until \\d{4}-\\d{2}-01$`, "u"),
  );
  assert.deepEqual([check(59.9).alert, check(59.9).ok], ["ReturnsSourceApiEnds", true]);
  assert.match(check(59.9).message, /of shopify is supported for 59 days more: upgrade the service\.$/u);
  assert.match(check(-5).message, /of shopify is no longer supported/u);
});

test("a service that is not ready is a problem, one that nobody can ask is none", async () => {
  let answer = { status: "ready", reason: "" };
  const server = createServer((_request, response) => response.end(JSON.stringify(answer)));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  assert.equal((await checkService(address)).message, `ready at ${address}`);
  answer = { status: "not_ready", reason: "draining" };
  assert.deepEqual(await checkService(address), {
    name: "service",
    ok: false,
    alert: null,
    message: `Not ready at ${address}: draining. The service's log says more.`,
  });
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
  assert.equal((await checkService(address)).ok, true);
  assert.equal((await checkService(null)).ok, true);
});
