import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { pino } from "pino";
import { listAccountWorkspaces } from "../src/store/directory.ts";
import type { Database, Queryable } from "../src/store/database.ts";
import { findQueued, listQueued, takeDueTask } from "../src/store/queries/run-queue.ts";
import type { QueuedRow } from "../src/store/queries/run-queue.ts";
import { requestRun } from "../src/store/queries/sync-request.ts";
import type { Connector } from "../src/sync/connector.ts";
import { pollPlace } from "../src/worker/poll.ts";
import { runTask } from "../src/worker/tasks.ts";
import { recordStatements } from "./support/asked-statements.ts";
import { loseShop } from "./support/lost-shops.ts";
import { startTestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import { APP_OPTIONS, connectShop, sendWebhook } from "./support/webhooks.ts";
import { connect, DEFAULT_RETENTION, eventually, withWorker, workerOptions } from "./support/worker.ts";
import { before, use } from "./support/use.ts";

/** A shop whose rows cannot be reached keeps no other shop from its webhooks, its runs and its upkeep. */

const service = use(() => startTestService(APP_OPTIONS));
let database: Database;
before(async () => {
  ({ database } = service.installation);
});
beforeEach(async () => {
  logs.splice(0);
  await service.database.query("truncate run_queue, shop_account, shop_directory");
});

const logs: string[] = [];
const log = pino({ level: "trace" }, { write: (line: string) => void logs.push(line) });
const loop: Connector = {
  source: "loop",
  kind: "label_cost",
  sync: async () => ({ counts: {}, notes: [] }),
};
const options = () => workerOptions({ database, url: service.installation.databaseUrl }, [loop], logs);
const accountOf = (shopKey: number): string => `shop-${shopKey}.myshopify.com`;
const HAVE_TURN = "update run_queue set due_at = now()";

/** Enough shops to have some on each node of a cluster. */
async function connectedShops(): Promise<number[]> {
  const shopKeys: number[] = [];
  for (let made = 0; made < 8; made += 1) {
    const { shopKey } = await createTenant(service.database);
    await connectShop(service, shopKey, accountOf(shopKey));
    await connect({ database }, shopKey, "loop", "label_cost");
    shopKeys.push(shopKey);
  }
  return shopKeys;
}

async function webhookStatus(shopKey: number): Promise<number> {
  const payload = { id: 1001, admin_graphql_api_id: "gid://shopify/Order/1001" };
  const response = await sendWebhook(service, { topic: "orders/updated", shop: accountOf(shopKey), payload });
  await response.text();
  return response.status;
}

async function succeeded(shopKey: number): Promise<boolean> {
  const { rows } = await service.database.query(
    "select from sync_run where shop_key = $1 and source = 'loop' and status = 'succeeded'",
    [shopKey],
  );
  return rows.length > 0;
}

test("webhooks of others are taken while a shop is out of reach, and its own afterwards", async () => {
  const { lost, others, find } = await loseShop(service.database, await connectedShops());
  assert.ok(lost.length > 0 && others.length > 0);
  try {
    for (const shopKey of lost)
      assert.equal(await webhookStatus(shopKey), 500, "the platform sends it again");
    for (const shopKey of others) assert.equal(await webhookStatus(shopKey), 200);
  } finally {
    await find();
  }
  for (const shopKey of lost) assert.equal(await webhookStatus(shopKey), 200);
});

test("the clock starts the runs of others meanwhile, says once which is away, and loses nothing", async () => {
  const { lost, others, find } = await loseShop(service.database, await connectedShops());
  const isAway = (line: string): boolean => line.includes("could not be polled");
  try {
    await runTask({ database, now: () => new Date(), log, retention: DEFAULT_RETENTION }, "labels");
    await service.database.query(HAVE_TURN);
    await withWorker(options(), async () => {
      for (const shopKey of others) await eventually(() => succeeded(shopKey), `the run of ${shopKey}`, 60);
      // Tried again and again by then: the wait has grown beyond the first.
      for (const shopKey of lost) {
        const isTried = async (): Promise<boolean> =>
          logs.filter((line) => isAway(line) && line.includes(`"shopKey":${shopKey},"source":"loop"`))
            .length > 0;
        await eventually(isTried, `a look at ${shopKey}`, 60);
      }
      const ofLoop = logs.filter((line) => isAway(line) && line.includes('"source":"loop"'));
      assert.equal(ofLoop.length, lost.length, "one line for each");
      await find();
      for (const shopKey of lost) await eventually(() => succeeded(shopKey), `the run of ${shopKey}`, 60);
    });
  } finally {
    await find();
  }
});

test("upkeep keeps others in order, and has one line for all that are away", async () => {
  const shopKeys = await connectedShops();
  for (const shopKey of shopKeys) {
    await service.database.query(
      `insert into webhook_delivery (shop_key, source, webhook_id, topic, received_at)
       values ($1, 'shopify', 'old', 't', '2026-01-01T00:00Z')`,
      [shopKey],
    );
  }
  const leftOf = async (some: readonly number[]): Promise<number> =>
    (await service.database.query("select from webhook_delivery where shop_key = any($1)", [some])).rows
      .length;
  const upkeep = () =>
    runTask({ database, now: () => new Date(), log, retention: DEFAULT_RETENTION }, "upkeep");
  const { lost, others, find } = await loseShop(service.database, shopKeys);
  // What belongs to people every node has: it waits until all answer.
  await upkeep().then(find, find);
  assert.equal(await leftOf(others), 0);
  assert.equal(await leftOf(lost), lost.length);
  const failures = logs.filter((line) => line.includes("a task failed for some shops"));
  assert.deepEqual(
    failures.map((line) => (JSON.parse(line) as { failed_shops: number }).failed_shops),
    [lost.length],
  );
  await upkeep();
  assert.equal(await leftOf(lost), 0);
});

/** The same, which crashes before one of its statements. */
function crashingBefore(name: string): Queryable {
  return {
    rows: (statement, values) =>
      statement.name === name ? Promise.reject(new Error("crash")) : database.rows(statement, values),
  };
}

const queuedOf = (shopKey: number): Promise<QueuedRow | null> => findQueued(database, shopKey, "loop");

const look = (shopKey: number, environment = options()) =>
  pollPlace(environment, {
    place: { shopKey, source: "loop" },
    stop: new AbortController().signal,
    show: () => {},
  });

test("a crash between a request and the queue leaves the request to the clock", async () => {
  const { shopKey } = await createTenant(service.database);
  await connect({ database }, shopKey, "loop", "label_cost");
  const request = { shopKey, source: "loop", kind: "backfill", requestedBy: "operator" } as const;
  await assert.rejects(requestRun(crashingBefore("wake_source"), request), /crash/u);
  assert.equal(await queuedOf(shopKey), null, "the queue does not know");
  await runTask(options(), "labels");
  await service.database.query(HAVE_TURN);
  const queued = await queuedOf(shopKey);
  assert.ok(queued !== null);
  await look(shopKey);
  assert.ok(await succeeded(shopKey));
});

test("a crash between a run and the queue makes a look more, and no run", async () => {
  const { shopKey } = await createTenant(service.database);
  await connect({ database }, shopKey, "loop", "label_cost");
  await requestRun(database, { shopKey, source: "loop", kind: "backfill", requestedBy: "operator" });
  const queued = await queuedOf(shopKey);
  assert.ok(queued !== null);
  const crashing = { ...database, ...crashingBefore("finish_poll") };
  await assert.rejects(look(shopKey, { ...options(), queueDatabase: crashing }), /crash/u);
  assert.deepEqual(await queuedOf(shopKey), queued, "it is looked at again");
  await look(shopKey);
  assert.equal(await queuedOf(shopKey), null);
  const { rows } = await service.database.query("select from sync_run where shop_key = $1", [shopKey]);
  assert.equal(rows.length, 1);
});

test("what is asked for during a look is looked at after it", async () => {
  const { shopKey } = await createTenant(service.database);
  await connect({ database }, shopKey, "loop", "label_cost");
  const request = { shopKey, source: "loop", kind: "backfill", requestedBy: "operator" } as const;
  await requestRun(database, request);
  const asking: Connector = {
    ...loop,
    sync: async () => {
      await requestRun(database, request);
      return { counts: {}, notes: [] };
    },
  };
  await look(shopKey, { ...options(), connectors: [asking] });
  assert.ok((await queuedOf(shopKey)) !== null);
});

test("a worker that claims what another has just looked at finds nothing to do", async () => {
  const { shopKey } = await createTenant(service.database);
  await connect({ database }, shopKey, "loop", "label_cost");
  await runTask(options(), "labels");
  await service.database.query(HAVE_TURN);
  await look(shopKey);
  await look(shopKey);
  const { rows } = await service.database.query("select from sync_run where shop_key = $1", [shopKey]);
  assert.equal(rows.length, 1);
});

test("what a crash has kept from directory and queue, upkeep puts there", async () => {
  const { shopKey } = await createTenant(service.database);
  await connectShop(service, shopKey, accountOf(shopKey));
  await service.database.query("truncate run_queue, shop_account");
  assert.equal(await webhookStatus(shopKey), 404);
  await runTask(options(), "upkeep");
  assert.equal(await webhookStatus(shopKey), 200);
  const { rows } = await service.database.query("select source from run_queue where shop_key = $1", [
    shopKey,
  ]);
  assert.deepEqual(rows, [{ source: "shopify" }]);
});

const SHOPS = 1000;

test("with 1,000 shops the clock takes one statement, a webhook as many as with one, and turns are spread", async () => {
  const { shopKey } = await createTenant(service.database);
  await connectShop(service, shopKey, accountOf(shopKey));
  const statements = recordStatements();
  assert.equal(await webhookStatus(shopKey), 200);
  statements.forget();
  assert.equal(await webhookStatus(shopKey), 200);
  const withOne = statements.count();
  const fill = (columns: string, values: string): Promise<unknown> =>
    service.database.query(`insert into ${columns} select ${values} from generate_series(1, ${SHOPS}) n`);
  const key = 1_000_000;
  await fill("shop_account (shop_key, source, account)", `${key} + n, 'shopify', 'filler-' || n`);
  await fill("run_queue (shop_key, source, kind, due_at)", `${key} + n, 'shopify', 'store', 'infinity'`);
  statements.forget();
  assert.equal(await webhookStatus(shopKey), 200);
  assert.equal(statements.count(), withOne);
  statements.stop();

  const counted: string[] = [];
  const counting: Database = {
    ...database,
    rows: (statement, values) => {
      counted.push(statement.name);
      return database.rows(statement, values);
    },
  };
  await runTask({ database: counting, now: () => new Date(), log, retention: DEFAULT_RETENTION }, "stores");
  await takeDueTask(counting);
  await listQueued(counting, 500);
  assert.deepEqual(counted, ["queue_task", "take_due_task", "list_queued_sources"]);
  const { rows } = await service.database.query<{ shops: number; most: number; minutes: number }>(
    `select sum(shops)::integer as shops, max(shops)::integer as most,
            (extract(epoch from max(at) - min(at)) / 60)::float8 as minutes
       from (select date_trunc('second', due_at) as at, count(*) as shops from run_queue
              where shop_key > ${key} group by 1) by_second`,
  );
  const [spread] = rows;
  assert.equal(spread?.shops, SHOPS);
  assert.ok(spread.most < 10, `${spread.most} in one second`);
  assert.ok(spread.minutes > 14 && spread.minutes <= 15, `${spread.minutes} minutes`);
  assert.ok(withOne <= 10, `${withOne} statements`);
  assert.equal(
    (await listAccountWorkspaces(database, "shopify", "filler-7")).length,
    0,
    "a stale row is left out",
  );
});
