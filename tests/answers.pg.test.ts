import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { evaluateAlerts } from "../src/alerts/evaluate-alerts.ts";
import type { Endpoint } from "../src/contract/endpoint.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { report } from "../src/contract/report.ts";
import { returnCostLeaderboard } from "../src/contract/return-cost-leaderboard.ts";
import { returnRateLeaderboard } from "../src/contract/return-rate-leaderboard.ts";
import { summary } from "../src/contract/summary.ts";
import { timeseries } from "../src/contract/timeseries.ts";
import { leastParameters } from "./support/requests.ts";
import { service } from "./support/shared-service.ts";
import { startBeside, type CalledAnswer, type TestService } from "./support/service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { changePlan, changeWorkspace, countedRequests, createTenant, insertRows } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { eventually } from "./support/worker.ts";
import { openConnections } from "./support/database.ts";

const SUMMARY = summary.path;
const TIMESERIES = timeseries.path;
const RANKING = returnRateLeaderboard.path;
const MONTHS = { start_month: "2025-01", end_month: "2026-06" };

/** Tables are streamed and never cached; their list has no figure. */
const OF_COHORTS = (ENDPOINTS as readonly Endpoint[]).filter(
  ({ name }) => !["alerts", "entities", "export-tables", "export-table"].includes(name),
);

const writing = openConnections(service.databaseUrl);
/** A server without a response cache, and one that reads over a single connection. */
let without: TestService;
let narrow: TestService;
before(async () => {
  const start = (options: Record<string, string>) => startBeside({ after: () => {} }, service, options);
  without = await start({ ANSWER_MEMORY_MB: "0" });
  narrow = await start({ DATABASE_CONNECTIONS: "1" });
});
after(() => Promise.all([without.stop(), narrow.stop(), writing.close()]));

const seededTenant = (options: Parameters<typeof createTenant>[1] = {}): Promise<Tenant> =>
  createSmallStore(service.database, options);

async function textOf(
  { token }: Tenant,
  path: string,
  params: Record<string, string> = MONTHS,
): Promise<string> {
  const answer = await service.call(path, { token, params });
  assert.equal(answer.status, 200, answer.text);
  return answer.text;
}

test("M5: an hourly sync of labels cannot hide that a store's sync stopped: every answer with figures states their as-of", async () => {
  const tenant = await createTenant(service.database, { dataAsOf: "2026-06-20T05:00:00Z" });
  const labelsAt = "2026-07-01T06:00:00.000Z";
  await insertRows(service.database, "data_source", [
    { shop_key: tenant.shopKey, source: "shipstation", kind: "label_cost", last_synced_at: labelsAt },
  ]);
  for (const endpoint of ENDPOINTS as readonly Endpoint[]) {
    if (endpoint.response === null) continue;
    const { meta } = (
      await service.call(endpoint.path, { token: tenant.token, params: leastParameters(endpoint) })
    ).json();
    assert.equal((meta["freshness"] as { data_updated_at: string }).data_updated_at, labelsAt);
    const asOf = endpoint.name === "entities" ? undefined : "2026-06-20T05:00:00.000Z";
    assert.equal(meta["data_as_of"], asOf, endpoint.name);
  }
});

/** Changes facts without a new data version, which only a test does. */
async function halveCohorts({ shopKey }: Tenant): Promise<void> {
  await service.database.query(
    "update cohort set sold_units = sold_units / 2, return_reasons = array(select r || '!' from unnest(return_reasons) r) where shop_key = $1",
    [shopKey],
  );
}

async function raiseDataVersion({ shopKey }: Tenant): Promise<void> {
  await service.database.query("update workspace set data_version = data_version + 1 where shop_key = $1", [
    shopKey,
  ]);
}

describe("a cached answer", () => {
  test("equals that of a server without a cache, byte for byte, for each endpoint", async () => {
    const tenant = await seededTenant();
    for (const endpoint of ENDPOINTS) {
      const options = { token: tenant.token, params: { ...leastParameters(endpoint) } };
      const made = await without.call(endpoint.path, options);
      const first = await service.call(endpoint.path, options);
      const again = await service.call(endpoint.path, options);
      assert.deepEqual([first.text, again.text], [made.text, made.text], endpoint.name);
    }
  });

  test("is served until the data version changes, and never after, for each endpoint of figures", async () => {
    const tenant = await seededTenant();
    const textsOf = () =>
      Promise.all(
        OF_COHORTS.map((endpoint) => textOf(tenant, endpoint.path, { ...leastParameters(endpoint) })),
      );
    const old = await textsOf();
    await halveCohorts(tenant);
    assert.deepEqual(await textsOf(), old, "they were not remembered");
    await raiseDataVersion(tenant);
    for (const [place, text] of (await textsOf()).entries())
      assert.notEqual(text, old[place], String(OF_COHORTS[place]?.name));
  });

  test("entities: is served until the data version changes, and never after", async () => {
    const tenant = await seededTenant();
    const old = await textOf(tenant, "/api/v1/entities", {});
    await service.database.query("delete from entity where shop_key = $1 and label = 'HAT-1'", [
      tenant.shopKey,
    ]);
    assert.equal(await textOf(tenant, "/api/v1/entities", {}), old);
    await raiseDataVersion(tenant);
    assert.notEqual(await textOf(tenant, "/api/v1/entities", {}), old);
  });

  test("alerts: is served until one is raised, which raises the data version", async () => {
    const tenant = await seededTenant();
    const old = await textOf(tenant, "/api/v1/alerts", {});
    await service.database.query("update alert set title = 'Another' where shop_key = $1", [tenant.shopKey]);
    assert.equal(await textOf(tenant, "/api/v1/alerts", {}), old, "it was not remembered");
    const now = new Date("2026-07-01T00:00:00Z");
    const evaluation = { database: writing, shopKey: tenant.shopKey, now };
    assert.notEqual((await evaluateAlerts(evaluation)).written, 0);
    const fresh = await textOf(tenant, "/api/v1/alerts", {});
    assert.match(fresh, /Another/u);
    assert.ok(fresh.length > old.length);
    assert.equal((await evaluateAlerts(evaluation)).written, 0);
    assert.equal(await textOf(tenant, "/api/v1/alerts", {}), fresh);
  });

  test("states the current freshness each time", async () => {
    const tenant = await seededTenant();
    await textOf(tenant, SUMMARY);
    await service.database.query(
      "update data_source set last_synced_at = '2026-07-02T03:04:05Z', status = 'failed' where shop_key = $1 and source = 'csv'",
      [tenant.shopKey],
    );
    const { meta } = (await service.call(SUMMARY, { token: tenant.token, params: MONTHS })).json();
    const { sources } = meta["freshness"] as { sources: Record<string, unknown>[] };
    const csv = sources.find((source) => source["source"] === "csv");
    assert.deepEqual(csv, {
      source: "csv",
      last_synced_at: "2026-07-02T03:04:05.000Z",
      status: "failed",
      stale: true,
    });
  });

  test("follows the workspace's current settings, plan and label sources", async () => {
    const tenant = await seededTenant();
    const params = { ...MONTHS, include_incomplete: "true" };
    const changes: [path: string, change: () => Promise<unknown>][] = [
      [
        returnCostLeaderboard.path,
        () =>
          service.database.query(
            "update data_source set currency_code = 'USD' where shop_key = $1 and source = 'labels'",
            [tenant.shopKey],
          ),
      ],
      [RANKING, () => changeWorkspace(service.database, tenant, { min_sold_units: 400 })],
      [TIMESERIES, () => changeWorkspace(service.database, tenant, { primary_window_days: 365 })],
      [TIMESERIES, () => changeWorkspace(service.database, tenant, { data_as_of: "2025-03-01T00:00:00Z" })],
      [report.path, () => changeWorkspace(service.database, tenant, { currency_code: "JPY" })],
      [SUMMARY, () => changeWorkspace(service.database, tenant, { shop_domain: "renamed.example" })],
      [RANKING, () => changePlan(service.database, tenant, { entitlements: ["api_access"] })],
    ];
    for (const [path, change] of changes) {
      const old = await textOf(tenant, path, params);
      assert.equal(await textOf(tenant, path, params), old);
      await change();
      assert.notEqual(await textOf(tenant, path, params), old, path);
    }
  });

  test("is never another tenant's, even if only the shop's key differs", async () => {
    const [one, other] = [await seededTenant(), await seededTenant()];
    const alike = { organization_id: "same", shop_id: "same", shop_domain: "same.example" };
    const plan_key = `plan-${one.shopKey}`;
    for (const tenant of [one, other])
      await changeWorkspace(service.database, tenant, { ...alike, plan_key });
    await halveCohorts(other);
    for (const endpoint of OF_COHORTS) {
      const params = { ...leastParameters(endpoint) };
      const texts = [await textOf(one, endpoint.path, params), await textOf(other, endpoint.path, params)];
      assert.notEqual(texts[0], texts[1]);
      assert.equal(await textOf(one, endpoint.path, params), texts[0]);
      assert.equal(await textOf(other, endpoint.path, params), texts[1]);
    }
  });
});

describe("data that changes under a request", () => {
  // February 2026 becomes complete, and its units change, in one transaction.
  const OLD_AS_OF = "2026-02-15T06:00:00Z";
  const NEW_AS_OF = "2026-07-01T06:00:00Z";
  const PARAMS = { start_month: "2026-01", end_month: "2026-02" };

  /** Locks a table, runs `work` until its statements wait for it, changes the tenant's data and commits. */
  async function changeBehind(
    { shopKey }: Tenant,
    { table, readiness = "ready" }: { table: string; readiness?: string },
    work: () => Promise<void>,
  ): Promise<void> {
    const holder = await service.database.connect();
    try {
      await holder.query("begin");
      await holder.query(`lock table ${table} in access exclusive mode`);
      await work();
      for (const changed of ["cohort", "group_day"])
        await holder.query(
          `update ${changed} set sold_units = 1000, returned_units = null where shop_key = $1`,
          [shopKey],
        );
      await holder.query(
        "update workspace set data_as_of = $2, readiness = $3, data_version = data_version + 1 where shop_key = $1",
        [shopKey, NEW_AS_OF, readiness],
      );
      await holder.query("commit");
    } finally {
      holder.release(true);
    }
  }

  async function untilReadingWaits(): Promise<void> {
    const isWaiting = async (): Promise<boolean> => {
      const { rowCount } = await service.database.query(
        `select from pg_stat_activity
          where datname = current_database() and application_name = 'returns-reading' and wait_event_type = 'Lock'`,
      );
      return rowCount !== 0;
    };
    await eventually(isWaiting, "the request waits for the lock", 30);
  }

  for (const { path, table, params } of [
    { path: TIMESERIES, table: "cohort", params: { ...PARAMS, include_incomplete: "true" } },
    // The statement of the sale event's days comes after that of the other figures.
    {
      path: report.path,
      table: "group_day",
      params: { ...MONTHS, include_incomplete: "true", saleEvent: "summer" },
    },
  ]) {
    test(`M5: an answer in progress is entirely of its snapshot: ${path}, waiting for ${table}`, async () => {
      const tenant = await seededTenant({ dataAsOf: OLD_AS_OF });
      const { token } = tenant;
      const old = (await without.call(path, { token, params })).text;
      let asked = Promise.resolve("");
      await changeBehind(tenant, { table }, async () => {
        asked = textOf(tenant, path, params);
        await untilReadingWaits();
      });
      assert.equal(await asked, old);
      assert.equal(await countedRequests(service.database, tenant), 2);
      const changed = (await without.call(path, { token, params })).text;
      assert.notEqual(changed, old);
      assert.equal(await textOf(tenant, path, params), changed, "the old answer is not given any more");
    });
  }

  /** Asks a server whose one reading connection another tenant's request holds until the data has changed. */
  async function askBeforeChange(tenant: Tenant, readiness: string) {
    const other = await seededTenant();
    const ask = ({ token }: Tenant) => narrow.call(TIMESERIES, { token, params: PARAMS });
    let asked: Promise<CalledAnswer>[] = [];
    await changeBehind(tenant, { table: "cohort", readiness }, async () => {
      const first = ask(other);
      await untilReadingWaits();
      asked = [first, ask(tenant)];
      const isAdmitted = async (): Promise<boolean> =>
        (await countedRequests(service.database, tenant)) === 1;
      await eventually(isAdmitted, "the request is admitted", 30);
    });
    const [, answer] = await Promise.all(asked);
    assert.equal(await countedRequests(service.database, tenant), 1);
    return { answer: answer as CalledAnswer, askAgain: () => ask(tenant) };
  }

  test("M5: data committed between admission and reading is answered completely, counted once, and cached", async () => {
    const tenant = await seededTenant({ dataAsOf: OLD_AS_OF });
    const { answer, askAgain } = await askBeforeChange(tenant, "ready");
    const { rows } = answer.json().data as unknown as { rows: Record<string, unknown>[] };
    assert.deepEqual(
      rows.map((row) => [row["cohort_month"], row["sold_units"], row["is_complete"]]),
      [
        ["2026-01-01", 1000, true],
        ["2026-02-01", 1000, true],
      ],
    );
    await halveCohorts(tenant);
    assert.equal((await askAgain()).text, answer.text, "it was not remembered");
  });

  test("is not served if the workspace is no longer ready", async () => {
    const tenant = await seededTenant({ dataAsOf: OLD_AS_OF });
    const { answer } = await askBeforeChange(tenant, "backfilling");
    assert.equal(answer.status, 409, answer.text);
    assert.match(answer.text, /"not_ready"/u);
  });
});
