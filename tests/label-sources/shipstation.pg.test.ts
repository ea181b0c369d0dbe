import assert from "node:assert/strict";
import { after, test } from "node:test";
import { shipStationLabel as label } from "../../simulators/shipstation/labels.ts";
import type { ShipStationLabel } from "../../simulators/shipstation/labels.ts";
import { startShipStationSimulator } from "../../simulators/shipstation/server.ts";
import type { ShipStationSimulator } from "../../simulators/shipstation/server.ts";
import { startImportShop } from "../support/import-shop.ts";
import { inside } from "../support/inside.ts";
import {
  connectLabels,
  orderWithReturn,
  putOrders,
  readShares,
  SMALL_PAGES,
  syncLabels,
  tracking,
} from "../support/label-shop.ts";
import { labelConnector } from "../../src/sync/connectors/kit/label-run.ts";
import { SHIPSTATION } from "../../src/sync/connectors/shipstation/connector.ts";
import { use } from "../support/use.ts";

const connector = labelConnector(SHIPSTATION, SMALL_PAGES);

const shop = use(startImportShop);
const simulators: ShipStationSimulator[] = [];

after(async () => {
  for (const simulator of simulators) await simulator.stop();
});

test("M10: only return labels that were charged are stored, each under the return of its tracking number", async () => {
  const { shopKey, simulator } = await open(
    [1, 2, 3],
    [
      label({ labelId: "se-1", trackingNumber: "T1", amount: 4.35 }),
      label({ labelId: "se-2", trackingNumber: "T2", isReturnLabel: false }),
      label({ labelId: "se-3", trackingNumber: "T3", chargeEvent: "on_carrier_acceptance" }),
      label({ labelId: "se-4", trackingNumber: "T2", chargeEvent: "carrier_default", amount: 0.07 }),
      label({ labelId: "se-5", trackingNumber: "T2", status: "error" }),
    ],
  );
  const outcome = await syncLabels(shop, shopKey, connector, simulator);
  assert.deepEqual(await readShares(shop, shopKey), ["1 se-1 435 lag 5", "2 se-4 7 lag 5"]);
  assert.deepEqual(outcome, {
    counts: { labels: 2, changed_labels: 2, voided: 0, unmatched: 0, foreign: 0 },
    notes: [],
  });
});

test("M10: a label charged on acceptance is charged at the first scan, once there is one", async () => {
  const { shopKey, simulator } = await open(
    [1],
    [label({ labelId: "se-1", trackingNumber: "T1", chargeEvent: "on_carrier_acceptance" })],
  );
  await syncLabels(shop, shopKey, connector, simulator);
  assert.deepEqual(await readLabels(shopKey), []);
  simulator.control.scan("se-1", "2026-01-25T08:00:00.000Z");
  await syncLabels(shop, shopKey, connector, simulator);
  assert.deepEqual(await readLabels(shopKey), ["se-1 2026-01-25 null"]);
  assert.deepEqual(await readShares(shop, shopKey), ["1 se-1 500 lag 20"]);
  const asked = simulator.control.requests.filter((path) => path.endsWith("/track")).length;
  await syncLabels(shop, shopKey, connector, simulator);
  assert.equal(simulator.control.requests.filter((path) => path.endsWith("/track")).length, asked);
});

test("M10: a voided label is no spend, before it was stored and after", async () => {
  const { shopKey, simulator } = await open(
    [1, 2],
    [
      label({
        labelId: "se-1",
        trackingNumber: "T1",
        status: "voided",
        voidedAt: "2026-01-11T00:00:00.000Z",
      }),
      label({ labelId: "se-2", trackingNumber: "T2" }),
    ],
  );
  const first = await syncLabels(shop, shopKey, connector, simulator);
  assert.equal(first.counts["voided"], 1);
  assert.deepEqual(await readShares(shop, shopKey), ["2 se-2 500 lag 5"]);
  simulator.control.void("se-2", "2026-02-01T00:00:00.000Z");
  const second = await syncLabels(shop, shopKey, connector, simulator);
  assert.deepEqual([second.counts["changed_labels"], second.counts["voided"]], [1, 2]);
  assert.deepEqual(await readShares(shop, shopKey), []);
  assert.equal(await cohortMinor(shopKey), 0);
});

async function open(orders: number[], labels: ShipStationLabel[]) {
  const shopKey = await shop.open();
  await connectLabels(shop, shopKey, "shipstation");
  await putOrders(
    shop,
    shopKey,
    orders.map((number) => orderWithReturn(number, tracking(number, `T${number}`))),
  );
  const simulator = await startShipStationSimulator({ labels, requests: 10_000 });
  simulators.push(simulator);
  return { shopKey, simulator };
}

async function readLabels(shopKey: number): Promise<string[]> {
  const rows = await shop.rows<{ label: string }>(
    `select concat_ws(' ', label_id, (charged_at at time zone 'UTC')::date,
                      coalesce((voided_at at time zone 'UTC')::date::text, 'null')) as label
       from return_label where shop_key = $1 order by label_id`,
    [shopKey],
  );
  return rows.map((row) => row.label);
}

async function cohortMinor(shopKey: number): Promise<number> {
  const [row] = await shop.rows<{ minor: number }>(
    `select coalesce(sum(${inside("label_minor", "lifetime")}), 0) as minor from cohort where shop_key = $1`,
    [shopKey],
  );
  return row?.minor ?? -1;
}
