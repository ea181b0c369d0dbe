import { OPERATOR } from "../src/actions/actor.ts";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { startShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { startInstallationWorker, type InstallationWorker } from "../src/app.ts";
import { readConfig } from "../src/config.ts";
import { runAction } from "../src/actions/action.ts";
import { textInput } from "../src/actions/field.ts";
import { connectApproved, connectSource } from "../src/actions/sources/connect.ts";
import { SHOPIFY_SOURCE } from "../src/sync/connectors/shopify/connector.ts";
import { serviceEnvironment, startTestService } from "./support/service.ts";
import { approvedTokens } from "./support/shopify-approval.ts";
import { askShop } from "./support/shopify-sync.ts";
import { APP, APP_OPTIONS } from "./support/webhooks.ts";
import { makeWorkspace } from "./support/workspace.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { before, use } from "./support/use.ts";

const DOMAIN = "lamps.example";
const LONGEST_WAIT_MS = 30_000;

const service = use(() => startTestService(APP_OPTIONS));
const simulator = use(() => startShopifySimulator({ ...APP, orders: 60, products: 8, bulkMillis: 5 }));
let worker: InstallationWorker;
let shopKey: number;
before(async () => {
  const { keys } = service;
  const { database } = service.installation;
  const workspace = await makeWorkspace(database, DOMAIN);
  shopKey = workspace.shop_key;
  const connecting = { publicUrl: service.address, app: APP };
  const caller = { database, keys, connecting, workspace, actor: OPERATOR, now: new Date() };
  const given = { source: "shopify", address: simulator.url, "secret-accessToken": simulator.token };
  await runAction(connectSource, caller, textInput(given));
  const config = readConfig({ ...serviceEnvironment(service.databaseUrl), ...APP_OPTIONS });
  const logger = pino({ level: "trace" }, { write: (line: string) => void service.logs.push(line) });
  worker = await startInstallationWorker(config, service.installation, logger);
});
after(() => worker.stop());

/** One value of the workspace, by SQL. */
async function valueOf(sql: string): Promise<unknown> {
  const { rows } = await service.database.query<{ value: unknown }>(sql, [shopKey]);
  return rows[0]?.value;
}

/** Waits until a query gives a value. Runs of webhooks are made due at once; another test covers their wait. */
async function until(sql: string, expected: unknown): Promise<void> {
  const deadline = Date.now() + LONGEST_WAIT_MS;
  for (;;) {
    await service.database.query(
      "update sync_request set run_after = now() where shop_key = $1 and requested_by = 'webhook' and failures = 0",
      [shopKey],
    );
    await service.database.query(
      `update run_queue q set due_at = now()
        where q.shop_key = $1 and q.due_at > now()
          and exists (select 1 from sync_request r where r.shop_key = $1 and r.run_after <= now())`,
      [shopKey],
    );
    const value = await valueOf(sql);
    if (value === expected) return;
    if (Date.now() > deadline) assert.equal(value, expected, `${sql}\n${service.logs.slice(-20).join("")}`);
    await sleep(100);
  }
}

const deliver = async (messages?: { topic: string; payload: unknown }[]): Promise<void> => {
  const deliveries = await simulator.control("deliver", messages === undefined ? {} : { messages });
  assert.ok(deliveries.length > 0);
  for (const { topic, status } of deliveries) assert.equal(status, 200, topic);
};

const READINESS = "select readiness as value from workspace where shop_key = $1";
const PURCHASE = "select purchase ->> 'is_active' as value from workspace where shop_key = $1";
const BILLING = "select billing_status as value from workspace where shop_key = $1";
const ASKED = "select count(*)::integer as value from sync_request where shop_key = $1";
const PENDING = "select count(*)::integer as value from pending_record where shop_key = $1";
const SOLD = "select coalesce(sum(sold_units), 0)::integer as value from order_line where shop_key = $1";
const REFUNDS =
  "select coalesce(sum(refunded_units), 0)::integer as value from return_event where shop_key = $1";

test("a connected shop is read and becomes ready without further action", async () => {
  await until(READINESS, "ready");
  await until(ASKED, 0);
  assert.equal(await valueOf("select count(*) > 40 as value from order_document where shop_key = $1"), true);
});

test("a refund that a webhook announces is fetched and counted", async () => {
  const refunded = (await valueOf(REFUNDS)) as number;
  const { order } = (await simulator.control("find-order", { with: "refundable" })) ?? { order: 0 };
  await simulator.control("change", { do: "refund", order, line: 0, units: 1, restockType: "RETURN" });
  await deliver();
  await until(REFUNDS, refunded + 1);
  await until(PENDING, 0);
});

test("two changes of an order within minutes are both fetched", async () => {
  const { order } = (await simulator.control("find-order", { with: "refundable" })) ?? { order: 0 };
  const sold = (await valueOf(SOLD)) as number;
  for (const added of [1, 2]) {
    await simulator.control("change", { do: "addLine", order, product: 1, units: 1 });
    await deliver();
    await until(SOLD, sold + added);
    await until(PENDING, 0);
    await simulator.control("clock", { advanceSeconds: 60 });
  }
});

test("a webhook that names a return without its order causes a run that reads the order", async () => {
  const { order } = (await simulator.control("find-order", { with: "returnable" })) ?? { order: 0 };
  const change = { do: "openReturn", order, line: 0, units: 1, approved: true } as const;
  await simulator.control("change", change);
  await simulator.control("drop-messages", {});
  const { id } = (await simulator.control("order", { order })) as { id: string };
  const query = `query Q { order(id: "${id}") { returns(first: 1) { nodes { id } } } }`;
  const answer = (await askShop(simulator, query)) as {
    data: { order: { returns: { nodes: { id: string }[] } } };
  };
  const [{ id: returnId } = { id: "" }] = answer.data.order.returns.nodes;
  const stored = `select (document::text like '%${returnId}%') as value from order_document
                   where shop_key = $1 and order_id like '%${id.split("/").at(-1)}'`;
  assert.equal(await valueOf(stored), false);
  await deliver([{ topic: "RETURNS_UPDATE", payload: { admin_graphql_api_id: returnId } }]);
  await until(stored, true);
  await until(PENDING, 0);
});

test("billing follows the actual subscription, not the last delivery", async () => {
  await simulator.control("billing", { status: "ACTIVE", currentPeriodEnd: "2026-07-01T00:00:00Z" });
  await deliver();
  await until(PURCHASE, "true");
  await simulator.control("billing", { status: "CANCELLED" });
  await simulator.control("drop-messages", {});
  const old = { admin_graphql_api_id: "gid://shopify/AppSubscription/1", status: "ACTIVE" };
  await deliver([{ topic: "APP_SUBSCRIPTIONS_UPDATE", payload: { app_subscription: old } }]);
  await until(PURCHASE, "false");
  assert.equal(await valueOf(BILLING), "active");
});

test("a revoked token is reported in one sentence, and after connecting again nothing is missing", async () => {
  const refunded = (await valueOf(REFUNDS)) as number;
  await simulator.control("revoke-tokens", {});
  const { order } = (await simulator.control("find-order", { with: "refundable" })) ?? { order: 0 };
  await simulator.control("change", { do: "refund", order, line: 0, units: 1, restockType: "RETURN" });
  await deliver();
  await until(READINESS, "reconnecting");
  const error = await valueOf(
    "select last_error as value from data_source where shop_key = $1 and source = 'shopify'",
  );
  assert.match(
    String(error),
    /^Shopify no longer accepts the access token of this app: connect the shop again\.$/u,
  );
  assert.ok(!service.logs.join("").includes(simulator.token));

  const { keys } = service;
  const { database } = service.installation;
  const workspace = await requireWorkspace(database, DOMAIN);
  const connecting = { publicUrl: null, app: APP };
  const secrets = await approvedTokens(simulator);
  const approved = { source: SHOPIFY_SOURCE, shop: null, url: simulator.url, settings: {}, secrets };
  const caller = { database, keys, connecting, workspace, actor: OPERATOR, now: new Date(), approved };
  await runAction(connectApproved, caller, textInput({}));
  await until(READINESS, "ready");
  await until(REFUNDS, refunded + 1);
});
