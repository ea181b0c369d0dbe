import { OPERATOR } from "../src/control/actor.ts";
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { runAction } from "../src/actions/action.ts";
import { openTestKeys } from "./support/secret.ts";
import { textInput } from "../src/actions/field.ts";
import { disconnectSource, requestSync } from "../src/actions/sources/actions.ts";
import { requireWorkspace } from "../src/control/workspace.ts";
import { findConnection } from "../src/store/queries/data-source.ts";
import { lockShop } from "../src/store/queries/import-stage.ts";
import { putAccount } from "../src/store/queries/shop-account.ts";
import { eraseWorkspace } from "../src/store/queries/workspace-erase.ts";
import { SourceRefused } from "../src/sync/connector.ts";
import type { Connector, SyncContext } from "../src/sync/connector.ts";
import type { SyncKind } from "../src/store/queries/sync-request.ts";
import { publishLabelRun, publishStoreRun } from "../src/sync/publish.ts";
import { requestRun } from "../src/store/queries/sync-request.ts";
import type { RunResult } from "../src/sync/runs.ts";
import { receiveWebhook } from "../src/sync/connectors/shopify/webhooks/receive.ts";
import { openControlDatabase } from "./support/control.ts";
import { use } from "./support/use.ts";
import {
  connect,
  connectedShop,
  runNext,
  runScheduled,
  TEST_SEALING_KEY,
  workerOptions,
} from "./support/worker.ts";

const control = use(openControlDatabase);

const NOW = new Date("2026-07-01T06:00:00Z");
const logs: string[] = [];

/** Runs what is due; `meanwhile` happens after the source was read and before that is published. */
async function run(
  shopKey: number,
  meanwhile: (context: SyncContext) => Promise<unknown> = async () => {},
  source: "shopify" | "loop" = "shopify",
): Promise<RunResult | null> {
  const kind = source === "shopify" ? "store" : "label_cost";
  const connector: Connector = {
    source,
    kind,
    sync: async (context) => {
      await context.credentials.read();
      await meanwhile(context);
      const { database, currencyCode } = context;
      const common = { shopKey, source, asOf: NOW, isChanged: true };
      await database.transaction(async (connection) => {
        await lockShop(connection, shopKey);
        await connection.client.query(
          "insert into order_reference (shop_key, order_id, order_name) values ($1, $2, '#1')",
          [shopKey, `order ${context.kind}`],
        );
        if (kind === "store") await publishStoreRun(connection, { ...common, backfilledOrders: null });
        else await publishLabelRun(connection, { ...common, currencyCode });
      });
      return { counts: {}, notes: [] };
    },
  };
  return runNext(workerOptions(control, [connector], logs), { shopKey, source });
}

const ask = (shopKey: number, kind: SyncKind, source = "shopify") =>
  requestRun(control.database, { shopKey, source, kind, requestedBy: "operator" });

const stateOf = async (shopKey: number, source = "shopify") => {
  const { rows } = await control.pool.query<Record<string, unknown>>(
    `select w.readiness, s.status, s.last_synced_at is not null as is_read,
            (select count(*)::integer from sync_request r where r.shop_key = s.shop_key) as requests
       from workspace w join data_source s using (shop_key) where shop_key = $1 and s.source = $2`,
    [shopKey, source],
  );
  return rows[0];
};

const callerOf = async (domain: string) => ({
  database: control.database,
  keys: await openTestKeys(control.database),
  actor: OPERATOR,
  workspace: await requireWorkspace(control.database, domain),
  now: new Date(),
});

const disconnect = async (domain: string, source = "shopify") =>
  (await runAction(disconnectSource, await callerOf(domain), textInput({ source }))).result;

/** The shop uninstalls the app. */
async function uninstall(shopKey: number): Promise<void> {
  const shop = `shop-${shopKey}.myshopify.com`;
  await control.pool.query(
    "update data_source set settings = settings || jsonb_build_object('shop', $2::text) where shop_key = $1",
    [shopKey, shop],
  );
  await putAccount(control.database, shopKey, "shopify", shop);
  const body = Buffer.from(JSON.stringify({ id: 1, myshopify_domain: shop }));
  const signature = createHmac("sha256", "app-secret").update(body).digest("base64");
  const answer = await receiveWebhook(
    {
      database: control.database,
      sealingKey: TEST_SEALING_KEY,
      clientId: "app-id",
      clientSecret: "app-secret",
      log: workerOptions(control, []).log,
    },
    { topic: "app/uninstalled", shop, webhookId: "uninstall", triggeredAt: null, signature, body },
  );
  assert.deepEqual(answer, { status: 200 });
}

test("a source that is disconnected while it is read stays disconnected; what was read is served", async () => {
  const { shopKey, domain } = await connectedShop(control, [["shopify", "store"]]);
  await ask(shopKey, "backfill");
  const result = await run(shopKey, () => disconnect(domain));
  assert.equal(result?.status, "succeeded");
  const state = { readiness: "ready", status: "disconnected", is_read: true, requests: 0 };
  assert.deepEqual(await stateOf(shopKey), state);
  await runScheduled(control, workerOptions(control, []), "stores");
  assert.deepEqual(await stateOf(shopKey), state, "the clock asks for nothing");
});

test("a label source that is disconnected while it is read stays disconnected", async () => {
  const { shopKey, domain } = await connectedShop(control, [["loop", "label_cost"]]);
  await ask(shopKey, "backfill", "loop");
  await run(shopKey, () => disconnect(domain, "loop"), "loop");
  assert.equal((await stateOf(shopKey, "loop"))?.["status"], "disconnected");
});

test("an operator's disconnecting ends no serving, whatever run fails because of it or is asked for after", async () => {
  const { shopKey, domain } = await connectedShop(control, [["shopify", "store"]]);
  await ask(shopKey, "backfill");
  await run(shopKey);
  await ask(shopKey, "incremental");
  const result = await run(shopKey, async (context) => {
    await disconnect(domain);
    await context.credentials.read();
  });
  assert.equal(result?.status, "failed");
  const state = { readiness: "ready", status: "disconnected", is_read: true, requests: 0 };
  assert.deepEqual(await stateOf(shopKey), state);
  await assert.rejects(
    runAction(requestSync, await callerOf(domain), textInput({ source: "shopify" })),
    /is not connected to "shopify"; it is connected to no source\./u,
  );
  await ask(shopKey, "incremental");
  assert.equal(await run(shopKey), null, "a request that came through all the same begins no run");
  assert.deepEqual(await stateOf(shopKey), state);
});

test("an app that is uninstalled while its shop is read leaves the workspace waiting to be connected", async () => {
  for (const kind of ["backfill", "incremental"] as const) {
    const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
    await ask(shopKey, kind);
    await run(shopKey, () => uninstall(shopKey));
    assert.deepEqual(
      await stateOf(shopKey),
      { readiness: "reconnecting", status: "disconnected", is_read: true, requests: 0 },
      kind,
    );
  }
});

test("a refusal of credentials that were replaced meanwhile does not end the new connection", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  await ask(shopKey, "backfill");
  const result = await run(shopKey, async () => {
    await connect(control, shopKey, "shopify", "store");
    await control.pool.query(
      `update data_source set settings = '{"connectedAt": "2026-07-01T05:00:00Z"}' where shop_key = $1`,
      [shopKey],
    );
    throw new SourceRefused("The source refuses the token: connect it again.");
  });
  assert.equal(result?.status, "failed");
  const state = await stateOf(shopKey);
  assert.deepEqual([state?.["requests"], state?.["readiness"]], [1, "backfilling"]);
  assert.notEqual((await findConnection(control.database, shopKey, "shopify"))?.status, "disconnected");
});

test("a run whose workspace was erased while it read writes nothing, and ends without a fault", async () => {
  for (const source of ["shopify", "loop"] as const) {
    const kind = source === "shopify" ? "store" : "label_cost";
    const { shopKey } = await connectedShop(control, [[source, kind]]);
    await ask(shopKey, "backfill", source);
    const result = await run(
      shopKey,
      ({ database }) =>
        database.transaction(async (connection) => {
          await lockShop(connection, shopKey);
          await eraseWorkspace(connection, shopKey);
        }),
      source,
    );
    assert.equal(result?.status, "failed");
    for (const table of ["order_reference", "sync_run", "data_source"]) {
      const { rows } = await control.pool.query(`select from ${table} where shop_key = $1`, [shopKey]);
      assert.equal(rows.length, 0, table);
    }
    const runLogs = logs.filter((line) => line.includes(result?.runId ?? "-"));
    assert.ok(runLogs.length > 0 && !runLogs.some((line) => line.includes("unexpectedly")), runLogs.join(""));
  }
});
