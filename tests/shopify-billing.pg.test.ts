import assert from "node:assert/strict";
import { test } from "node:test";
import { updateWorkspace, workspaceHealth } from "../src/store/queries/workspace-directory.ts";
import type { AppSubscription } from "../tools/simulators/shopify/shop.ts";
import { startShopifySync, type ShopifyWorkspace } from "./support/shopify-sync.ts";
import { DEFAULT_RETENTION } from "./support/worker.ts";
import { checkWorkspace } from "../src/worker/upkeep.ts";
import { use } from "./support/use.ts";

/** Plan and billing follow the shop's subscription, as each sync finds it: decision 0076. */

const PLANS = new Map([
  ["Growth", "growth"],
  ["Scale", "scale"],
]);
const shop = use(() => startShopifySync({ seed: 61, orders: 20, products: 4 }));

type Bought = Partial<AppSubscription>;

/** A new workspace on the plan enterprise; `buy` changes the shop's subscription and syncs. */
async function workspaceOf() {
  await shop.simulator.control("billing", { status: "DECLINED" });
  const workspace = await shop.connect();
  const sync = async (plans = PLANS) => {
    await workspace.sync("incremental", { plans });
    return billingOf(workspace);
  };
  await sync();
  const buy = async (bought: Bought, plans = PLANS) => {
    await shop.simulator.control("billing", { status: "ACTIVE", ...bought });
    return sync(plans);
  };
  return { workspace, sync, buy, shopKey: workspace.shopKey };
}

/** "enterprise active", and the day on which billing ends. */
async function billingOf({ shopKey }: ShopifyWorkspace): Promise<string> {
  const [row] = await shop.shop.rows<{ plan: string; billing: string; ends: Date | null }>(
    "select plan_key as plan, billing_status as billing, billing_ends_at as ends from workspace where shop_key = $1",
    [shopKey],
  );
  assert.ok(row !== undefined);
  const ends = row.ends === null ? "" : ` until ${row.ends.toISOString().slice(0, 10)}`;
  return `${row.plan} ${row.billing}${ends}`;
}

async function auditOf(shopKey: number): Promise<Record<string, unknown>[]> {
  const rows = await shop.shop.rows<{ action: string; detail: Record<string, unknown> }>(
    "select action, detail from audit_event where shop_key = $1 order by happened_at",
    [shopKey],
  );
  return rows.map(({ action, detail }) => ({ action, ...detail }));
}

/** As `workspace set` writes it. */
async function setByHand(shopKey: number, change: { plan?: string; billing?: string }): Promise<void> {
  await updateWorkspace(shop.shop.database, shopKey, change);
}

async function upkeepAt(shopKey: number, at: string): Promise<void> {
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const environment = { database: shop.shop.database, now: () => new Date(at), log };
  await checkWorkspace({ ...environment, retention: DEFAULT_RETENTION }, shopKey);
}

/** An owner of a workspace. */
async function ownerOf(shopKey: number): Promise<string> {
  const [person] = await shop.shop.rows<{ user_id: string }>(
    "insert into console_user (name) values ($1) returning user_id",
    [`owner of ${shopKey}`],
  );
  const userId = person?.user_id ?? "";
  await shop.shop.rows("insert into workspace_member (shop_key, user_id, role) values ($1, $2, 'owner')", [
    shopKey,
    userId,
  ]);
  return userId;
}

test("without a subscription nothing changes: the merchant is billed in another way", async () => {
  const { sync, shopKey } = await workspaceOf();
  assert.equal(await sync(), "enterprise active");
  await setByHand(shopKey, { billing: "inactive", plan: "starter" });
  assert.equal(await sync(), "starter inactive");
  await shop.simulator.control("billing", { status: "PENDING" });
  assert.equal(await sync(), "starter inactive");
  await shop.simulator.control("billing", { status: "DECLINED" });
  assert.equal(await sync(), "starter inactive");
});

test("a subscription sets plan and billing, another one changes them, and each is in the audit once", async () => {
  const { buy, sync, shopKey } = await workspaceOf();
  await setByHand(shopKey, { billing: "inactive" });
  assert.equal(
    await buy({ name: "Growth", trialDays: 14, currentPeriodEnd: "2026-06-15T00:00:00Z" }),
    "growth active",
  );
  assert.equal(await sync(), "growth active");
  assert.equal(await buy({ name: "Growth", currentPeriodEnd: "2026-07-15T00:00:00Z" }), "growth active");
  assert.equal(await buy({ number: 2, name: "Scale" }), "scale active");
  const audit = (await auditOf(shopKey)).filter(({ action }) => action === "plan.purchase");
  assert.deepEqual(
    audit.map(({ subscription, plan, billing }) => [subscription, plan, billing]),
    [
      ["Growth", "growth", "active"],
      ["Scale", "scale", "active"],
    ],
  );
});

test("what an operator sets by hand stays until the subscription changes", async () => {
  const { buy, sync, shopKey } = await workspaceOf();
  await buy({ name: "Growth" });
  await setByHand(shopKey, { plan: "enterprise", billing: "inactive" });
  assert.equal(await sync(), "enterprise inactive");
  assert.equal(
    await buy({ name: "Growth", currentPeriodEnd: "2026-07-15T00:00:00Z" }),
    "enterprise inactive",
  );
  assert.equal(await buy({ number: 2, name: "Growth" }), "growth active");
});

test("a subscription whose name has no plan leaves the plan, and the operator is notified once", async () => {
  const { buy, sync, shopKey } = await workspaceOf();
  assert.equal(await buy({ name: "Gold" }), "enterprise active");
  await sync();
  const audit = await auditOf(shopKey);
  assert.deepEqual(
    audit.map(({ action, subscription, mapped_plan: mapped }) => [action, subscription, mapped]),
    [["plan.purchase", "Gold", null]],
  );
  const named = async (hasPlans: boolean) =>
    (await workspaceHealth(shop.shop.database, 50, hasPlans))
      .filter(({ shop_domain: domain }) => domain === `shop-${shopKey}.example`)
      .map(({ unknown_subscription: name }) => name);
  assert.deepEqual(await named(true), ["Gold"]);
  assert.deepEqual(
    (await named(false)).filter((name) => name !== null),
    [],
  );
  // The option names it now.
  assert.equal(await sync(new Map([["Gold", "scale"]])), "scale active");
});

test("a canceled subscription stays active until the end of the paid period, a frozen one for seven days; a resumed one continues", async () => {
  const { buy, sync, shopKey } = await workspaceOf();
  await buy({ name: "Growth", currentPeriodEnd: "2026-06-20T00:00:00Z" });
  assert.equal(await buy({ name: "Growth", status: "CANCELLED" }), "growth active until 2026-06-20");
  assert.equal(await sync(), "growth active until 2026-06-20");
  assert.equal(
    await buy({ number: 2, name: "Scale", currentPeriodEnd: "2026-06-03T00:00:00Z" }),
    "scale active",
  );
  assert.equal(await buy({ number: 2, name: "Scale", status: "FROZEN" }), "scale active until 2026-06-08");
  assert.equal(await buy({ number: 2, name: "Scale" }), "scale active");
  await buy({ number: 2, name: "Scale", status: "FROZEN" });
  await setByHand(shopKey, { billing: "active" });
  assert.equal(await sync(), "scale active");
});

test("owners and admins are notified once, seven days before the end; then billing is inactive", async () => {
  const { workspace, buy, sync, shopKey } = await workspaceOf();
  const userId = await ownerOf(shopKey);
  await buy({ name: "Growth", currentPeriodEnd: "2026-06-20T00:00:00Z" });
  await buy({ name: "Growth", status: "CANCELLED" });
  const told = () =>
    shop.shop.rows<{ recipient: string; body: string }>(
      "select recipient, body from alert where shop_key = $1 and category = 'billing_end'",
      [shopKey],
    );
  await upkeepAt(shopKey, "2026-06-12T23:00:00Z");
  assert.deepEqual(await told(), []);
  for (const at of ["2026-06-13T00:00:00Z", "2026-06-14T00:00:00Z", "2026-06-19T23:59:00Z"]) {
    await upkeepAt(shopKey, at);
  }
  const [notice, ...others] = await told();
  assert.deepEqual(others, []);
  assert.equal(notice?.recipient, `user:${userId}`);
  assert.match(
    notice?.body ?? "",
    /Growth was canceled or is unpaid\. Billing ends on 2026-06-20 00:00 UTC: /u,
  );
  assert.equal(await billingOf(workspace), "growth active until 2026-06-20");
  await upkeepAt(shopKey, "2026-06-20T00:00:00Z");
  assert.equal(await billingOf(workspace), "growth inactive");
  assert.equal((await auditOf(shopKey)).at(-1)?.["action"], "billing.end");
  assert.equal(await sync(), "growth inactive");
  assert.equal(await buy({ name: "Growth" }), "growth active");
});
