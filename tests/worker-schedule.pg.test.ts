import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { PgBoss } from "pg-boss";
import { pino } from "pino";
import { SCHEDULES, runTask } from "../src/worker/tasks.ts";
import type { TaskName } from "../src/worker/tasks.ts";
import { openControlDatabase } from "./support/control.ts";
import type { ControlDatabase } from "./support/control.ts";
import { openTestPool } from "./support/service.ts";
import { connectedShop, eventually, withWorker, workerOptions } from "./support/worker.ts";

let control: ControlDatabase;
let pool: ReturnType<typeof openTestPool>;
before(async () => {
  control = await openControlDatabase();
  pool = openTestPool(control.url);
});
after(async () => {
  await pool.end();
  await control.stop();
});
beforeEach(async () => {
  await pool.query("truncate workspace cascade");
});

const NOW = new Date("2026-07-01T06:00:00Z");
const logs: string[] = [];
const run = (task: TaskName, now = NOW) =>
  runTask(
    {
      database: control.database,
      now: () => now,
      log: pino({ level: "trace" }, { write: (line: string) => void logs.push(line) }),
    },
    task,
  );
const requests = async (): Promise<string[]> =>
  (
    await pool.query<{ text: string }>(
      "select shop_key || ' ' || source || ' ' || kind || ' ' || requested_by as text from sync_request order by 1",
    )
  ).rows.map((row) => row.text);

test("a connection that was never read gets a backfill, later what has changed; a refused one waits", async () => {
  const both = [
    ["shopify", "store"],
    ["loop", "label_cost"],
  ] as const;
  const fresh = await connectedShop(control, both);
  const known = await connectedShop(control, both);
  const refused = await connectedShop(control, both);
  await pool.query("update data_source set last_synced_at = now() where shop_key = $1", [known.shopKey]);
  await pool.query("update data_source set status = 'disconnected' where shop_key = $1", [refused.shopKey]);
  const without = await connectedShop(control, both);
  await pool.query("update data_source set sealed_credentials = null where shop_key = $1", [without.shopKey]);
  await pool.query(
    "insert into data_source (shop_key, source, kind) values ($1, 'csv', 'store'), ($2, 'csv', 'store')",
    [fresh.shopKey, known.shopKey],
  );
  await run("stores");
  const ofStores = [
    `${fresh.shopKey} shopify backfill schedule`,
    `${known.shopKey} shopify incremental schedule`,
  ];
  assert.deepEqual(await requests(), ofStores);
  await run("stores");
  assert.deepEqual(await requests(), ofStores, "a second time they are asked for already");
  await run("labels");
  const ofLabels = [`${fresh.shopKey} loop backfill schedule`, `${known.shopKey} loop incremental schedule`];
  assert.deepEqual(await requests(), [...ofStores, ...ofLabels].toSorted());
  await run("open_returns");
  const ofReturns = [`${known.shopKey} shopify open_returns schedule`];
  assert.deepEqual(await requests(), [...ofStores, ...ofLabels, ...ofReturns].toSorted());
});

test("every workspace's alerts are evaluated, past one that fails", async () => {
  const shops = await Promise.all([1, 2, 3].map(() => connectedShop(control, [["shopify", "store"]])));
  await pool.query(
    "update data_source set last_synced_at = '2026-06-01T00:00:00Z', created_at = '2026-01-01T00:00:00Z'",
  );
  const [first] = shops.map((shop) => shop.shopKey).toSorted((one, other) => one - other);
  await pool.query(
    `create function refuse_alert() returns trigger language plpgsql as
       $$ begin raise exception 'this workspace takes no alert'; end $$`,
  );
  await pool.query(
    `create trigger refuse before insert on alert for each row when (new.shop_key = ${first}) execute function refuse_alert()`,
  );
  const alerts = async (): Promise<number[]> =>
    (
      await pool.query<{ shop_key: string }>(
        "select shop_key from alert where category = 'connection_stale' order by 1",
      )
    ).rows.map((row) => Number(row.shop_key));
  const others = shops.map((shop) => shop.shopKey).filter((shopKey) => shopKey !== first);
  await run("alerts");
  assert.deepEqual(
    await alerts(),
    others.toSorted((one, other) => one - other),
  );
  assert.ok(logs.some((line) => line.includes("this workspace takes no alert")));
  await pool.query("drop trigger refuse on alert");
  await run("alerts", new Date(NOW.getTime() + 3_600_000));
  assert.equal((await alerts()).length, 3, "told once each");
});

test("upkeep forgets runs after 90 days, those of webhooks and deliveries after 7, and nothing that is open", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  await pool.query(
    `insert into sync_run (shop_key, run_id, source, kind, requested_by, status, started_at)
     select $1, gen_random_uuid(), 'shopify', kind, 'schedule', status, started_at::timestamptz
       from (values ('incremental', 'succeeded', '2026-04-02T05:00Z'),
                    ('incremental', 'failed', '2026-04-02T07:00Z'),
                    ('incremental', 'running', '2026-01-01T00:00Z'),
                    ('refresh', 'succeeded', '2026-06-24T05:00Z'), ('refresh', 'succeeded', '2026-06-24T07:00Z'),
                    ('refresh', 'running', '2026-01-02T00:00Z')) r (kind, status, started_at)`,
    [shopKey],
  );
  await pool.query(
    `insert into webhook_delivery (shop_key, source, webhook_id, topic, received_at)
     values ($1, 'shopify', 'old', 't', '2026-06-24T05:00Z'), ($1, 'shopify', 'new', 't', '2026-06-24T07:00Z')`,
    [shopKey],
  );
  await run("upkeep");
  const runs = await pool.query<{ run: string }>(
    "select kind || ' ' || status as run from sync_run order by started_at",
  );
  assert.deepEqual(
    runs.rows.map(({ run: left }) => left),
    ["incremental running", "refresh running", "incremental failed", "refresh succeeded"],
  );
  const deliveries = await pool.query("select webhook_id from webhook_delivery");
  assert.deepEqual(deliveries.rows, [{ webhook_id: "new" }]);
});

test("a worker keeps every schedule, and does what the clock sends it", async () => {
  const { shopKey } = await connectedShop(control, [["shopify", "store"]]);
  await withWorker({ ...workerOptions(control, []), hasSchedule: true }, async () => {
    const boss = new PgBoss({ connectionString: control.url, supervise: false, schedule: false });
    boss.on("error", () => {});
    await boss.start();
    try {
      const kept = await boss.getSchedules("sync-task");
      assert.deepEqual(
        new Set(kept.map(({ key, cron, timezone }) => `${key} ${cron} ${timezone}`)),
        new Set(Object.entries(SCHEDULES).map(([task, cron]) => `${task} ${cron} UTC`)),
      );
      const [{ data } = { data: null }] = await boss.getSchedules("sync-task", "stores");
      await boss.send("sync-task", data);
      await eventually(
        async () => (await requests()).some((request) => request.startsWith(`${shopKey} shopify backfill`)),
        "the backfill is asked for",
      );
    } finally {
      await boss.stop({ graceful: false });
    }
  });
});
