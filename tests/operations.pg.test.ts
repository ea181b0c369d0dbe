import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startRun } from "../src/store/queries/sync-run.ts";
import { VERSION } from "../src/lib/version.ts";
import { requestRun } from "../src/store/queries/sync-request.ts";
import { startCommand } from "./support/command.ts";
import { serviceEnvironment, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { createTenant, insertRows } from "./support/tenants.ts";
import { APP_OPTIONS, connectShop, sendWebhook } from "./support/webhooks.ts";

let service: TestService;
before(async () => {
  service = await startTestService({
    ...APP_OPTIONS,
    DATABASE_CONNECTIONS: "1",
    METRICS_ON_API_PORT: "true",
  });
});
after(() => service.stop());

/** The samples of one look by name and labels, as they are written: `name{label="value"}`. */
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

test("the metrics tell the version, the schema's level, and the pools", async () => {
  const samples = await look();
  assert.equal(samples.get(`returns_info{version="${VERSION}"}`), 1);
  assert.equal(samples.get("returns_database_up"), 1);
  assert.equal(samples.get("returns_schema_level"), MIGRATIONS);
  assert.equal(samples.get("returns_schema_level_wanted"), MIGRATIONS);
  for (const pool of ["admission", "reading", "taking"]) {
    assert.equal(samples.get(`returns_database_pool_waiting{pool="${pool}"}`), 0);
  }
});

test("the metrics count requests that had to wait for a connection, and those over the quota", async () => {
  const tenant = await createTenant(service.database, { dailyQuota: 2 });
  const waits = 'returns_database_pool_waits_total{pool="taking"}';
  const earlier = await look();
  const months = { start_month: "2026-01", end_month: "2026-03" };
  const asked = await Promise.all(
    Array.from({ length: 5 }, () => service.call("/api/v1/summary", { token: tenant.token, params: months })),
  );
  assert.equal(asked.filter(({ status }) => status === 429).length, 3);
  await Promise.all([look(), look(), look()]);
  const samples = await look();
  assert.equal(samples.get("returns_quota_refusals_total"), 3);
  assert.ok((samples.get(waits) ?? 0) > (earlier.get(waits) ?? 0), "a look asks several things at once");
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

test("the metrics tell by kind of source how old the newest sync is, and which runs are due and failed", async () => {
  const { shopKey } = await createTenant(service.database);
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
  await insertRows(service.database, "data_source", [
    {
      shop_key: shopKey,
      source: "loop",
      kind: "label_cost",
      is_connection: true,
      last_synced_at: minutesAgo(90),
    },
    {
      shop_key: shopKey,
      source: "shipstation",
      kind: "label_cost",
      is_connection: true,
      last_synced_at: minutesAgo(60),
    },
  ]);
  const { database } = service.installation;
  await requestRun(database, { shopKey, source: "loop", kind: "backfill", requestedBy: "operator" });
  const runId = randomUUID();
  await startRun(database, {
    shopKey,
    runId,
    source: "loop",
    kind: "backfill",
    requestedBy: "operator",
    attempt: 1,
  });
  await service.database.query("update sync_run set status = 'failed' where run_id = $1", [runId]);
  const samples = await look();
  const age = samples.get('returns_sync_age_seconds{source_kind="label_cost"}') ?? 0;
  assert.ok(age >= 3600 && age < 3660 + 600, String(age));
  assert.equal(samples.get('returns_sync_runs_due{source_kind="label_cost"}'), 1);
  assert.equal(samples.get('returns_sync_runs_failed{source_kind="label_cost"}'), 1);
});

test("a worker has a port of its own for health, readiness and metrics", async () => {
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
  worker.child.kill("SIGTERM");
  assert.equal((await worker.outcome).code, 0);
});
