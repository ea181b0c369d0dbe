import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startRun } from "../src/store/queries/sync-run.ts";
import { VERSION } from "../src/lib/version.ts";
import { createMetrics } from "../src/operations/metrics.ts";
import { openWorkerSession } from "../src/store/worker-session.ts";
import { post, toolCall } from "./support/mcp.ts";
import { eventually } from "./support/worker.ts";
import { startCommand } from "./support/command.ts";
import { serviceEnvironment, startTestService, type QueryParameters } from "./support/service.ts";
import { createTenant, insertRows } from "./support/tenants.ts";
import { APP_OPTIONS, connectShop, sendWebhook } from "./support/webhooks.ts";
import { use } from "./support/use.ts";

const service = use(() =>
  startTestService({
    ...APP_OPTIONS,
    DATABASE_CONNECTIONS: "1",
    METRICS_ON_API_PORT: "true",
  }),
);

/** The samples of one scrape by name and labels, as in the text: `name{label="value"}`. */
async function look(address = service.address): Promise<Map<string, number>> {
  const text = await (await fetch(`${address}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
  );
}

const MIGRATIONS = readdirSync(join(import.meta.dirname, "../src/store/migrations")).filter((name) =>
  name.endsWith(".sql"),
).length;

test("the metrics show the version, the schema's level, and the pools", async () => {
  const samples = await look();
  assert.equal(samples.get(`returns_info{version="${VERSION}"}`), 1);
  assert.equal(samples.get("returns_database_up"), 1);
  assert.equal(samples.get("returns_schema_level"), MIGRATIONS);
  assert.equal(samples.get("returns_schema_level_wanted"), MIGRATIONS);
  for (const [pool, most] of [
    ["admission", 1],
    ["reading", 1],
    ["ingest", 4],
  ] as const) {
    assert.equal(samples.get(`returns_database_pool_waiting{pool="${pool}"}`), 0);
    assert.equal(samples.get(`returns_database_pool_limit{pool="${pool}"}`), most);
  }
  for (const group of ["schema", "backup", "tasks", "queue", "syncs", "deliveries"])
    assert.equal(samples.get(`returns_metrics_unavailable{group="${group}"}`), 0, group);
});

test("the metrics count errors by their code, tool calls too, and show how long requests waited", async () => {
  const tenant = await createTenant(service.database, { dailyQuota: 2 });
  const earlier = await look();
  const months = { start_month: "2026-01", end_month: "2026-03" };
  const ask = (token: string, params: QueryParameters = months) =>
    service.call("/api/v1/summary", { token, params });
  const other = await createTenant(service.database);
  const asked = await Promise.all(
    [...Array.from({ length: 5 }, () => ask(tenant.token)), ask(other.token)].map(
      async (answer) => (await answer).status,
    ),
  );
  assert.equal(asked.filter((status) => status === 429).length, 3);
  await ask(other.token, { start_month: "never" });
  await ask("rta_live_unknown");
  await post(service.address, toolCall("get_summary", { start_month: "never" }), { token: other.token });
  await service.call("/api/v1/nothing", { token: other.token });
  await fetch(`${service.address}/nothing`);
  const samples = await look();
  const risen = (name: string) => (samples.get(name) ?? NaN) - (earlier.get(name) ?? NaN);
  const errors = [
    "invalid_request",
    "unauthorized",
    "forbidden",
    "not_found",
    "rate_limited",
    "internal_error",
  ];
  assert.deepEqual(
    errors.map((code) => risen(`returns_request_errors_total{code="${code}"}`)),
    [2, 1, 0, 1, 3, 0],
  );
  assert.equal(samples.get("returns_quota_refusals_total"), 3);
  assert.equal(risen("returns_admission_wait_seconds_count"), 8);
});

test("the metrics count statements that had to wait for a connection", async () => {
  const waits = 'returns_database_pool_waits_total{pool="ingest"}';
  const waiting = 'returns_database_pool_waiting{pool="ingest"}';
  const earlier = await look();
  const holder = await service.database.connect();
  try {
    await holder.query("begin");
    await holder.query("lock table shop_account in access exclusive mode");
    const delivery = { topic: "themes/update", shop: "metrics.myshopify.com", payload: {} };
    const sent = Array.from({ length: 6 }, () => sendWebhook(service, delivery));
    await eventually(async () => (await look()).get(waiting) === 2, "two of six wait");
    await holder.query("rollback");
    await Promise.all(sent);
  } finally {
    holder.release(true);
  }
  const samples = await look();
  assert.equal(samples.get(waiting), 0);
  assert.ok((samples.get(waits) ?? 0) - (earlier.get(waits) ?? 0) >= 2);
});

test("the metrics count refused webhooks by their status", async () => {
  const { shopKey } = await createTenant(service.database);
  await connectShop(service, shopKey, "metrics.myshopify.com");
  const delivery = { topic: "orders/updated", shop: "metrics.myshopify.com", payload: { id: 1 } };
  assert.equal((await sendWebhook(service, { ...delivery, secret: "guessed" })).status, 401);
  assert.equal((await sendWebhook(service, { ...delivery, payload: {} })).status, 400);
  const samples = await look();
  assert.equal(samples.get('returns_webhooks_refused_total{status="401"}'), 1);
  assert.equal(samples.get('returns_webhooks_refused_total{status="400"}'), 1);
});

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
const isAbout = (seconds: number | undefined, minutes: number) =>
  assert.ok(
    seconds !== undefined && seconds >= minutes * 60 && seconds < minutes * 60 + 600,
    String(seconds),
  );

test("the metrics show by kind of source the age of the newest sync, and due and failed runs", async () => {
  const { shopKey } = await createTenant(service.database);
  const erased = await createTenant(service.database);
  await service.database.query("update workspace set erase_after = now() where shop_key = $1", [
    erased.shopKey,
  ]);
  const connection = {
    shop_key: shopKey,
    kind: "label_cost",
    is_connection: true,
    created_at: minutesAgo(400),
  };
  await insertRows(service.database, "data_source", [
    { ...connection, source: "loop", last_synced_at: minutesAgo(90), status: "failed" },
    { ...connection, source: "shipstation", last_synced_at: minutesAgo(60), status: "ok" },
    { ...connection, source: "refused", last_synced_at: minutesAgo(1), status: "disconnected" },
    { ...connection, shop_key: erased.shopKey, source: "loop", last_synced_at: minutesAgo(1), status: "ok" },
    { ...connection, source: "shopify", kind: "store", last_synced_at: null, status: null },
  ]);
  const { database } = service.installation;
  const runId = randomUUID();
  const run = { shopKey, source: "loop", kind: "backfill", requestedBy: "operator" } as const;
  await startRun(database, { ...run, runId, attempt: 1 });
  const counts = { orders: 5, unbalanced_lines: 3 };
  await service.database.query("update sync_run set status = 'failed', counts = $2 where run_id = $1", [
    runId,
    JSON.stringify(counts),
  ]);
  const samples = await look();
  assert.equal(samples.get("returns_sync_unbalanced_lines"), 3);
  const of = (name: string, labels: string) => samples.get(`${name}{source_kind="${labels}"}`);
  isAbout(of("returns_sync_age_seconds", "label_cost"), 60);
  isAbout(of("returns_sync_age_seconds", "store"), 400);
  assert.equal(of("returns_sync_runs_failed", "label_cost"), 1);
  assert.equal(of("returns_sync_runs_failed", "store"), 0);
  const statuses = ["ok", "failed", "disconnected", "new"].map((status) => `label_cost",status="${status}`);
  assert.deepEqual(
    [...statuses, 'store",status="new'].map((labels) => of("returns_connections", labels)),
    [1, 1, 1, 0, 1],
  );
});

test("the metrics show what of the queue no worker has begun, and since when", async () => {
  const { shopKey } = await createTenant(service.database);
  await insertRows(service.database, "run_queue", [
    { shop_key: shopKey, source: "loop", kind: "label_cost", due_at: minutesAgo(30) },
    { shop_key: shopKey, source: "shipstation", kind: "label_cost", due_at: minutesAgo(20) },
    { shop_key: shopKey, source: "shopify", kind: "store", due_at: minutesAgo(-5) },
    { shop_key: shopKey, source: "csv", kind: "upload", due_at: "-infinity" },
    { shop_key: shopKey, source: "push x", kind: "push", due_at: minutesAgo(60) },
  ]);
  const queue = async () => {
    const samples = await look();
    const values = (name: string) =>
      ["store", "label_cost", "upload"].map((kind) => samples.get(`${name}{source_kind="${kind}"}`));
    assert.equal(samples.get("returns_workers"), 1);
    return { due: values("returns_sync_runs_due"), ages: values("returns_sync_due_age_seconds") };
  };
  const worker = await openWorkerSession(service.databaseUrl);
  try {
    const { due, ages } = await queue();
    assert.deepEqual([due, ages[0], ages[2]], [[0, 2, 1], 0, undefined]);
    isAbout(ages[1], 30);
    await worker.claim([{ shopKey, source: "loop" }], 1);
    const claimed = await queue();
    assert.deepEqual(claimed.due, [0, 1, 1]);
    isAbout(claimed.ages[1], 20);
  } finally {
    await worker.close();
  }
});

test("upkeep is late once its next time has passed, a shop once its own has, and a backup's age counts from its beginning", async () => {
  const late = (samples: Map<string, number>, task: string) =>
    samples.get(`returns_task_late_seconds{task="${task}"}`);
  const earlier = await look();
  assert.deepEqual([late(earlier, "upkeep"), earlier.has("returns_backup_age_seconds")], [undefined, false]);
  await service.database.query("update installation set backed_up_at = $1", [minutesAgo(120)]);
  const setUpkeep = (minutes: number): Promise<unknown> =>
    service.database.query("update schedule set done_until = $1 where task = 'upkeep'", [
      minutesAgo(minutes),
    ]);
  await setUpkeep(45);
  assert.deepEqual([late(await look(), "upkeep"), late(await look(), "shops")], [0, undefined]);
  await setUpkeep(90);
  for (const minutes of [20, 25, -5]) {
    const { shopKey } = await createTenant(service.database);
    await insertRows(service.database, "run_queue", [
      { shop_key: shopKey, source: "shop", kind: "shop", due_at: minutesAgo(minutes) },
    ]);
  }
  const samples = await look();
  isAbout(late(samples, "upkeep"), 30);
  isAbout(late(samples, "shops"), 25);
  isAbout(samples.get("returns_backup_age_seconds"), 120);
});

test("a group of metrics that cannot be read is named, and the others are complete", async () => {
  const unavailable = (samples: Map<string, number>) =>
    ["schema", "backup", "tasks", "queue", "syncs", "deliveries"].filter(
      (group) => samples.get(`returns_metrics_unavailable{group="${group}"}`) === 1,
    );
  const holder = await service.database.connect();
  try {
    await holder.query("begin");
    await holder.query("lock table sync_run in access exclusive mode");
    // Two concurrent scrapes share one reading, and both are complete.
    for (const samples of await Promise.all([look(), look()])) {
      assert.deepEqual(unavailable(samples), ["syncs"]);
      assert.equal(samples.get("returns_database_up"), 1);
      assert.equal(samples.get("returns_schema_level"), MIGRATIONS);
      assert.ok(![...samples.keys()].some((name) => name.startsWith("returns_sync_age_seconds")));
    }
  } finally {
    holder.release(true);
  }
  await eventually(async () => unavailable(await look()).length === 0, "everything is read again");
});

test("no series depends on a workspace: more workspaces do not add lines", async () => {
  // The metrics of Node.js gain series with the first garbage collection of each kind.
  const names = async () =>
    [...(await look()).keys()].filter((name) => !name.startsWith("nodejs_")).toSorted();
  await look();
  const earlier = await names();
  for (let shop = 0; shop < 3; shop += 1) {
    const { shopKey } = await createTenant(service.database);
    await insertRows(service.database, "data_source", [
      { shop_key: shopKey, source: "loop", kind: "label_cost", is_connection: true, status: "ok" },
    ]);
  }
  assert.deepEqual(await names(), earlier);
});

test("unknown values are left out, not 0, until the database first answers", async () => {
  const metrics = createMetrics({ rows: () => Promise.reject(new Error("away")) });
  const { body } = await metrics.render();
  const lines = body.split("\n").filter((line) => line.startsWith("returns_"));
  assert.ok(
    lines.includes("returns_database_up 0") && lines.includes('returns_metrics_unavailable{group="syncs"} 1'),
  );
  for (const name of [
    "returns_schema_level",
    "returns_workers",
    "returns_backup_age_seconds",
    "returns_sync_runs_due",
  ])
    assert.ok(!lines.some((line) => line.startsWith(name)), name);
});

test("a worker serves health, readiness and metrics on its own port", async () => {
  const environment = { ...serviceEnvironment(service.databaseUrl), OPERATIONS_PORT: "0" };
  const worker = startCommand(["worker", "--json"], environment);
  const { operations_address: address } = JSON.parse(await worker.printed(/\}\n$/u)) as {
    operations_address: string;
  };
  for (const path of ["/healthz", "/readyz"]) {
    assert.equal((await fetch(`${address}${path}`)).status, 200, path);
  }
  const samples = await look(address);
  assert.equal(samples.get("returns_schema_level"), MIGRATIONS);
  assert.equal(samples.get('returns_database_pool_waiting{pool="sync"}'), 0);
  assert.equal(samples.get("returns_workers"), 1);
  worker.child.kill("SIGTERM");
  const { code, stderr } = await worker.outcome;
  assert.equal(code, 0, stderr);
  assert.match(stderr, /"worker stopped"/u);
  await eventually(async () => (await look()).get("returns_workers") === 0, "the worker is gone");
});
