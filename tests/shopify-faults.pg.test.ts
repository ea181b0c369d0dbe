import assert from "node:assert/strict";
import { test } from "node:test";
import { SourceFailed, SourceRefused } from "../src/sync/connector.ts";
import type { BulkFault, RequestFault } from "../tools/simulators/shopify/faults.ts";
import { approvedTokens } from "./support/shopify-approval.ts";
import { askShop, openShopifySync, QUICK, startShopifySync } from "./support/shopify-sync.ts";
import type { ShopifySync, ShopifyWorkspace } from "./support/shopify-sync.ts";
import { APP } from "./support/webhooks.ts";
import { eventually } from "./support/worker.ts";
import { before, use } from "./support/use.ts";

const SHOP = { seed: 11, orders: 60, products: 20, ...APP };
const ALL_SCOPES = ["read_orders", "read_all_orders", "read_returns", "read_products"];

const sync = use(() => startShopifySync(SHOP));
let first: ShopifyWorkspace;
let undisturbed: unknown[];
before(async () => {
  first = await sync.connect();
  await first.sync("backfill");
  undisturbed = await first.cohorts();
  assert.ok(undisturbed.length > 150);
});

async function assertUndisturbed(workspace: ShopifyWorkspace): Promise<void> {
  assert.deepEqual(await workspace.cohorts(), undisturbed);
  assert.deepEqual(await leftOvers(workspace), []);
}

/** Rows of which a finished run must leave none. */
async function leftOvers({ shopKey }: ShopifyWorkspace): Promise<unknown[]> {
  return sync.shop.rows(
    `select part as name from sync_record where shop_key = $1
     union all select kind from pending_record where shop_key = $1 limit 3`,
    [shopKey],
  );
}

const REQUEST_FAULTS: RequestFault[] = [
  { kind: "status", status: 500 },
  { kind: "status", status: 503 },
  { kind: "status", status: 429 },
  { kind: "cut" },
  { kind: "throttled" },
];

test("a backfill survives answers of status 500, 503 and 429, cut connections and throttling", async () => {
  const workspace = await sync.connect();
  await sync.simulator.control("statistics", { reset: true });
  const placed = [...REQUEST_FAULTS, ...REQUEST_FAULTS, ...REQUEST_FAULTS];
  for (const fault of placed) await sync.simulator.control("fault", { fault, times: 2, after: 2 });
  await workspace.sync("backfill");
  await sync.simulator.control("clear-faults", {});
  await assertUndisturbed(workspace);
  const { requests } = await sync.simulator.control("statistics", {});
  assert.ok(requests >= REQUEST_FAULTS.length * 4, `${requests} requests met each fault`);
});

test("a backfill survives an empty bucket of points", async (context) => {
  const slow = await openShopifySync(context, { ...SHOP, bucketPoints: 1000, restorePerSecond: 4000 });
  const workspace = await slow.connect();
  await slow.simulator.control("drain", {});
  await workspace.sync("backfill");
  assert.deepEqual(await workspace.cohorts(), undisturbed);
  const { throttled, requests } = await slow.simulator.control("statistics", {});
  assert.ok(throttled < requests / 2, `${throttled} of ${requests} requests were throttled`);
});

test("a backfill requests smaller pages if the platform charges them object by object", async (context) => {
  const dear = await openShopifySync(context, { ...SHOP, connectionCost: "linear" });
  const workspace = await dear.connect();
  await workspace.sync("backfill");
  assert.deepEqual(await workspace.cohorts(), undisturbed);
  await dear.simulator.control("change", { do: "touchOrders", count: 5 });
  assert.equal((await workspace.sync("incremental")).counts["orders"], 5);
  assert.ok((await dear.simulator.control("statistics", {})).refusedForCost > 0);
});

const BULK_FAULTS: BulkFault[] = ["fail", "expire", "truncated", "duplicate", "swapped", "cut"];

test("a backfill survives every fault of bulk operations, of whichever it happens to", async () => {
  // The four operations take the faults in turn when they start.
  for (const faults of [BULK_FAULTS, [...BULK_FAULTS.slice(3), ...BULK_FAULTS.slice(0, 3)]]) {
    const workspace = await sync.connect();
    for (const fault of faults) await sync.simulator.control("bulk-fault", { fault });
    await workspace.sync("backfill");
    await sync.simulator.control("clear-faults", {});
    await assertUndisturbed(workspace);
  }
});

test("a backfill survives downloads that fail", async () => {
  const workspace = await sync.connect();
  for (const [fault, times] of [
    [{ kind: "cut" }, 2],
    [{ kind: "status", status: 503 }, 2],
    [{ kind: "status", status: 404 }, 1],
  ] as const) {
    await sync.simulator.control("fault", { target: "download", fault, times });
  }
  await workspace.sync("backfill");
  await sync.simulator.control("clear-faults", {});
  await assertUndisturbed(workspace);
});

test("a bulk operation that never ends is canceled and run again", async (context) => {
  const stalling = await openShopifySync(context, SHOP, { ...QUICK, stallMs: 3000 });
  const workspace = await stalling.connect();
  await stalling.simulator.control("bulk-fault", { fault: "stall", times: 2 });
  await workspace.sync("backfill");
  assert.deepEqual(await workspace.cohorts(), undisturbed);
});

test("a bulk operation that always fails ends the run in one sentence, and the next run succeeds", async () => {
  const workspace = await sync.connect();
  await sync.simulator.control("bulk-fault", { fault: "fail", times: 16 });
  await assert.rejects(workspace.sync("backfill"), (error) => {
    assert.ok(error instanceof SourceFailed);
    assert.match(error.message, /^Shopify's bulk operation of \w+ failed 4 times, .*\.$/);
    return true;
  });
  await sync.simulator.control("clear-faults", {});
  assert.deepEqual(await workspace.cohorts(), []);
  await workspace.sync("backfill");
  await assertUndisturbed(workspace);
});

test("other bulk operations of the app are waited for", async (context) => {
  const busy = await openShopifySync(context, SHOP);
  const workspaces = await Promise.all([busy.connect(), busy.connect()]);
  await busy.simulator.control("bulk-fault", { fault: "stall", times: 5 });
  const synced = Promise.all(workspaces.map((workspace) => workspace.sync("backfill")));
  const isRefused = async (): Promise<boolean> => {
    const { bulkRunningMost, operations } = await busy.simulator.control("statistics", {});
    return bulkRunningMost === 5 && (operations["BulkRun"] ?? 0) > 8;
  };
  await eventually(isRefused, "five operations run, and further ones are asked for again", 60);
  for (const number of [1, 2, 3, 4, 5]) await cancelBulk(`gid://shopify/BulkOperation/${number}`, busy);
  await synced;
  assert.equal((await busy.simulator.control("statistics", {})).bulkRunningMost, 5);
  for (const workspace of workspaces) assert.deepEqual(await workspace.cohorts(), undisturbed);
});

async function cancelBulk(id: string, { simulator }: ShopifySync): Promise<void> {
  const query = "mutation($id: ID!) { bulkOperationCancel(id: $id) { userErrors { message } } }";
  assert.equal("errors" in ((await askShop(simulator, query, { id })) as object), false);
}

test("a platform that stays unreachable ends the run in one sentence", async () => {
  const workspace = await sync.connect();
  await sync.simulator.control("fault", { fault: { kind: "status", status: 502 }, times: 50 });
  await assert.rejects(
    workspace.sync("backfill"),
    new SourceFailed(`Shopify at ${sync.simulator.url} did not answer in 8 tries, the last one: status 502.`),
  );
  await sync.simulator.control("clear-faults", {});
});

test("an access token that expires in the middle of a run is refreshed", async () => {
  const workspace = await sync.connect(await approvedTokens(sync.simulator));
  await sync.simulator.control("statistics", { reset: true });
  const expireAt = new Set(["refunds", "tracking"]);
  let expiring: Promise<unknown> = Promise.resolve();
  await workspace.sync("backfill", {
    onProgress: ({ stage }) => {
      if (expireAt.delete(stage)) {
        expiring = sync.simulator.control("expire-access-tokens", {});
        expiring.catch(() => {});
      }
    },
  });
  await expiring;
  await assertUndisturbed(workspace);
  assert.ok((await sync.simulator.control("statistics", {})).refreshes > 0);
});

test("a rejected token ends the run in one sentence", async () => {
  const workspace = await sync.connect({ accessToken: "shpat_unknown" });
  await assert.rejects(
    workspace.sync("backfill"),
    new SourceRefused("Shopify no longer accepts the access token of this app: connect the shop again."),
  );
});

test("a shop in another currency is refused in one sentence before anything is stored", async () => {
  const workspace = await sync.connect(undefined, "USD");
  await assert.rejects(
    workspace.sync("backfill"),
    new SourceFailed("The shop's currency is EUR, but the workspace's is USD: nothing was stored."),
  );
  assert.deepEqual(await leftOvers(workspace), []);
});

test("a missing scope is named, and the run succeeds once it is granted", async () => {
  const workspace = await sync.connect();
  await sync.simulator.control("set-scopes", { scopes: ["read_orders", "read_all_orders"] });
  await assert.rejects(
    workspace.sync("backfill"),
    new SourceFailed(
      "Shopify has not granted this app the scopes read_returns, read_products: add what is missing under Dev " +
        "Dashboard → the app → Versions and let the merchant approve the update (a custom app of the shop's admin: " +
        "Settings → Apps → Develop apps → the app → Configuration), and try again.",
    ),
  );
  await sync.simulator.control("set-scopes", { scopes: ALL_SCOPES });
  await workspace.sync("backfill");
  await assertUndisturbed(workspace);
});

// From here on the shop changes.

test("a new backfill removes orders that the shop no longer has, unless it only shows the last 60 days", async () => {
  const workspace = await sync.connect();
  await workspace.sync("backfill");
  await sync.simulator.control("set-scopes", { scopes: ["read_orders", "read_returns", "read_products"] });
  await workspace.sync("backfill");
  assert.deepEqual(await workspace.cohorts(), undisturbed);
  await sync.simulator.control("set-scopes", { scopes: ALL_SCOPES });
  await sync.simulator.control("change", { do: "deleteOrder", order: 20 });
  await workspace.sync("backfill");
  assert.deepEqual(await workspace.cohorts(), await sync.exportedCohorts());
});

test("a revoked token is refused, and synced data stays", async () => {
  await sync.simulator.control("revoke-tokens", {});
  await assert.rejects(first.sync("incremental"), SourceRefused);
  assert.deepEqual(await first.cohorts(), undisturbed);
});
