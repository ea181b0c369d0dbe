import assert from "node:assert/strict";
import { test } from "node:test";
import { createStoreTenant, importStore, type StoreTenant } from "../../tests/support/import-store.ts";
import { untilLockIsAwaited } from "../../tests/support/locks.ts";
import { service } from "../../tests/support/shared-service.ts";
import { changeWorkspace, insertRows, type Tenant } from "../../tests/support/tenants.ts";
import { lockWorkspace } from "../store/queries/import-stage.ts";
import { evaluateAlerts } from "./evaluate-alerts.ts";

const NOW = new Date("2026-07-01T06:00:00Z");
const HOUR_MS = 3_600_000;
const MONTHS = ["2025-11", "2025-12", "2026-01", "2026-02", "2026-03", "2026-04", "2026-05", "2026-06"];
/** The newest month that is complete at NOW in the primary window. */
const NEWEST = "2026-05";
const HOSTILE = `<img src=x onerror="alert(1)">';drop table alert;--`;

/** 25 SKUs that spike in the newest complete month; the first ones have more returns. */
const SPIKING = Array.from({ length: 25 }, (_, index) =>
  index === 2 ? HOSTILE : `LAMP-${String(index + 1).padStart(2, "0")}`,
);

type Alert = {
  category: string;
  severity: string;
  title: string;
  body: string | null;
  metadata: Record<string, unknown>;
};

const newTenant = (): Promise<StoreTenant> => createStoreTenant(service);
const evaluate = (tenant: Tenant, now = NOW) =>
  evaluateAlerts({ database: service.installation.database, shopKey: tenant.shopKey, now });

/** The API's alerts of one category, oldest first. */
async function told({ ask }: StoreTenant, category: string): Promise<Alert[]> {
  const answer = await ask("/api/v1/alerts", { category, limit: 100 });
  return (answer.json().data as unknown as Alert[]).toReversed();
}

async function importLamps(tenant: Tenant, asOf = "2026-07-01T00:00:00Z") {
  const lines = SPIKING.flatMap((sku, index) =>
    MONTHS.map((month) => ({
      sku,
      month,
      id: `${month} ${index}`,
      returned: month === NEWEST ? 60 - index : 5,
    })),
  );
  return importStore(service, tenant, {
    asOf,
    files: {
      products: SPIKING.map((_, index) => ({
        product_id: String(index),
        title: `Lamp ${index}`,
        family: index === 24 ? "Rare" : "Lighting",
        analytics_category: "Home",
      })),
      variants: SPIKING.map((sku, index) => ({ variant_id: `v${index}`, product_id: String(index), sku })),
      order_lines: lines.map(({ sku, month, id }) => ({
        order_id: id,
        line_id: "1",
        ordered_at: `${month}-03T10:00:00Z`,
        variant_id: `v${SPIKING.indexOf(sku)}`,
        units: 100,
      })),
      refunds: lines.map(({ month, id, returned }) => ({
        refund_id: `refund of ${id}`,
        order_id: id,
        line_id: "1",
        refunded_at: `${month}-20T10:00:00Z`,
        units: returned,
        subtotal: "1.00",
      })),
    },
  });
}

/** A lamp that comes back twice as often in the newest month, beside boxes; orders of so many of either come back completely. */
async function importLampBesideBoxes(tenant: Tenant, { lamps, boxes }: { lamps: number; boxes: number }) {
  const orders = MONTHS.slice(0, -1).flatMap((month) => [
    ...Array.from({ length: 100 / lamps }, (_, place) => ({
      sku: "LAMP",
      units: lamps,
      month,
      id: `${month} lamp ${place}`,
      isBack: place < (month === NEWEST ? 20 : 10) / lamps,
    })),
    ...Array.from({ length: 160 }, (_, place) => ({
      sku: "BOX",
      units: boxes,
      month,
      id: `${month} box ${place}`,
      isBack: place < 40,
    })),
  ]);
  return importStore(service, tenant, {
    asOf: "2026-07-01T00:00:00Z",
    files: {
      order_lines: orders.map(({ sku, units, month, id }) => ({
        order_id: id,
        line_id: "1",
        ordered_at: `${month}-03T10:00:00Z`,
        sku,
        units,
      })),
      refunds: orders
        .filter(({ isBack }) => isBack)
        .map(({ units, month, id }) => ({
          refund_id: id,
          order_id: id,
          line_id: "1",
          units,
          subtotal: "1.00",
          refunded_at: `${month}-20T10:00:00Z`,
        })),
    },
  });
}

const watchEntities = (tenant: Tenant, entities: readonly (readonly [string, string])[]): Promise<void> =>
  insertRows(
    service.database,
    "watchlist_entry",
    entities.map(([kind, key]) => ({ shop_key: tenant.shopKey, entity_kind: kind, entity_key: key })),
  );

test("M6, M16: if whole orders come back, a rise in units is not a spike of an entity sold in large orders", async () => {
  for (const [orders, skus] of [
    [{ lamps: 1, boxes: 1 }, ["LAMP"]],
    [{ lamps: 1, boxes: 5 }, ["LAMP"]],
    [{ lamps: 5, boxes: 5 }, []],
  ] as const) {
    const tenant = await newTenant();
    await importLampBesideBoxes(tenant, orders);
    await evaluate(tenant);
    const alerts = (await told(tenant, "return_rate_watchlist")).filter(
      ({ metadata }) => metadata["kind"] === "month",
    );
    assert.deepEqual(
      alerts.map(({ metadata }) => metadata["sku"]),
      skus,
    );
  }
});

test("M16: the 20 SKUs with the most returned units are watched automatically, entities on the watchlist too, and their alert has their selector", async () => {
  const tenant = await newTenant();
  await importLamps(tenant);
  assert.deepEqual(await evaluate(tenant), { written: 21 });
  const alerts = await told(tenant, "return_rate_watchlist");
  assert.deepEqual(new Set(alerts.map((alert) => alert.metadata["sku"])), new Set(SPIKING.slice(0, 20)));
  assert.deepEqual(alerts.find((alert) => alert.metadata["sku"] === HOSTILE)?.metadata, {
    kind: "month",
    sku: HOSTILE,
    cohort_month: NEWEST,
    sold_units: 100,
    returned_units: 58,
    return_rate: 0.58,
    baseline_rate: 0.05,
    early_warning_on: null,
    episode_id: `spike:sku:${HOSTILE}:${NEWEST}`,
    started_on: `${NEWEST}-01`,
    state: "open",
  });

  await watchEntities(tenant, [
    ["sku", "LAMP-01"],
    ["sku", "LAMP-24"],
    ["product", "gid://import/Product/24"],
    ["family", "Rare"],
    ["analytics_category", "Home"],
  ]);
  assert.deepEqual(await evaluate(tenant), { written: 4 });
  const added = (await told(tenant, "return_rate_watchlist")).slice(20);
  const selectors = added.map(({ title, metadata }) => {
    const { sku, product_gid, product_group_type, product_group_key } = metadata;
    return [title.split(" jumped")[0], sku ?? product_gid ?? [product_group_type, product_group_key]];
  });
  assert.deepEqual(selectors, [
    ["Return rate of the category Home", ["analytics_category", "Home"]],
    ["Return rate of the family Rare", ["family", "Rare"]],
    ["Return rate of Lamp 24", "gid://import/Product/24"],
    ["Return rate of LAMP-24", "LAMP-24"],
  ]);
});

test("a rerun writes nothing, and evaluations at the same time write each alert once", async () => {
  const tenant = await newTenant();
  await importLamps(tenant);
  const runs = await Promise.all([evaluate(tenant), evaluate(tenant), evaluate(tenant), evaluate(tenant)]);
  assert.deepEqual(
    runs.map((run) => run.written).toSorted((left, right) => left - right),
    [0, 0, 0, 21],
  );
  assert.deepEqual(await evaluate(tenant, new Date("2027-07-01T00:00:00Z")), { written: 0 });
  assert.equal((await told(tenant, "return_rate_watchlist")).length, 20);
});

test("M16: there is no spike below the workspace's own threshold of sold units, or without six earlier months of its own", async () => {
  const tenant = await newTenant();
  await importLamps(tenant);
  await changeWorkspace(service.database, tenant, { min_sold_units: 101 });
  await evaluate(tenant);
  assert.deepEqual(await told(tenant, "return_rate_watchlist"), []);
  await changeWorkspace(service.database, tenant, { min_sold_units: 20 });
  await service.database.query("delete from cohort where shop_key = $1 and cohort_month = '2025-11-01'", [
    tenant.shopKey,
  ]);
  await evaluate(tenant);
  assert.deepEqual(await told(tenant, "return_rate_watchlist"), []);
});

/** The ends of problems, and how many alerts are of open ones. */
async function problemsOf(tenant: StoreTenant): Promise<[ended: unknown[], open: number]> {
  const alerts = await told(tenant, "return_rate_watchlist");
  const open = await tenant.ask("/api/v1/alerts", { state: "open", limit: 100 });
  const ended = alerts.filter(({ metadata }) => metadata["kind"] === "ended");
  return [
    ended.map(({ metadata }) => metadata["episode_id"]),
    (open.json().data as unknown as Alert[]).length,
  ];
}

test("M17: a problem whose early warnings are long past does not end on the day on which its month is a spike", async () => {
  const tenant = await newTenant();
  await importLamps(tenant);
  const episode_id = "sku:LAMP-01:2026-05-10";
  await insertRows(service.database, "alert", [
    {
      shop_key: tenant.shopKey,
      alert_id: "early",
      event_key: "early_warning:sku:LAMP-01:2026-05-10",
      category: "return_rate_watchlist",
      severity: "warning",
      title: "LAMP-01 comes back more than before",
      metadata: {
        kind: "early_warning",
        episode_id,
        started_on: "2026-05-10",
        state: "open",
        sku: "LAMP-01",
      },
      created_at: "2026-05-10T06:00:00Z",
    },
  ]);
  await insertRows(service.database, "warning_episode", [
    {
      shop_key: tenant.shopKey,
      entity_kind: "sku",
      entity_key: "LAMP-01",
      started_on: "2026-05-10",
      latest_on: "2026-05-16",
      is_announced: true,
      has_warned: true,
      episode_id,
    },
  ]);
  await evaluate(tenant);
  assert.deepEqual(await problemsOf(tenant), [[], 21]);
  const spikes = await told(tenant, "return_rate_watchlist");
  const own = spikes.find(({ metadata }) => metadata["sku"] === "LAMP-01" && metadata["kind"] === "month");
  assert.deepEqual([own?.metadata["episode_id"], own?.metadata["started_on"]], [episode_id, "2026-05-10"]);
});

test("M17: a longer window, in which the month of a spike is open again, ends no problem", async () => {
  const tenant = await newTenant();
  await importLamps(tenant);
  await evaluate(tenant);
  assert.deepEqual(await problemsOf(tenant), [[], 20]);
  const { rows } = await service.database.query<{ data_version: string }>(
    "select data_version from workspace where shop_key = $1",
    [tenant.shopKey],
  );
  const data_version = Number(rows[0]?.data_version) + 1;
  await changeWorkspace(service.database, tenant, { primary_window_days: 60, data_version });
  await evaluate(tenant);
  assert.deepEqual(await problemsOf(tenant), [[], 20]);
  // June is complete in it, and nothing of it came back more than usual.
  await importLamps(tenant, "2026-09-01T00:00:00Z");
  await evaluate(tenant);
  const [ended, open] = await problemsOf(tenant);
  assert.deepEqual([ended.length, open], [20, 0]);
});

test("the first report announced is the newest one; later, every month that became complete", async () => {
  const tenant = await newTenant();
  const months = async () =>
    (await told(tenant, "report_ready")).map((alert) => alert.metadata["cohort_month"]);
  await importLamps(tenant, "2026-03-15T00:00:00Z");
  await evaluate(tenant);
  assert.deepEqual(await months(), ["2026-01"]);
  await importLamps(tenant, "2026-07-01T00:00:00Z");
  await evaluate(tenant);
  assert.deepEqual(await months(), ["2026-01", "2026-02", "2026-03", "2026-04", "2026-05"]);
  await importLamps(tenant, "2026-02-15T00:00:00Z");
  await evaluate(tenant);
  assert.equal((await months()).length, 5);
});

test("each outage of a connection is reported once; an old import is not an outage", async () => {
  const tenant = await newTenant();
  await importLamps(tenant, "2020-01-01T00:00:00Z");
  const connection = (source: string, kind: string, lastSyncedAt: string) => ({
    shop_key: tenant.shopKey,
    source,
    kind,
    is_connection: true,
    settings: {},
    last_synced_at: lastSyncedAt,
  });
  await insertRows(service.database, "data_source", [
    connection("shopify", "store", "2026-06-01T00:00:00Z"),
    connection("loop", "label_cost", "2026-06-29T12:00:00Z"),
    connection("shipstation", "label_cost", NOW.toISOString()),
  ]);
  const outages = async () =>
    (await told(tenant, "connection_stale")).map(({ severity, metadata }) => [severity, metadata]);
  const ofLoop = ["warning", { source: "loop", last_synced_at: "2026-06-29T12:00:00.000Z" }];
  const ofStore = ["critical", { source: "shopify", last_synced_at: "2026-06-01T00:00:00.000Z" }];
  assert.deepEqual(await evaluate(tenant), { written: 2 });
  assert.deepEqual(await outages(), [ofLoop, ofStore]);
  assert.deepEqual(await evaluate(tenant, new Date(NOW.getTime() + HOUR_MS)), { written: 0 });

  await service.database.query(
    "update data_source set last_synced_at = $2 where shop_key = $1 and source = 'shopify'",
    [tenant.shopKey, "2026-07-01T08:00:00Z"],
  );
  assert.deepEqual(await evaluate(tenant, new Date("2026-07-02T12:00:00Z")), { written: 0 });
  assert.deepEqual(await evaluate(tenant, new Date("2026-07-02T20:00:01Z")), { written: 2 });
  assert.deepEqual((await outages()).slice(2), [
    ["warning", { source: "shipstation", last_synced_at: NOW.toISOString() }],
    ["warning", { source: "shopify", last_synced_at: "2026-07-01T08:00:00.000Z" }],
  ]);
});

test("a connection that never synced is another outage when it is connected again; a disconnected one is none", async () => {
  const tenant = await newTenant();
  await importLamps(tenant);
  const { database } = service;
  const change = (assignments: string) =>
    database.query(`update data_source set ${assignments} where shop_key = $1 and source = 'loop'`, [
      tenant.shopKey,
    ]);
  const at = (connectedAt: string) => `settings = '{"connectedAt": "${connectedAt}"}', status = 'failed'`;
  await insertRows(database, "data_source", [
    {
      shop_key: tenant.shopKey,
      source: "loop",
      kind: "label_cost",
      is_connection: true,
      settings: {},
      created_at: "2026-06-01T00:00:00Z",
    },
  ]);
  assert.deepEqual(await evaluate(tenant, new Date("2026-06-02T12:00:01Z")), { written: 22 });
  await change("status = 'disconnected'");
  assert.deepEqual(await evaluate(tenant, new Date("2026-06-09T00:00:00Z")), { written: 0 });
  await change(at("2026-06-10T00:00:00Z"));
  assert.deepEqual(await evaluate(tenant, new Date("2026-06-11T12:00:00Z")), { written: 0 });
  assert.deepEqual(await evaluate(tenant, new Date("2026-06-11T12:00:01Z")), { written: 1 });
  const [, { body } = assert.fail()] = await told(tenant, "connection_stale");
  assert.match(body ?? "", /^It was connected at 2026-06-10 00:00 UTC, 36 hours ago\./u);

  await change(`${at("2026-06-20T00:00:00Z")}, last_error = null`);
  await change("status = 'disconnected'");
  assert.deepEqual(await evaluate(tenant, new Date("2026-06-22T00:00:00Z")), { written: 0 });
  // Refused by the source.
  await change("last_error = 'The key is not valid.'");
  assert.deepEqual(await evaluate(tenant, new Date("2026-06-22T00:00:00Z")), { written: 1 });
});

test("a workspace sees no alerts of another one, and none without data", async () => {
  const other = await newTenant();
  await importLamps(other);
  const tenant = await newTenant();
  await watchEntities(tenant, [["sku", "LAMP-01"]]);
  assert.deepEqual(await evaluate(tenant), { written: 0 });
  await assert.rejects(evaluate({ ...tenant, shopKey: 999_999 }), /the workspace does not exist/u);
});

test("an evaluation waits for a run that writes the data, and its alerts come after that run's", async () => {
  const tenant = await newTenant();
  await importLamps(tenant);
  let evaluation: Promise<{ written: number }> | undefined;
  let isDone = false;
  const releasedAt = await service.installation.database.transaction(async (connection) => {
    await lockWorkspace(connection, tenant.shopKey);
    evaluation = evaluate(tenant).finally(() => (isDone = true));
    await untilLockIsAwaited(service.installation.database);
    assert.equal(isDone, false);
    const [row] = await connection.rows<{ now: Date }>(
      { name: "test_clock", text: "select clock_timestamp() as now" },
      [],
    );
    return row?.now as Date;
  });
  assert.deepEqual(await evaluation, { written: 21 });
  const { rows } = await service.database.query<{ created_at: Date }>(
    "select min(created_at) as created_at from alert where shop_key = $1 and category <> 'backfill_completed'",
    [tenant.shopKey],
  );
  assert.ok((rows[0]?.created_at as Date) >= releasedAt);
});
