import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import {
  shipStationLabel as label,
  startShipStationSimulator,
} from "../../tools/simulators/shipstation/server.ts";
import type { SimulatedLabel, ShipStationSimulator } from "../../tools/simulators/shipstation/server.ts";
import { startImportWorkspace } from "../support/import-workspace.ts";
import {
  QUICK,
  SMALL_PAGES,
  connectLabels,
  orderWithReturn,
  putOrders,
  readShares,
  syncLabels,
  tracking,
} from "../support/label-shop.ts";
import { labelConnector } from "../../src/sync/connectors/shared/label-run.ts";
import { SHIPSTATION } from "../../src/sync/connectors/shipstation/connector.ts";
import { use } from "../support/use.ts";
import { SourceRefused } from "../../src/sync/connector.ts";

const connector = labelConnector(SHIPSTATION, SMALL_PAGES);
const shop = use(startImportWorkspace);

test("M10: only return labels that were charged are stored, each under the return of its tracking number", async (context) => {
  const { shopKey, simulator } = await open(
    context,
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
    isChanged: true,
  });
});

test("M10: a label charged on acceptance is charged at the first scan, once there is one", async (context) => {
  const { shopKey, simulator } = await open(
    context,
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

async function open(context: TestContext, orders: number[], labels: SimulatedLabel[]) {
  const shopKey = await shop.open();
  await connectLabels(shop, shopKey, "shipstation");
  await putOrders(
    shop,
    shopKey,
    orders.map((number) => orderWithReturn(number, tracking(number, `T${number}`))),
  );
  const simulator = await startShipStationSimulator({ labels, requests: 10_000 });
  context.after(() => simulator.stop());
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

test("a second run without changes reads one page and changes nothing, including the data version", async (context) => {
  const { shopKey, simulator } = await open(context, [1], manyLabels(400));
  await syncLabels(shop, shopKey, labelConnector(SHIPSTATION, QUICK), simulator);
  const [dump, state] = [await shop.dump(shopKey), await stateOf(shopKey)];
  const asked = simulator.control.requests.length;
  const outcome = await syncLabels(shop, shopKey, labelConnector(SHIPSTATION, QUICK), simulator);
  assert.equal(simulator.control.requests.length - asked, 1);
  assert.deepEqual(await shop.dump(shopKey), dump);
  assert.deepEqual(await stateOf(shopKey), state);
  assert.equal(outcome.counts["changed_labels"], 0);
});

test("changes anywhere in the list are found, also between unchanged labels", async (context) => {
  const { shopKey, simulator } = await open(context, [1, 2], manyLabels(400));
  await syncLabels(shop, shopKey, connector, simulator);
  simulator.control.put(
    label({ labelId: "se-new", trackingNumber: "T1", createdAt: "2026-05-30T00:00:00.000Z" }),
  );
  simulator.control.void("se-0007", "2026-05-31T00:00:00.000Z");
  simulator.control.void("se-0390", "2026-05-31T00:00:00.000Z");
  const asked = simulator.control.requests.length;
  const outcome = await syncLabels(shop, shopKey, connector, simulator);
  assert.deepEqual([outcome.counts["changed_labels"], outcome.counts["voided"]], [3, 2]);
  assert.equal(simulator.control.requests.length - asked, 6);
});

test("no label is lost if labels are created, scanned and voided while the list is read, in any kind of run", async (context) => {
  const labels = changingLabels();
  const still = await open(context, [1], labels);
  for (const round of [1, 2, 3]) changeLabels(still.simulator, round);
  await syncLabels(shop, still.shopKey, connector, still.simulator);
  const expected = (await shop.dump(still.shopKey))["return_label"];
  assert.equal(expected?.length, 63);
  const tomorrow = { now: () => new Date("2026-06-02T07:00:00.000Z") };
  for (const answers of [1, 2, 5]) {
    const { shopKey, simulator } = await open(context, [1], labels);
    for (const [round, changes] of [
      [1, {}],
      [2, {}],
      [3, tomorrow],
    ] as const) {
      simulator.control.changeAfter(answers, () => changeLabels(simulator, round));
      await syncLabels(shop, shopKey, connector, simulator, changes);
    }
    await syncLabels(shop, shopKey, connector, simulator, tomorrow);
    assert.deepEqual((await shop.dump(shopKey))["return_label"], expected, `after ${answers} answers`);
  }
});

test("once a day recent labels are read again, wherever they are in the list", async (context) => {
  const { shopKey, simulator } = await open(context, [1], manyLabels(150));
  await syncLabels(shop, shopKey, connector, simulator);
  const hidden = simulator.control.labels()[20] as SimulatedLabel;
  simulator.control.put({ ...hidden, amount: 99 });
  const now = () => new Date("2026-06-02T07:00:00.000Z");
  const soon = await syncLabels(shop, shopKey, connector, simulator);
  assert.equal(soon.counts["changed_labels"], 0);
  const nextDay = await syncLabels(shop, shopKey, connector, simulator, { now });
  assert.equal(nextDay.counts["changed_labels"], 1);
  const asked = simulator.control.requests.length;
  await syncLabels(shop, shopKey, connector, simulator, { now });
  assert.ok(simulator.control.requests.length - asked < 15);
});

test("if older orders appear, the next run also reads the labels of their time", async (context) => {
  const { shopKey, simulator } = await open(
    context,
    [1],
    [
      label({ labelId: "se-old", createdAt: "2025-06-01T00:00:00.000Z", trackingNumber: "T9" }),
      label({ labelId: "se-1", trackingNumber: "T1" }),
    ],
  );
  const first = await syncLabels(shop, shopKey, connector, simulator);
  assert.equal(first.counts["labels"], 1);
  await putOrders(shop, shopKey, [
    orderWithReturn(9, { orderedAt: "2025-05-20T00:00:00.000Z", ...tracking(9, "T9") }),
  ]);
  const second = await syncLabels(shop, shopKey, connector, simulator);
  assert.equal(second.counts["labels"], 2);
  assert.deepEqual(await readShares(shop, shopKey), ["1 se-1 500 lag 5", "9 se-old 500 lag 12"]);
});

test("a run that is aborted between pages changes nothing served, and the next one continues there", async (context) => {
  const labels = manyLabels(60);
  const { shopKey, simulator } = await open(context, [1], labels);
  const undisturbed = await open(context, [1], labels);
  await syncLabels(shop, undisturbed.shopKey, connector, undisturbed.simulator);
  const served = await shop.dump(shopKey);
  for (const stopAfter of [1, 2]) {
    const worker = new AbortController();
    let pages = 0;
    const run = syncLabels(shop, shopKey, connector, simulator, {
      signal: worker.signal,
      progress: () => {
        if ((pages += 1) === stopAfter) worker.abort(new Error("the worker stops"));
      },
    });
    await assert.rejects(run, /the worker stops/);
    assert.deepEqual(await shop.dump(shopKey), served);
    assert.equal((await stateOf(shopKey)).cursor, null);
  }
  simulator.control.void("se-0050", "2026-05-31T00:00:00.000Z");
  simulator.control.void("se-0001", "2026-05-31T00:00:01.000Z");
  const asked = simulator.control.requests.length;
  await syncLabels(shop, shopKey, connector, simulator);
  assert.equal(simulator.control.requests.length - asked, 3);
  undisturbed.simulator.control.void("se-0050", "2026-05-31T00:00:00.000Z");
  undisturbed.simulator.control.void("se-0001", "2026-05-31T00:00:01.000Z");
  await syncLabels(shop, shopKey, connector, simulator);
  await syncLabels(shop, undisturbed.shopKey, connector, undisturbed.simulator);
  assert.deepEqual(await shop.dump(shopKey), await shop.dump(undisturbed.shopKey));
  const left = await shop.rows("select from sync_record where shop_key = $1", [shopKey]);
  assert.equal(left.length, 0);
});

test("a refused key is SourceRefused, changed types are SourceFailed, and both leave the data as it was", async (context) => {
  const { shopKey, simulator } = await open(context, [1], manyLabels(30));
  await syncLabels(shop, shopKey, connector, simulator);
  const [dump, state] = [await shop.dump(shopKey), await stateOf(shopKey)];
  simulator.control.fail({ kind: "changed_types" });
  await assert.rejects(
    syncLabels(shop, shopKey, connector, simulator),
    /^SourceFailed: ShipStation's answer cannot be read: LabelList\.labels should be a list, and is [a-z ]+\.$/u,
  );
  simulator.control.setApiKey(null);
  await assert.rejects(
    syncLabels(shop, shopKey, connector, simulator),
    new SourceRefused(
      "ShipStation does not accept this API key (status 401): check it under Settings → API Settings, and connect it again.",
    ),
  );
  const { url, apiKey } = simulator;
  const place = { url, secrets: { apiKey }, signal: new AbortController().signal };
  await assert.rejects(connector.check(place), SourceRefused);
  simulator.control.setApiKey(simulator.apiKey);
  await connector.check(place);
  assert.deepEqual(await shop.dump(shopKey), dump);
  assert.deepEqual(await stateOf(shopKey), state);
});

/** Return labels on distinct days from January on; only the first is matched. */
function manyLabels(count: number): SimulatedLabel[] {
  return Array.from({ length: count }, (_, index) =>
    label({
      labelId: `se-${String(index).padStart(4, "0")}`,
      createdAt: new Date(Date.UTC(2026, 0, 6, 0, index * 60)).toISOString(),
      trackingNumber: index === 0 ? "T1" : `X${index}`,
      amount: index / 100,
    }),
  );
}

/** Sixty labels, every fourth one charged when it is scanned. */
function changingLabels(): SimulatedLabel[] {
  return manyLabels(60).map((made, index) => ({
    ...made,
    chargeEvent: index % 4 === 0 ? "on_carrier_acceptance" : "on_creation",
  }));
}

/** Creates a label, voids fifteen and scans five, spread over the list, other ones in each of three rounds. */
function changeLabels({ control }: ShipStationSimulator, round: number): void {
  const at = `2026-06-01T05:0${round}:00.000Z`;
  const labelId = (index: number): string => `se-${String(index).padStart(4, "0")}`;
  control.put(label({ labelId: `se-new-${round}`, createdAt: at }));
  for (let index = round; index < 60; index += 4) control.void(labelId(index), at);
  for (let index = (round - 1) * 4; index < 60; index += 12) control.scan(labelId(index), at);
}

async function stateOf(shopKey: number) {
  const [row] = await shop.rows<{ data_version: number; data_as_of: Date | null; cursor: unknown }>(
    `select w.data_version, w.data_as_of, s.cursor
       from workspace w left join data_source s on s.shop_key = w.shop_key and s.source = 'shipstation'
      where w.shop_key = $1`,
    [shopKey],
  );
  return { cursor: null, ...row };
}
