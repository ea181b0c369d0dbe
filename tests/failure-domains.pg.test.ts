import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { listAccountWorkspaces } from "../src/store/directory.ts";
import type { Database, Queryable } from "../src/store/database.ts";
import { findQueued, listNextPolls, queueWorkspaces } from "../src/store/queries/run-queue.ts";
import type { QueuedRow } from "../src/store/queries/run-queue.ts";
import { requestRun } from "../src/store/queries/sync-request.ts";
import type { Connector } from "../src/sync/connector.ts";
import { pollPlace } from "../src/worker/poll.ts";
import { keepInstallation, checkWorkspace } from "../src/worker/upkeep.ts";
import { recordStatements } from "./support/asked-statements.ts";
import { isCitus } from "./support/citus.ts";
import { loseWorkspace } from "./support/lost-workspaces.ts";
import { startTestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import { APP_OPTIONS, connectShop, sendWebhook } from "./support/webhooks.ts";
import { connect, eventually, keepAllInOrder, makeDue, withWorker, workerOptions } from "./support/worker.ts";
import { before, use } from "./support/use.ts";

/** A shop whose rows cannot be reached does not block webhooks, runs or upkeep of other shops. */

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
const loop: Connector = {
  source: "loop",
  kind: "label_cost",
  sync: async () => ({ counts: {}, notes: [] }),
};
const url = (): string => service.installation.databaseUrl;
const options = () => ({ ...workerOptions({ database, url: url() }, [loop], logs), hasSchedule: true });
const accountOf = (shopKey: number): string => `shop-${shopKey}.myshopify.com`;

/** Enough shops to have some on each node of a cluster. */
async function connectedWorkspaces(): Promise<number[]> {
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

test("while a shop is unreachable, webhooks of others are accepted, and its own afterwards", async () => {
  const { lost, others, find } = await loseWorkspace(service.database, await connectedWorkspaces());
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

test("meanwhile the schedule starts the runs of others, logs once which shop is unreachable, and loses nothing", async () => {
  const shopKeys = await connectedWorkspaces();
  await makeDue({ url: url() }, "labels");
  const { lost, others, find } = await loseWorkspace(service.database, shopKeys);
  const isAway = (line: string): boolean => line.includes("could not be polled");
  try {
    await withWorker(options(), async () => {
      for (const shopKey of others) await eventually(() => succeeded(shopKey), `the run of ${shopKey}`, 60);
      // After several tries the wait is longer than the first one.
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

test("upkeep of others goes on, logs once which shop is unreachable, and catches up with it afterwards", async () => {
  const shopKeys = await connectedWorkspaces();
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
  await queueWorkspaces(database, shopKeys, new Date());
  const { lost, others, find } = await loseWorkspace(service.database, shopKeys);
  await service.database.query("update run_queue set due_at = now() where kind = 'shop'");
  try {
    await withWorker(options(), async () => {
      await eventually(async () => (await leftOf(others)) === 0, "the upkeep of others", 60);
      const triedAgain = async (): Promise<boolean> =>
        (
          await service.database.query(
            "select from run_queue where kind = 'shop' and due_at > now() + interval '0.3 s'",
          )
        ).rows.length === shopKeys.length;
      await eventually(triedAgain, "the wait grows for those that are away", 60);
      // On a Citus they are out of the test's reach, too.
      if (!isCitus()) assert.equal(await leftOf(lost), lost.length);
      const failures = logs.filter(
        (line) => line.includes("could not be polled") && line.includes('"source":"shop"'),
      );
      assert.equal(failures.length, lost.length, "one line for each");
      await find();
      await eventually(async () => (await leftOf(lost)) === 0, "its own upkeep", 60);
    });
  } finally {
    await find();
  }
});

test("two workers never check one shop at once, and a failing check does not affect other shops", async () => {
  const shopKeys: number[] = [];
  for (let made = 0; made < 40; made += 1) shopKeys.push((await createTenant(service.database)).shopKey);
  await queueWorkspaces(database, shopKeys, new Date());
  await service.database.query("update run_queue set due_at = now()");
  const [broken = 0] = shopKeys;
  const active = new Set<number>();
  const looks: number[] = [];
  /** A check begins by reading whether its shop is stopped, and ends by updating its row of the queue. */
  const watched: Database = {
    ...database,
    rows: async (statement, values) => {
      const shopKey = Number(values[0]);
      if (statement.name === "find_stop") {
        assert.ok(!active.has(shopKey), `two looks at ${shopKey}`);
        active.add(shopKey);
        looks.push(shopKey);
        if (shopKey === broken) {
          active.delete(shopKey);
          throw new Error("this shop cannot be looked at");
        }
      }
      if (statement.name === "finish_poll") active.delete(shopKey);
      return database.rows(statement, values);
    },
  };
  const worker = () => ({ ...options(), database: watched, queueDatabase: watched, firstRetryMs: 60_000 });
  const areDone = async (): Promise<boolean> =>
    (await service.database.query("select from run_queue where due_at <= now()")).rows.length === 0;
  await withWorker(worker(), () =>
    withWorker(worker(), async () => void (await eventually(areDone, "every shop", 60))),
  );
  assert.deepEqual(
    looks.toSorted((one, other) => one - other),
    shopKeys,
    "each once",
  );
  const { rows } = await service.database.query<{ minutes: number; is_broken: boolean }>(
    "select extract(epoch from due_at - now())::float8 / 60 as minutes, shop_key = $1 as is_broken from run_queue",
    [broken],
  );
  for (const { minutes, is_broken: isBroken } of rows) {
    if (isBroken) assert.ok(minutes < 2, `it is tried again in ${minutes} minutes`);
    else assert.ok(minutes > 50 && minutes < 60, `${minutes} minutes`);
  }
});

/** Statements of the previous version: its schedule, how it claims, and how it ends a poll of a non-source and of a source. */
const OLD_TICK = [
  `update run_queue q set due_at = least(q.due_at, now()), asked = q.asked + 1,
          scheduled = case when 'labels' = any(q.scheduled) then q.scheduled else q.scheduled || 'labels'::text end
    where q.kind = 'label_cost'`,
  "update schedule s set done_until = date_bin(s.period, statement_timestamp(), s.first_at) where s.task = 'labels'",
];
const OLD_LIST = `select q.shop_key, q.source, q.scheduled, q.asked from run_queue q
    where q.due_at <= statement_timestamp() and q.kind <> 'push' order by q.due_at limit 500`;
const OLD_LEAVE = "delete from run_queue q where q.shop_key = $1 and q.source = $2 and q.asked = $3";
const OLD_FINISH = `update run_queue q set due_at = 'infinity', scheduled = '{}'
    where q.shop_key = $1 and q.source = $2 and q.asked = $3`;

test("rows that a worker of the previous version deletes or leaves waiting are queued again", async () => {
  const { shopKey } = await createTenant(service.database);
  await connect({ database }, shopKey, "loop", "label_cost");
  await service.database.query("update data_source set poll_at = null where shop_key = $1", [shopKey]);
  await keepInstallation(options());
  await service.database.query("update run_queue set due_at = now() where shop_key = $1", [shopKey]);
  for (const statement of OLD_TICK) await service.database.query(statement);
  const due = await service.database.query<{ source: string; scheduled: string[]; asked: string }>(OLD_LIST);
  const listed = due.rows.map(({ source, scheduled }) => `${source}: ${scheduled.join()}`);
  assert.deepEqual(listed.toSorted(), ["loop: labels", "shop: "]);
  for (const { source, asked } of due.rows) {
    const end = source === "shop" ? OLD_LEAVE : OLD_FINISH;
    assert.equal((await service.database.query(end, [shopKey, source, asked])).rowCount, 1);
  }
  await keepInstallation(options());
  const { rows } = await service.database.query<{ minutes: number }>(
    "select extract(epoch from due_at - now())::float8 / 60 as minutes from run_queue where shop_key = $1 and kind = 'shop'",
    [shopKey],
  );
  assert.ok((rows[0]?.minutes ?? 99) <= 60);
  await checkWorkspace(options(), shopKey);
  assert.ok((await queuedOf(shopKey)) !== null, "its connection is due");
  await look(shopKey);
  assert.ok(await succeeded(shopKey));
  const [next] = await listNextPolls(database, shopKey);
  assert.ok(next !== undefined && next.next_at.getTime() < Date.now() + 12 * 3_600_000);
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

test("after a crash between storing a request and queueing it, the schedule finds the request", async () => {
  const { shopKey } = await createTenant(service.database);
  await connect({ database }, shopKey, "loop", "label_cost");
  const request = { shopKey, source: "loop", kind: "backfill", requestedBy: "operator" } as const;
  await assert.rejects(requestRun(crashingBefore("wake_source"), request), /crash/u);
  assert.equal(await queuedOf(shopKey), null, "the queue does not know");
  await makeDue({ url: url() }, "labels");
  const queued = await queuedOf(shopKey);
  assert.ok(queued !== null);
  await look(shopKey);
  assert.ok(await succeeded(shopKey));
});

test("a crash between a run and its row of the queue causes one more check, and no run", async () => {
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

test("a request made during a check is handled after it", async () => {
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

test("a worker that claims a row just checked by another finds no work", async () => {
  const { shopKey } = await createTenant(service.database);
  await connect({ database }, shopKey, "loop", "label_cost");
  await makeDue({ url: url() }, "labels");
  await look(shopKey);
  await look(shopKey);
  const { rows } = await service.database.query("select from sync_run where shop_key = $1", [shopKey]);
  assert.equal(rows.length, 1);
});

test("upkeep adds rows that are missing from directory and queue because of a crash", async () => {
  const { shopKey } = await createTenant(service.database);
  await connectShop(service, shopKey, accountOf(shopKey));
  await service.database.query("truncate run_queue, shop_account");
  assert.equal(await webhookStatus(shopKey), 404);
  assert.deepEqual(await keepAllInOrder(options()), []);
  assert.equal(await webhookStatus(shopKey), 200);
  const { rows } = await service.database.query(
    "select source from run_queue where shop_key = $1 order by source",
    [shopKey],
  );
  assert.deepEqual(rows, [{ source: "shop" }, { source: "shopify" }]);
});

const SHOPS = 1000;

test("with 1,000 shops a poll of the queue reads no shop, a webhook runs as many statements as with one, and checks are spread over time", async () => {
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
  const fillers = Array.from({ length: SHOPS }, (_, place) => key + 1 + place);
  // None is due while the worker polls.
  await queueWorkspaces(database, fillers, new Date(Date.now() + 60_000));
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
  const worker = { ...options(), queueDatabase: counting, pollMs: 60_000 };
  await withWorker(
    worker,
    async () => void (await eventually(async () => counted.includes("list_queued_sources"), "a poll")),
  );
  assert.deepEqual(counted, ["take_due_task", "list_queued_workspaces", "list_queued_sources"]);
  const { rows } = await service.database.query<{ shops: number; most: number; minutes: number }>(
    `select sum(shops)::integer as shops, max(shops)::integer as most,
            (extract(epoch from max(at) - min(at)) / 60)::float8 as minutes
       from (select date_trunc('second', due_at) as at, count(*) as shops from run_queue
              where shop_key > ${key} and kind = 'shop' group by 1) by_second`,
  );
  const [spread] = rows;
  assert.equal(spread?.shops, SHOPS);
  assert.ok(spread.most < 10, `${spread.most} in one second`);
  assert.ok(spread.minutes > 58 && spread.minutes <= 60, `${spread.minutes} minutes`);
  assert.ok(withOne <= 10, `${withOne} statements`);
  assert.equal(
    (await listAccountWorkspaces(database, "shopify", "filler-7")).length,
    0,
    "a stale row is left out",
  );
});
