import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { beforeEach, test } from "node:test";
import { pino } from "pino";
import { runAction } from "../src/actions/action.ts";
import { OPERATOR } from "../src/actions/actor.ts";
import { textInput } from "../src/actions/field.ts";
import { disconnectSource, requestSync } from "../src/actions/sources/actions.ts";
import { setWindows } from "../src/actions/workspace/settings.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { within } from "../src/lib/within.ts";
import { findConnection, putAccount } from "../src/store/queries/data-source.ts";
import { lockWorkspace } from "../src/store/queries/import-stage.ts";
import { finishTask, listNextPolls, takeDueTask } from "../src/store/queries/run-queue.ts";
import { requestRun, type SyncKind } from "../src/store/queries/sync-request.ts";
import { eraseWorkspace } from "../src/store/queries/workspace-erase.ts";
import { SourceRefused, type Connector, type SyncContext } from "../src/sync/connector.ts";
import { receiveWebhook } from "../src/sync/connectors/shopify/webhooks/receive.ts";
import { publishLabelRun, publishStoreRun } from "../src/sync/publish.ts";
import type { RunResult } from "../src/sync/runs.ts";
import { openControlDatabase } from "./support/control.ts";
import { refuseRows } from "./support/refused-rows.ts";
import { openTestKeys } from "./support/secret.ts";
import { withoutTable } from "./support/table-away.ts";
import { use } from "./support/use.ts";
import {
  connect,
  connectedShop,
  DEFAULT_RETENTION,
  eventually,
  keepAllInOrder,
  makeDue,
  runNext,
  runScheduled,
  TEST_SEALING_KEY,
  withWorker,
  workerOptions,
  type SourceTask,
} from "./support/worker.ts";

const control = use(openControlDatabase);

beforeEach(async () => {
  await control.pool.query("truncate workspace cascade");
  await control.pool.query("truncate run_queue, shop_account, shop_directory");
});

const NOW = new Date("2026-07-01T06:00:00Z");
const logs: string[] = [];

const keepInOrder = (now = NOW) =>
  keepAllInOrder({
    database: control.database,
    now: () => now,
    log: pino({ level: "trace" }, { write: (line: string) => void logs.push(line) }),
    retention: DEFAULT_RETENTION,
  });

const look = (task: SourceTask) => runScheduled(control, workerOptions(control, [], logs), task);

const requests = async (): Promise<string[]> => {
  const { rows } = await control.pool.query<{ text: string }>(
    "select concat_ws(' ', shop_key, source, kind, requested_by) as text from sync_request order by 1",
  );
  return rows.map((row) => row.text);
};

test("a connection that was never read gets a backfill, later incremental runs; a refused one waits", async () => {
  const both = [
    ["shopify", "store"],
    ["loop", "label_cost"],
  ] as const;
  const fresh = await connectedShop(control, both);
  const known = await connectedShop(control, both);
  const refused = await connectedShop(control, both);
  await control.pool.query("update data_source set last_synced_at = now() where shop_key = $1", [
    known.shopKey,
  ]);
  await control.pool.query("update data_source set status = 'disconnected' where shop_key = $1", [
    refused.shopKey,
  ]);
  const without = await connectedShop(control, both);
  await control.pool.query("update data_source set sealed_credentials = null where shop_key = $1", [
    without.shopKey,
  ]);
  await control.pool.query(
    "insert into data_source (shop_key, source, kind) values ($1, 'csv', 'store'), ($2, 'csv', 'store')",
    [fresh.shopKey, known.shopKey],
  );
  await look("stores");
  const ofStores = [
    `${fresh.shopKey} shopify backfill schedule`,
    `${known.shopKey} shopify incremental schedule`,
  ];
  assert.deepEqual(await requests(), ofStores);
  await look("stores");
  assert.deepEqual(await requests(), ofStores, "a second time they are asked for already");
  await look("labels");
  const ofLabels = [`${fresh.shopKey} loop backfill schedule`, `${known.shopKey} loop incremental schedule`];
  assert.deepEqual(await requests(), [...ofStores, ...ofLabels].toSorted());
  await look("open_returns");
  const ofReturns = [`${known.shopKey} shopify open_returns schedule`];
  assert.deepEqual(await requests(), [...ofStores, ...ofLabels, ...ofReturns].toSorted());
});

test("every workspace's alerts are evaluated, past one that fails", async () => {
  const shops = await Promise.all([1, 2, 3].map(() => connectedShop(control, [["shopify", "store"]])));
  await control.pool.query(
    "update data_source set last_synced_at = '2026-06-01T00:00:00Z', created_at = '2026-01-01T00:00:00Z'",
  );
  const [first, ...others] = shops.map((shop) => shop.shopKey).toSorted((one, other) => one - other);
  const name = "this_workspace_takes_no_alert";
  const takeBack = await refuseRows(control.pool, "alert", name, `shop_key = ${first}`);
  const alerts = async (): Promise<number[]> => {
    const text = "select shop_key from alert where category = 'connection_stale' order by 1";
    const { rows } = await control.pool.query<{ shop_key: string }>(text);
    return rows.map((row) => Number(row.shop_key));
  };
  const failures = await keepInOrder();
  assert.deepEqual(await alerts(), others);
  assert.match(String(failures), /this_workspace_takes_no_alert/u);
  await takeBack();
  assert.deepEqual(await keepInOrder(new Date(NOW.getTime() + 3_600_000)), []);
  assert.equal((await alerts()).length, 3, "told once each");
});

test("a run that is writing a workspace's data delays neither its upkeep nor a change of its settings", async () => {
  const { shopKey, domain } = await connectedShop(control, [["shopify", "store"]]);
  await control.pool.query(
    "update data_source set last_synced_at = '2026-06-01T00:00:00Z', created_at = '2026-01-01T00:00:00Z'",
  );
  await control.pool.query(
    `insert into webhook_delivery (shop_key, source, webhook_id, topic, received_at)
     values ($1, 'shopify', 'old', 't', '2026-06-24T05:00Z')`,
    [shopKey],
  );
  const count = async (table: string): Promise<number> =>
    (await control.pool.query(`select from ${table} where shop_key = $1`, [shopKey])).rows.length;
  const windows = textInput({ primary_window_days: "45", min_sold_units: "5" });
  await control.database.transaction(async (connection) => {
    await lockWorkspace(connection, shopKey);
    assert.deepEqual(await within(5000, keepInOrder()), []);
    await within(5000, runAction(setWindows, await callerOf(domain), windows));
  });
  assert.deepEqual([await count("webhook_delivery"), await count("alert")], [0, 0]);
  await keepInOrder();
  assert.equal(await count("alert"), 1, "the next check evaluates its alerts");
});

test("upkeep deletes runs after 90 days, those of webhooks and deliveries after 7, and no open ones", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  await control.pool.query(
    `insert into sync_run (shop_key, run_id, source, kind, requested_by, status, started_at)
     select $1, gen_random_uuid(), 'shopify', kind, 'schedule', status, started_at::timestamptz
       from (values ('incremental', 'succeeded', '2026-04-02T05:00Z'),
                    ('incremental', 'failed', '2026-04-02T07:00Z'),
                    ('incremental', 'running', '2026-01-01T00:00Z'),
                    ('refresh', 'succeeded', '2026-06-24T05:00Z'), ('refresh', 'succeeded', '2026-06-24T07:00Z'),
                    ('refresh', 'running', '2026-01-02T00:00Z')) r (kind, status, started_at)`,
    [shopKey],
  );
  await control.pool.query(
    `insert into webhook_delivery (shop_key, source, webhook_id, topic, received_at)
     values ($1, 'shopify', 'old', 't', '2026-06-24T05:00Z'), ($1, 'shopify', 'new', 't', '2026-06-24T07:00Z')`,
    [shopKey],
  );
  assert.deepEqual(await keepInOrder(), []);
  const runs = await control.pool.query<{ run: string }>(
    "select kind || ' ' || status as run from sync_run order by started_at",
  );
  assert.deepEqual(
    runs.rows.map(({ run: left }) => left),
    ["incremental running", "refresh running", "incremental failed", "refresh succeeded"],
  );
  const deliveries = await control.pool.query("select webhook_id from webhook_delivery");
  assert.deepEqual(deliveries.rows, [{ webhook_id: "new" }]);
});

test("each task is due at its times of the day, in UTC; all but upkeep are for workers of the previous version", async () => {
  const { rows } = await control.pool.query<{ task: string; times: string[] }>(
    `select s.task, array_agg(distinct to_char(date_bin(s.period, minute, s.first_at) at time zone 'UTC', 'HH24:MI'))
              filter (where date_bin(s.period, minute, s.first_at) = minute) as times
       from schedule s, generate_series('2026-07-01 00:00Z'::timestamptz, '2026-07-01 23:59Z', '1 minute') minute
      group by s.task`,
  );
  const hours = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, "0"));
  const at = (...minutes: string[]): string[] =>
    hours.flatMap((hour) => minutes.map((minute) => `${hour}:${minute}`));
  assert.deepEqual(Object.fromEntries(rows.map(({ task, times }) => [task, times])), {
    stores: at("00", "15", "30", "45"),
    open_returns: ["03:20"],
    labels: at("10"),
    alerts: at("40"),
    upkeep: at("50"),
  });
});

/** Makes the installation's upkeep overdue, by twelve times or more. */
async function missUpkeep(): Promise<void> {
  // Computed here: a Citus refuses intervals of a column in an update.
  const doneUntil = new Date(Date.now() - 12 * 3_600_000);
  await control.pool.query("update schedule set done_until = $1 where task = 'upkeep'", [doneUntil]);
}

/** How often the store's backfill was requested: once each time that it was due. */
async function askedFor(shopKey: number): Promise<number> {
  const text = "select asked from sync_request where shop_key = $1";
  const { rows } = await control.pool.query<{ asked: string }>(text, [shopKey]);
  return Number(rows[0]?.asked ?? 0);
}

const isDone = async (): Promise<boolean> =>
  (await control.pool.query("select from schedule where task = 'upkeep' and done_until > now() - period"))
    .rows.length === 1;

/** A worker whose runs fail, so that requests stay and can be counted. */
const scheduled = () => ({ ...workerOptions(control, [], logs), hasSchedule: true, firstRetryMs: 600_000 });

test("one of several workers does a due task, once for all missed times", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  await missUpkeep();
  await makeDue(control, "stores");
  await withWorker(scheduled(), () =>
    withWorker(scheduled(), () =>
      withWorker(scheduled(), async () => {
        await eventually(isDone, "the task");
        // By then each worker has polled several more times.
        await eventually(async () => (await takeDueTask(control.database)) === null, "nothing is due");
        await eventually(
          async () =>
            (await control.pool.query("select from sync_run where status = 'failed'")).rows.length === 1,
          "its run",
        );
        assert.equal(await askedFor(shopKey), 1);
      }),
    ),
  );
});

test("a task belongs to the worker that does it, and if that is killed to the next one", async () => {
  await missUpkeep();
  const killed = control.database.transaction(async (connection) => {
    const due = await takeDueTask(connection);
    assert.equal(due?.task, "upkeep");
    assert.equal(await takeDueTask(control.database), null, "nobody else does it meanwhile");
    const { rows } = await connection.client.query<{ pid: number }>("select pg_backend_pid() as pid");
    await control.pool.query("select pg_terminate_backend($1::integer, 10000)", [rows[0]?.pid]);
    if (due !== null) await finishTask(connection, due);
  });
  await assert.rejects(killed);
  await withWorker(scheduled(), async () => {
    await eventually(isDone, "another worker does it");
  });
});

test("a failed task is logged, and repeated when it is next due", async () => {
  await missUpkeep();
  await withoutTable(control.pool, "console_link", () =>
    withWorker(scheduled(), async () => {
      await eventually(isDone, "its time has passed");
    }),
  );
  const failures = logs.filter(
    (line) => line.includes('"task":"upkeep"') && line.includes("does its work too"),
  );
  assert.equal(failures.length, 1);
});

test("the number of a store's orders decides how often it is polled; if webhooks reported everything, it is polled rarely", async () => {
  const minutesAfter = async (poll: { weekOrders: number; isTold: boolean; isChanged: boolean }) => {
    const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
    await control.pool.query(
      "update data_source set last_synced_at = now() - interval '1 hour' where shop_key = $1",
      [shopKey],
    );
    await control.pool.query(
      `insert into group_day (shop_key, entity_kind, entity_key, sold_on, sold_units, sold_lines, orders)
       select $1, 'workspace', '', current_date - n, 0, 0, $2 from (values (1), (8)) d (n)`,
      [shopKey, poll.weekOrders],
    );
    const hoursAgo = poll.isTold ? 0.5 : 2;
    await control.pool.query(
      `insert into webhook_delivery (shop_key, source, webhook_id, topic, received_at)
       values ($1, 'shopify', 'one', 'orders/updated', now() - $2 * interval '1 hour')`,
      [shopKey, hoursAgo],
    );
    const connector: Connector = {
      source: "shopify",
      kind: "store",
      sync: async () => ({ counts: {}, notes: [], isChanged: poll.isChanged }),
    };
    await runScheduled(control, workerOptions(control, [connector], logs), "stores");
    const [next] = await listNextPolls(control.database, shopKey);
    return ((next?.next_at.getTime() ?? Number.NaN) - Date.now()) / 60_000;
  };
  const isWithin = (minutes: number, interval: number): void =>
    assert.ok(minutes > interval * 0.84 && minutes <= interval * 0.95, `${minutes} of ${interval} minutes`);
  isWithin(await minutesAfter({ weekOrders: 700, isTold: false, isChanged: false }), 15);
  isWithin(await minutesAfter({ weekOrders: 84, isTold: false, isChanged: false }), 120);
  isWithin(await minutesAfter({ weekOrders: 700, isTold: true, isChanged: true }), 15);
  isWithin(await minutesAfter({ weekOrders: 700, isTold: true, isChanged: false }), 720);
});

/** Runs what is due; `meanwhile` happens after the source was read and before the result is published. */
async function runDue(
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
        await lockWorkspace(connection, shopKey);
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

test("a source that is disconnected while it is read stays disconnected; the data that was read is served", async () => {
  const { shopKey, domain } = await connectedShop(control, [["shopify", "store"]]);
  await ask(shopKey, "backfill");
  const result = await runDue(shopKey, () => disconnect(domain));
  assert.equal(result?.status, "succeeded");
  const state = { readiness: "ready", status: "disconnected", is_read: true, requests: 0 };
  assert.deepEqual(await stateOf(shopKey), state);
  await runScheduled(control, workerOptions(control, []), "stores");
  assert.deepEqual(await stateOf(shopKey), state, "the clock asks for nothing");
});

test("a label source that is disconnected while it is read stays disconnected", async () => {
  const { shopKey, domain } = await connectedShop(control, [["loop", "label_cost"]]);
  await ask(shopKey, "backfill", "loop");
  await runDue(shopKey, () => disconnect(domain, "loop"), "loop");
  assert.equal((await stateOf(shopKey, "loop"))?.["status"], "disconnected");
});

test("a disconnection by the operator does not stop serving, whatever fails because of it or is requested later", async () => {
  const { shopKey, domain } = await connectedShop(control, [["shopify", "store"]]);
  await ask(shopKey, "backfill");
  await runDue(shopKey);
  await ask(shopKey, "incremental");
  const result = await runDue(shopKey, async (context) => {
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
  assert.equal(await runDue(shopKey), null, "a request that came through all the same begins no run");
  assert.deepEqual(await stateOf(shopKey), state);
});

test("an app that is uninstalled while its shop is read leaves the workspace waiting to be connected", async () => {
  for (const kind of ["backfill", "incremental"] as const) {
    const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
    await ask(shopKey, kind);
    await runDue(shopKey, () => uninstall(shopKey));
    assert.deepEqual(
      await stateOf(shopKey),
      { readiness: "reconnecting", status: "disconnected", is_read: true, requests: 0 },
      kind,
    );
  }
});

test("a refusal of credentials that were replaced in the meantime does not end the new connection", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  await ask(shopKey, "backfill");
  const result = await runDue(shopKey, async () => {
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

test("a run whose workspace was erased while it read writes nothing, and ends without an error", async () => {
  for (const source of ["shopify", "loop"] as const) {
    const kind = source === "shopify" ? "store" : "label_cost";
    const { shopKey } = await connectedShop(control, [[source, kind]]);
    await ask(shopKey, "backfill", source);
    const result = await runDue(
      shopKey,
      ({ database }) =>
        database.transaction(async (connection) => {
          await lockWorkspace(connection, shopKey);
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
