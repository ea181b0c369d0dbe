import assert from "node:assert/strict";
import { test } from "node:test";
import { openShopifySync, startShopifySync, type ShopifyWorkspace } from "./support/shopify-sync.ts";
import { before, use } from "./support/use.ts";

const LIMITED = ["read_orders", "read_returns", "read_products"];
const ALL = [...LIMITED, "read_all_orders"];
const LIMIT_NOTE =
  "Shopify shows this app only the orders of the last 60 days, because it lacks the scope read_all_orders: " +
  "figures begin with 2026-05, and what happens to an order after 60 days is not seen.";
const GRANTED_NOTE =
  "The app has the scope read_all_orders now: a backfill of the orders it could not see was requested.";

const SHOP = { seed: 61, orders: 160, products: 20 };
const sync = use(() => startShopifySync(SHOP));
/** Read once, with all scopes. */
let complete: ShopifyWorkspace;
let undisturbed: unknown[];
before(async () => {
  complete = await sync.connect();
  await complete.sync("backfill");
  undisturbed = await complete.cohorts();
});

const grant = (scopes: string[], { simulator } = sync) => simulator.control("set-scopes", { scopes });

async function requestsOf({ shopKey }: ShopifyWorkspace, { shop } = sync): Promise<string[]> {
  const rows = await shop.rows<{ kind: string }>("select kind from sync_request where shop_key = $1", [
    shopKey,
  ]);
  return rows.map(({ kind }) => kind);
}

test("an order that is too old to be shown stays stored, unless the platform reports its deletion", async (context) => {
  const { simulator, connect } = await openShopifySync(context, {
    seed: 62,
    orders: 320,
    products: 20,
    scopes: LIMITED,
  });
  const workspace = await connect();
  await workspace.sync("backfill");
  await simulator.control("clock", { advanceSeconds: 40 * 86_400 });
  await workspace.sync("incremental");
  await simulator.control("clock", { advanceSeconds: 21 * 86_400 });
  const stored = await workspace.orderIds();
  const rows = await workspace.cohorts();
  assert.ok(stored.length > 10);
  await workspace.ask("order", stored);
  assert.equal((await workspace.sync("refresh")).counts["orders"], 0);
  assert.deepEqual(await workspace.cohorts(), rows);

  const [first = "", second = "", ...others] = stored;
  await workspace.ask("deleted_order", [first]);
  await workspace.sync("refresh");
  assert.deepEqual(await workspace.orderIds(), [second, ...others]);

  // One that was not yet applied is kept when a backfill begins.
  await workspace.ask("deleted_order", [second]);
  await workspace.stopAt("refresh", "labels");
  await workspace.sync("backfill");
  await workspace.sync("refresh");
  assert.deepEqual(await workspace.orderIds(), others);
});

test("an order within the shown days that the shop no longer returns is removed, also if only 60 days are shown", async (context) => {
  const own = await openShopifySync(context, { seed: 63, orders: 200, products: 20, scopes: LIMITED });
  const workspace = await own.connect();
  await workspace.sync("backfill");
  const stored = await workspace.orderIds();
  const [refreshed = "", listed = ""] = stored.slice(-2);
  for (const id of [refreshed, listed]) {
    const [{ name } = { name: "" }] = await own.shop.rows<{ name: string }>(
      "select order_name as name from order_reference where shop_key = $1 and order_id = $2",
      [workspace.shopKey, id],
    );
    await own.simulator.control("change", { do: "deleteOrder", order: name });
  }
  await workspace.ask("order", [refreshed]);
  await workspace.sync("refresh");
  assert.deepEqual(
    await workspace.orderIds(),
    stored.filter((id) => id !== refreshed),
  );
  await workspace.sync("backfill");
  assert.deepEqual(
    await workspace.orderIds(),
    stored.filter((id) => id !== refreshed && id !== listed),
  );
});

test("an app that loses read_all_orders keeps what it has read, and catches up when it is granted again", async () => {
  await grant(LIMITED);
  await complete.ask("order", await complete.orderIds());
  const { notes } = await complete.sync("refresh");
  assert.match(notes[0] ?? "", /: earlier orders stay as they were last read\.$/u);
  assert.deepEqual(await complete.cohorts(), undisturbed);
  await complete.sync("backfill");
  assert.deepEqual(await complete.cohorts(), undisturbed);

  await grant(ALL);
  assert.deepEqual((await complete.sync("incremental")).notes[0], GRANTED_NOTE);
  assert.deepEqual(await requestsOf(complete), ["backfill"]);
});

test("M5: without read_all_orders figures begin with the first whole month, which remains the first", async (context) => {
  const own = await openShopifySync(context, { ...SHOP, scopes: LIMITED });
  const workspace = await own.connect();
  const { counts, notes } = await workspace.sync("backfill");
  assert.equal(notes[0], LIMIT_NOTE);
  const stored = await workspace.orderIds();
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
  assert.equal((await workspace.orderIds()).length, stored.length + 1);
  await own.simulator.control("clock", { advanceSeconds: 40 * 86_400 });
  assert.equal((await workspace.sync("backfill")).notes[0], LIMIT_NOTE);
  assert.equal((await workspace.orderIds()).length, stored.length + 1);

  assert.deepEqual(await requestsOf(workspace, own), []);
  await grant(ALL, own);
  assert.equal((await workspace.sync("incremental")).notes[0], GRANTED_NOTE);
  assert.deepEqual(await requestsOf(workspace, own), ["backfill"]);
  assert.equal((await workspace.orderIds()).length, stored.length + 1);
  const whole = await workspace.sync("backfill");
  assert.equal(whole.counts["orders"], SHOP.orders + 2);
  assert.doesNotMatch(whole.notes.join(), /read_all_orders/u);
  await own.shop.rows("delete from sync_request where shop_key = $1", [workspace.shopKey]);
  await workspace.sync("incremental");
  assert.deepEqual(await requestsOf(workspace, own), []);
});

test("days that were not read while they were shown are reported with every run", async (context) => {
  const own = await openShopifySync(context, { seed: 64, orders: 100, products: 10, scopes: LIMITED });
  const workspace = await own.connect();
  await workspace.sync("backfill");
  await own.simulator.control("clock", { advanceSeconds: 100 * 86_400 });
  for (const kind of ["incremental", "refresh"] as const) {
    assert.match(
      (await workspace.sync(kind)).notes[1] ?? "",
      /^Nothing was read between 2026-06-01 and 2026-07-13, and Shopify no longer shows those days: /u,
    );
  }
});

test("a backfill that began under other scopes starts over", async () => {
  await grant(LIMITED);
  const granted = await sync.connect();
  await granted.stopAt("backfill", "cohorts");
  await grant(ALL);
  assert.doesNotMatch((await granted.sync("incremental")).notes.join(), /60 days/u);
  assert.equal((await granted.orderIds()).length, SHOP.orders);
  assert.deepEqual(await granted.cohorts(), undisturbed);

  const lost = await sync.connect();
  await lost.stopAt("backfill", "cohorts");
  await grant(LIMITED);
  assert.equal((await lost.sync("incremental")).notes[0], LIMIT_NOTE);
  assert.ok((await lost.orderIds()).length < 40);
  await grant(ALL);
});

test("a backfill that began with another metafield starts over", async (context) => {
  const { connect, shop } = await openShopifySync(context, { seed: 65, orders: 20, products: 15 });
  const settings = { familyMetafield: "custom.analytics_family" };
  const expected = await connect();
  await expected.sync("backfill", { settings });
  const plain = await connect();
  await plain.sync("backfill");
  const changed = await connect();
  await changed.stopAt("backfill", "cohorts");
  await changed.sync("incremental", { settings });
  const families = ({ shopKey }: ShopifyWorkspace) =>
    shop.rows("select product_gid, family from product where shop_key = $1 order by product_gid", [shopKey]);
  assert.notDeepEqual(await families(expected), await families(plain));
  assert.deepEqual(await families(changed), await families(expected));
});
