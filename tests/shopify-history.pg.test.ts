import assert from "node:assert/strict";
import { test } from "node:test";
import { addPending } from "../src/store/queries/sync-record.ts";
import { startShopifySync, type ShopifySync, type ShopifyWorkspace } from "./support/shopify-sync.ts";
import { before, use } from "./support/use.ts";

const LIMITED = ["read_orders", "read_returns", "read_products"];
const ALL = [...LIMITED, "read_all_orders"];
const REASON = new Error("stopped by somebody");
const LIMIT_NOTE =
  "Shopify shows this app only the orders of the last 60 days, because it lacks the scope read_all_orders: " +
  "figures begin with 2026-05, and what happens to an order after 60 days is not seen.";
const GRANTED_NOTE =
  "The app has the scope read_all_orders now: a backfill of the orders it could not see was requested.";

const sync = use(() => startShopifySync({ seed: 61, orders: 400, products: 30 }));
let undisturbed: unknown[];
before(async () => {
  const workspace = await sync.connect();
  await workspace.sync("backfill");
  undisturbed = await workspace.cohorts();
});

const grant = (scopes: string[], { simulator } = sync) => simulator.control("set-scopes", { scopes });

/** Ids of the stored orders, the earliest first. */
async function storedOrders({ shopKey }: ShopifyWorkspace, { shop } = sync): Promise<string[]> {
  const rows = await shop.rows<{ order_id: string }>(
    `select d.order_id from order_document d join order_line l using (shop_key, order_id)
      where d.shop_key = $1 group by d.order_id order by min(l.ordered_on), d.order_id`,
    [shopKey],
  );
  return rows.map((row) => row.order_id);
}

const ask = ({ shopKey }: ShopifyWorkspace, kind: string, ids: string[], { shop } = sync) =>
  addPending(shop.database, shopKey, "shopify", kind, ids);

async function requestsOf({ shopKey }: ShopifyWorkspace, { shop } = sync): Promise<string[]> {
  const rows = await shop.rows<{ kind: string }>("select kind from sync_request where shop_key = $1", [
    shopKey,
  ]);
  return rows.map(({ kind }) => kind);
}

async function stopAt(
  workspace: ShopifyWorkspace,
  kind: "backfill" | "refresh",
  stage: string,
): Promise<void> {
  const stop = new AbortController();
  const stopped = workspace.sync(kind, {
    signal: stop.signal,
    onProgress: (progress) => {
      if (progress.stage === stage) stop.abort(REASON);
    },
  });
  await assert.rejects(stopped, REASON);
}

/** A shop that shows 60 days, read once, and 61 days later. */
async function limitedWorkspace(): Promise<{
  own: ShopifySync;
  workspace: ShopifyWorkspace;
  stop: () => Promise<void>;
}> {
  const own = await startShopifySync({ seed: 62, orders: 400, products: 20, scopes: LIMITED });
  const workspace = await own.connect();
  await workspace.sync("backfill");
  await own.simulator.control("clock", { advanceSeconds: 40 * 86_400 });
  await workspace.sync("incremental");
  await own.simulator.control("clock", { advanceSeconds: 21 * 86_400 });
  return { own, workspace, stop: () => own.stop() };
}

test("an order that is too old to be shown stays as it is stored, unless the platform says that it is deleted", async () => {
  const { own, workspace, stop } = await limitedWorkspace();
  try {
    const stored = await storedOrders(workspace, own);
    const rows = await workspace.cohorts();
    assert.ok(stored.length > 10);
    await ask(workspace, "order", stored, own);
    assert.equal((await workspace.sync("refresh")).counts["orders"], 0);
    assert.deepEqual(await workspace.cohorts(), rows);

    const [first = "", ...others] = stored;
    await ask(workspace, "deleted_order", [first], own);
    await workspace.sync("refresh");
    assert.deepEqual(await storedOrders(workspace, own), others);
  } finally {
    await stop();
  }
});

test("a deletion that was found and not applied outlives a backfill that begins", async () => {
  const { own, workspace, stop } = await limitedWorkspace();
  try {
    const [first = "", ...others] = await storedOrders(workspace, own);
    await ask(workspace, "deleted_order", [first], own);
    await stopAt(workspace, "refresh", "labels");
    await workspace.sync("backfill");
    await workspace.sync("refresh");
    assert.deepEqual(await storedOrders(workspace, own), others);
  } finally {
    await stop();
  }
});

test("an order that would be shown if it were there is gone, also where 60 days are shown", async () => {
  await grant(LIMITED);
  const own = await startShopifySync({ seed: 63, orders: 400, products: 20, scopes: LIMITED });
  try {
    const workspace = await own.connect();
    await workspace.sync("backfill");
    const stored = await storedOrders(workspace, own);
    const [refreshed = "", listed = ""] = stored.slice(-2);
    for (const id of [refreshed, listed]) {
      const [{ name } = { name: "" }] = await own.shop.rows<{ name: string }>(
        "select order_name as name from order_reference where shop_key = $1 and order_id = $2",
        [workspace.shopKey, id],
      );
      await own.simulator.control("change", { do: "deleteOrder", order: name });
    }
    await ask(workspace, "order", [refreshed], own);
    await workspace.sync("refresh");
    assert.deepEqual(
      await storedOrders(workspace, own),
      stored.filter((id) => id !== refreshed),
    );
    await workspace.sync("backfill");
    assert.deepEqual(
      await storedOrders(workspace, own),
      stored.filter((id) => id !== refreshed && id !== listed),
    );
  } finally {
    await own.stop();
  }
});

test("an app that loses read_all_orders keeps what it has read, and catches up when it has it again", async () => {
  await grant(ALL);
  const workspace = await sync.connect();
  await workspace.sync("backfill");
  await grant(LIMITED);
  await ask(workspace, "order", await storedOrders(workspace));
  const { notes } = await workspace.sync("refresh");
  assert.match(notes[0] ?? "", /: earlier orders stay as they were last read\.$/u);
  assert.deepEqual(await workspace.cohorts(), undisturbed);
  await workspace.sync("backfill");
  assert.deepEqual(await workspace.cohorts(), undisturbed);

  await grant(ALL);
  assert.deepEqual((await workspace.sync("incremental")).notes[0], GRANTED_NOTE);
  assert.deepEqual(await requestsOf(workspace), ["backfill"]);
});

test("M5: without read_all_orders figures begin with the first whole month, which stays the first", async () => {
  await grant(LIMITED);
  const own = await startShopifySync({ seed: 61, orders: 400, products: 30, scopes: LIMITED });
  try {
    const workspace = await own.connect();
    const { counts, notes } = await workspace.sync("backfill");
    assert.equal(notes[0], LIMIT_NOTE);
    const stored = await storedOrders(workspace, own);
    assert.equal(counts["orders"], stored.length);
    const inMay = undisturbed.filter((row) => (row as { cohort_month: string }).cohort_month >= "2026-05-01");
    const cohorts = (await workspace.cohorts()) as { entity_kind: string; sold_units: number }[];
    const sold = (rows: typeof cohorts) =>
      rows.filter((row) => row.entity_kind === "workspace").map((row) => row.sold_units);
    assert.ok(inMay.length > 10);
    assert.deepEqual(sold(cohorts), sold(inMay as typeof cohorts));

    // Imported from elsewhere: present, in a month without other orders.
    const lines = [{ product: 1, units: 1 }];
    await own.simulator.control("change", { do: "placeOrder", lines, processedAt: "2026-04-20T10:00:00Z" });
    await own.simulator.control("change", { do: "placeOrder", lines, processedAt: "2026-05-20T10:00:00Z" });
    await workspace.sync("incremental");
    assert.equal((await storedOrders(workspace, own)).length, stored.length + 1);
    await own.simulator.control("clock", { advanceSeconds: 40 * 86_400 });
    assert.equal((await workspace.sync("backfill")).notes[0], LIMIT_NOTE);
    assert.equal((await storedOrders(workspace, own)).length, stored.length + 1);

    assert.deepEqual(await requestsOf(workspace, own), []);
    await grant(ALL, own);
    assert.equal((await workspace.sync("incremental")).notes[0], GRANTED_NOTE);
    assert.deepEqual(await requestsOf(workspace, own), ["backfill"]);
    assert.equal((await storedOrders(workspace, own)).length, stored.length + 1);
    const whole = await workspace.sync("backfill");
    assert.equal(whole.counts["orders"], 402);
    assert.doesNotMatch(whole.notes.join(), /read_all_orders/u);
    await own.shop.rows("delete from sync_request where shop_key = $1", [workspace.shopKey]);
    await workspace.sync("incremental");
    assert.deepEqual(await requestsOf(workspace, own), []);
  } finally {
    await own.stop();
  }
});

test("days that nobody read while they were shown are reported with every run", async () => {
  const own = await startShopifySync({ seed: 64, orders: 100, products: 10, scopes: LIMITED });
  try {
    const workspace = await own.connect();
    await workspace.sync("backfill");
    await own.simulator.control("clock", { advanceSeconds: 100 * 86_400 });
    for (const kind of ["incremental", "refresh"] as const) {
      assert.match(
        (await workspace.sync(kind)).notes[1] ?? "",
        /^Nothing was read between 2026-06-01 and 2026-07-13, and Shopify no longer shows those days: /u,
      );
    }
  } finally {
    await own.stop();
  }
});

test("a backfill that began under other scopes starts over", async () => {
  await grant(LIMITED);
  const granted = await sync.connect();
  await stopAt(granted, "backfill", "cohorts");
  await grant(ALL);
  assert.doesNotMatch((await granted.sync("incremental")).notes.join(), /60 days/u);
  assert.equal((await storedOrders(granted)).length, 400);
  assert.deepEqual(await granted.cohorts(), undisturbed);

  const lost = await sync.connect();
  await stopAt(lost, "backfill", "cohorts");
  await grant(LIMITED);
  assert.equal((await lost.sync("incremental")).notes[0], LIMIT_NOTE);
  assert.ok((await storedOrders(lost)).length < 40);
  await grant(ALL);
});

test("a backfill that began with another metafield starts over", async () => {
  const settings = { familyMetafield: "custom.analytics_family" };
  const expected = await sync.connect();
  await expected.sync("backfill", { settings });
  const changed = await sync.connect();
  await stopAt(changed, "backfill", "cohorts");
  await changed.sync("incremental", { settings });
  const families = ({ shopKey }: ShopifyWorkspace) =>
    sync.shop.rows("select product_gid, family from product where shop_key = $1 order by product_gid", [
      shopKey,
    ]);
  const plain = await sync.connect();
  await plain.sync("backfill");
  assert.notDeepEqual(await families(expected), await families(plain));
  assert.deepEqual(await families(changed), await families(expected));
});
