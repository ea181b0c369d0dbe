import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { generateLoopReturns, startLoopSimulator } from "../../tools/simulators/loop/server.ts";
import {
  generateShipStationLabels,
  shipStationLabel,
  startShipStationSimulator,
} from "../../tools/simulators/shipstation/server.ts";
import { diagnoseConnections } from "../../src/operations/doctor.ts";
import { setSourceStatus } from "../../src/store/queries/data-source.ts";
import { connectionHealth } from "../../src/store/queries/worker-health.ts";
import { SourceRefused } from "../../src/sync/connector.ts";
import { labelConnector } from "../../src/sync/connectors/shared/label-run.ts";
import { LOOP } from "../../src/sync/connectors/loop/connector.ts";
import { SHIPSTATION } from "../../src/sync/connectors/shipstation/connector.ts";
import { csv, startImportWorkspace } from "../support/import-workspace.ts";
import {
  connectLabels,
  NOW,
  orderGid,
  orderWithReturn,
  putOrders,
  QUICK,
  returnGid,
  syncLabels,
  tracking,
} from "../support/label-shop.ts";
import { service } from "../support/shared-service.ts";
import { createTenant, type Tenant } from "../support/tenants.ts";
import { use } from "../support/use.ts";

const LABELS = "label_id,order_id,return_id,charged_at,amount,currency,voided_at";
const END = "2026-05-30T00:00:00.000Z";
const ORDERS = 120;

const shop = use(startImportWorkspace);

test("M10: a year of ShipStation labels gives the same cohort rows as the same labels imported as CSV", async (context) => {
  const labels = generateShipStationLabels({ seed: 3, count: ORDERS * 3, currencyCode: "EUR", now: END });
  const trackings = labels.map((label) => label.trackingNumber ?? "");
  // Two of three labels are outbound; every fifth return label belongs to no return.
  const orders = labels
    .filter((label, index) => label.isReturnLabel && index % 5 !== 0)
    .map((label, index) =>
      orderWithReturn(index, { units: 1 + (index % 4), ...tracking(index, label.trackingNumber ?? "") }),
    );
  const numberOf = new Map(orders.map((order, index) => [order.trackings?.[0]?.trackingNumber, index]));
  const rows = labels
    .filter((label) => label.isReturnLabel)
    .flatMap((label, index) => {
      const chargedAt = label.chargeEvent === "on_carrier_acceptance" ? label.scannedAt : label.createdAt;
      if (chargedAt === null || Date.parse(label.createdAt) < Date.parse("2026-01-01")) return [];
      const number = numberOf.get(trackings[index * 3]);
      const returnId = number === undefined ? "" : returnGid(number);
      return [`${label.labelId},,${returnId},${chargedAt},${label.amount},EUR,`];
    });
  assert.ok(rows.length > 30);
  const simulator = await startShipStationSimulator({ labels, requests: 10_000 });
  context.after(() => simulator.stop());
  const { synced, imported } = await openTwins("shipstation", orders);
  const { counts } = await syncLabels(shop, synced, labelConnector(SHIPSTATION, QUICK), simulator);
  assert.equal(counts["labels"], rows.length);
  await importLabels(imported, rows);
  await assertTwins(synced, imported);
});

test("M10: a year of Loop labels gives the same cohort rows as the same labels imported as CSV", async (context) => {
  const returns = generateLoopReturns({ seed: 4, count: ORDERS, currencyCode: "EUR", now: END }).map(
    (returned, index) => ({ ...returned, providerOrderId: String(index) }),
  );
  const orders = returns
    .slice(0, 100)
    .map((_, index) =>
      orderWithReturn(index, { units: 1 + (index % 4), orderedAt: "2025-05-01T00:00:00.000Z" }),
    );
  const rows = returns.flatMap((returned) =>
    returned.labels.map(
      (label) =>
        `${returned.id}:${label.trackingNumber},${orderGid(Number(returned.providerOrderId))},,${returned.createdAt},${(Number(label.rate) / 100).toFixed(2)},EUR,`,
    ),
  );
  const simulator = await startLoopSimulator({ returns, requests: 10_000 });
  context.after(() => simulator.stop());
  const { synced, imported } = await openTwins("loop", orders);
  const { counts, notes } = await syncLabels(shop, synced, labelConnector(LOOP, QUICK), simulator);
  assert.equal(counts["labels"], rows.length);
  assert.match(
    notes.join(),
    /^Unmatched spend: \d+\.\d\d EUR, \d+ labels of Loop that belong to no known returned line\.$/u,
  );
  await importLabels(imported, rows);
  await assertTwins(synced, imported);
});

test("M10: matched labels are in the report's costs, unmatched ones in its unmatched spend; the store's as-of is unchanged", async (context) => {
  const { tenant, sync } = await openServed(context, "eur");
  assert.equal((await costsOf(tenant)).included, false);
  const outcome = await sync();
  assert.deepEqual(await costsOf(tenant), { included: true, label: 5, unmatched: 7.5 });
  assert.equal(outcome.counts["unmatched"], 1);
  assert.deepEqual(outcome.notes, [
    "Unmatched spend: 7.50 EUR, 1 label of ShipStation that belongs to no known returned line.",
  ]);
  const { rows } = await service.database.query("select data_as_of from workspace where shop_key = $1", [
    tenant.shopKey,
  ]);
  assert.deepEqual(rows, [{ data_as_of: new Date(AS_OF) }]);
});

test("a run that only rolls up months that waited for it raises the data version: cached answers are of the months before", async (context) => {
  const { tenant, sync } = await openServed(context, "eur");
  const { shopKey } = tenant;
  const version = async (): Promise<number> => {
    const { rows } = await service.database.query("select data_version from workspace where shop_key = $1", [
      shopKey,
    ]);
    return Number((rows[0] as { data_version: string }).data_version);
  };
  await sync();
  const before = await version();
  assert.equal((await sync()).isChanged, false);
  assert.equal(await version(), before);
  // As an earlier version of the service leaves it during an upgrade.
  await service.database.query(
    "update cohort set has_day_money = null where shop_key = $1 and entity_kind = 'workspace'",
    [shopKey],
  );
  assert.equal((await sync()).isChanged, true);
  assert.equal(await version(), before + 1);
  await sync();
  assert.equal(await version(), before + 1);
});

test("M10: labels in another currency make the source unusable; the run says so, and afterwards doctor", async (context) => {
  const { tenant, sync } = await openServed(context, "usd");
  const outcome = await sync();
  assert.equal(outcome.counts["foreign"], 2);
  assert.deepEqual(outcome.notes, [
    "ShipStation has labels in USD and the shop's currency is EUR: its label costs are not counted.",
  ]);
  assert.deepEqual(await costsOf(tenant), { included: false, label: 0, unmatched: null });
  const { rows } = await service.database.query(
    "select currency_code, status from data_source where shop_key = $1 and source = 'shipstation'",
    [tenant.shopKey],
  );
  assert.deepEqual(rows, [{ currency_code: "USD", status: "ok" }]);
  const health = await connectionHealth(service.installation.database, {
    staleSince: new Date(0),
    interruptedRuns: 5,
    most: 1000,
  });
  const ours = health.filter((row) => row.shop_domain === tenant.shopDomain);
  assert.deepEqual(
    diagnoseConnections(ours, new Date(NOW)).map(({ problems }) => problems),
    [["shipstation has labels in USD, which is not the shop's currency: its costs are not used"]],
  );
});

test("M10: voided labels in another currency leave the source usable, and the run does not mention them", async (context) => {
  const { tenant, sync } = await openServed(context, "usd", "2026-01-11T00:00:00.000Z");
  const outcome = await sync();
  assert.deepEqual([outcome.counts["voided"], outcome.counts["foreign"]], [2, 0]);
  assert.deepEqual(outcome.notes, []);
  assert.deepEqual(await costsOf(tenant), { included: true, label: 0, unmatched: 0 });
});

test("a source whose key was revoked keeps its labels served until it is reported as failed", async (context) => {
  const { tenant, simulator, sync } = await openServed(context, "eur");
  await sync();
  simulator.control.setApiKey("another");
  await assert.rejects(sync(), SourceRefused);
  assert.deepEqual(await costsOf(tenant), { included: true, label: 5, unmatched: 7.5 });
  const { database } = service.installation;
  await setSourceStatus(database, tenant.shopKey, "shipstation", "failed", "The key was refused.");
  assert.equal((await costsOf(tenant)).included, false);
  simulator.control.setApiKey(simulator.apiKey);
  await sync();
  assert.deepEqual(await costsOf(tenant), { included: true, label: 5, unmatched: 7.5 });
});

const AS_OF = "2026-07-01T06:00:00.000Z";

/** Two shops of the same orders, one of them connected. */
async function openTwins(source: string, orders: ReturnType<typeof orderWithReturn>[]) {
  const [synced, imported] = [await shop.open(), await shop.open()];
  await connectLabels(shop, synced, source);
  for (const shopKey of [synced, imported]) await putOrders(shop, shopKey, orders);
  return { synced, imported };
}

async function importLabels(shopKey: number, rows: string[]): Promise<void> {
  const lines = csv("order_id,line_id,ordered_at,units");
  const result = await shop.import(shopKey, {
    "order_lines.csv": lines,
    "return_labels.csv": csv(LABELS, ...rows),
  });
  assert.deepEqual(result.invalid, []);
}

async function assertTwins(synced: number, imported: number): Promise<void> {
  const [one, other] = [await shop.dump(synced), await shop.dump(imported)];
  assert.ok(other["label_share"]?.length);
  assert.deepEqual(one["cohort"], other["cohort"]);
  assert.deepEqual(one["dirty_cohort"], []);
}

/** A served shop with one return and two labels, one of which matches nothing; `sync` reads them. */
async function openServed(context: TestContext, currency: string, voidedAt: string | null = null) {
  const tenant = await createTenant(service.database, { dataAsOf: AS_OF });
  const { shopKey } = tenant;
  const store = service.installation;
  await connectLabels(store, shopKey, "shipstation");
  await putOrders(store, shopKey, [orderWithReturn(1, tracking(1, "T1"))]);
  const common = voidedAt === null ? { currency } : { currency, voidedAt, status: "voided" as const };
  const simulator = await startShipStationSimulator({
    labels: [
      shipStationLabel({ labelId: "se-1", trackingNumber: "T1", amount: 5, ...common }),
      shipStationLabel({ labelId: "se-2", trackingNumber: "T2", amount: 7.5, ...common }),
    ],
  });
  context.after(() => simulator.stop());
  const sync = () => syncLabels(store, shopKey, labelConnector(SHIPSTATION, QUICK), simulator);
  return { tenant, simulator, sync };
}

async function costsOf(tenant: Tenant) {
  const params = {
    start_month: "2026-01",
    end_month: "2026-02",
    window: "lifetime",
    include_incomplete: true,
  };
  const answer = await service.call("/api/v1/report", { token: tenant.token, params });
  assert.equal(answer.status, 200, answer.text);
  const data = answer.json().data as unknown as {
    label_costs_included: boolean;
    summary: { return_label_cost: number };
    costs: { unmatched_label_cost: number | null };
  };
  return {
    included: data.label_costs_included,
    label: data.summary.return_label_cost,
    unmatched: data.costs.unmatched_label_cost,
  };
}
