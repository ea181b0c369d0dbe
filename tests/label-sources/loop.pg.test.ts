import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { beforeEach, test, type TestContext } from "node:test";
import { loopReturn, startLoopSimulator, type SimulatedReturn } from "../../tools/simulators/loop/server.ts";
import { SourceFailed, SourceRefused } from "../../src/sync/connector.ts";
import { labelConnector, openJson } from "../../src/sync/connectors/shared/label-run.ts";
import { LOOP, openLoop, readWindow, type LoopClient } from "../../src/sync/connectors/loop/connector.ts";
import { startImportWorkspace } from "../support/import-workspace.ts";
import {
  SMALL_PAGES,
  connectLabels,
  orderWithReturn,
  putOrders,
  readShares,
  syncLabels,
} from "../support/label-shop.ts";
import { before, use } from "../support/use.ts";
import { RETRY_POLICY } from "../../src/sync/connectors/shared/http.ts";

/** The id of a return's label. */
const loopLabel = (returnId: number, trackingNumber: string): string =>
  `${returnId}:${createHash("sha256").update(trackingNumber).digest("hex").slice(0, 16)}`;

const connector = labelConnector(LOOP, SMALL_PAGES);
const shop = use(startImportWorkspace);

test("M10: labels are charged when their return was created; rates are cents, label_rate is an amount", async (context) => {
  const { shopKey, simulator } = await open(context, [
    loopReturn({ id: "1", providerOrderId: "1", labels: [label("T1", 435)] }),
    loopReturn({ id: "2", providerOrderId: "2", labelRate: "7.05", trackingNumber: "T2" }),
    loopReturn({ id: "3", providerOrderId: "3", labels: [label("T3", null)] }),
    loopReturn({ id: "4", providerOrderId: "4" }),
    loopReturn({
      id: "5",
      providerOrderId: "5",
      labels: [{ ...label("T5", 100), createdAt: "2026-01-15T00:00:00.000Z" }, label("T6", "2.50")],
    }),
  ]);
  const { counts } = await syncLabels(shop, shopKey, connector, simulator);
  assert.deepEqual(await readShares(shop, shopKey), [
    `1 ${loopLabel(1, "T1")} 435 lag 5`,
    `2 ${loopLabel(2, "T2")} 705 lag 5`,
    `5 ${loopLabel(5, "T5")} 100 lag 10`,
    `5 ${loopLabel(5, "T6")} 250 lag 5`,
  ]);
  assert.deepEqual(counts, { labels: 4, changed_labels: 4, voided: 0, unmatched: 0, foreign: 0 });
});

test("M10: a label that is voided later is not charged, and keeps the time of its void", async (context) => {
  const { shopKey, simulator } = await open(context, [
    loopReturn({ id: "1", providerOrderId: "1", labels: [label("T1", 435)] }),
  ]);
  await syncLabels(shop, shopKey, connector, simulator);
  simulator.control.void("1", "2026-06-01T05:55:00.000Z");
  const { counts } = await syncLabels(shop, shopKey, connector, simulator);
  assert.deepEqual([counts["voided"], counts["changed_labels"]], [1, 1]);
  assert.deepEqual(await readShares(shop, shopKey), []);
  simulator.control.void("1", "2026-06-01T05:56:00.000Z");
  const again = await syncLabels(shop, shopKey, connector, simulator);
  assert.equal(again.counts["changed_labels"], 0);
});

test("M10: a label that its return no longer has, or that has no price any more, is removed", async (context) => {
  const { shopKey, simulator } = await open(context, [
    loopReturn({ id: "1", providerOrderId: "1", labels: [label("T1", 400)] }),
    loopReturn({ id: "11", providerOrderId: "2", labels: [label("T2", 500)] }),
  ]);
  await syncLabels(shop, shopKey, connector, simulator);
  const replaced = { id: "1", providerOrderId: "1", updatedAt: "2026-06-01T05:55:00.000Z" };
  simulator.control.put(loopReturn({ ...replaced, labels: [label("T1b", 450)] }));
  const { counts } = await syncLabels(shop, shopKey, connector, simulator);
  assert.equal(counts["changed_labels"], 2);
  assert.deepEqual(await readShares(shop, shopKey), [
    `1 ${loopLabel(1, "T1b")} 450 lag 5`,
    `2 ${loopLabel(11, "T2")} 500 lag 5`,
  ]);
});

test("M10: a label of a return that is canceled or in review is read, and costs nothing once it is void", async (context) => {
  const { shopKey, simulator } = await open(context, [
    loopReturn({ id: "1", providerOrderId: "1", labels: [label("T1", 435)] }),
    loopReturn({ id: "2", providerOrderId: "2", state: "review", labels: [label("T2", 500)] }),
    loopReturn({ id: "3", providerOrderId: "3", state: "cancelled", labels: [label("T3", 600)] }),
  ]);
  await syncLabels(shop, shopKey, connector, simulator);
  assert.deepEqual(await readShares(shop, shopKey), [
    `1 ${loopLabel(1, "T1")} 435 lag 5`,
    `2 ${loopLabel(2, "T2")} 500 lag 5`,
    `3 ${loopLabel(3, "T3")} 600 lag 5`,
  ]);
  for (const returned of simulator.control.returns())
    simulator.control.put({ ...returned, state: "cancelled" });
  simulator.control.void("1", "2026-06-01T05:55:00.000Z");
  await syncLabels(shop, shopKey, connector, simulator);
  assert.deepEqual(await readShares(shop, shopKey), [
    `2 ${loopLabel(2, "T2")} 500 lag 5`,
    `3 ${loopLabel(3, "T3")} 600 lag 5`,
  ]);
});

test("more canceled returns than fit on a page are all read; what an earlier version left out is read by the next run", async (context) => {
  const canceled = manyReturns(35).map((returned) => ({ ...returned, state: "cancelled" }));
  const { shopKey, simulator } = await open(context, canceled);
  const earlier = { since: "2026-01-01T00:00:00.000Z", readUntil: "2026-06-01T05:00:00.000Z" };
  await syncLabels(shop, shopKey, connector, simulator, { cursor: earlier });
  assert.equal(await storedLabels(shopKey), 35);
});

test("a first run reads from the first order on, in windows that the API allows; the next run reads what was updated since", async (context) => {
  const { shopKey, simulator } = await open(context, manyReturns(95));
  const first = await syncLabels(shop, shopKey, connector, simulator);
  assert.equal(first.counts["labels"], 95);
  const windows = simulator.control.requests.map(windowOf);
  assert.equal(windows[0]?.from, "2026-01-01 00:00:00+00:00");
  assert.equal(windows.at(-1)?.to, "2026-06-01 06:00:00+00:00");
  assert.ok(windows.every(({ from, to }) => Date.parse(to) - Date.parse(from) <= 120 * 86_400_000));
  const listed = simulator.control.requests.filter((path) => !path.includes("state="));
  assert.ok(listed.length < 30, `${listed.length} requests for 95 returns, 10 on a page`);
  assert.ok(windows.length < 3 * 30);
  const [dump, state] = [await shop.dump(shopKey), await shop.state(shopKey)];
  const asked = simulator.control.requests.length;
  const second = await syncLabels(shop, shopKey, connector, simulator);
  assert.equal(second.counts["changed_labels"], 0);
  const again = { from: "2026-06-01 05:50:00+00:00", to: "2026-06-01 06:00:00+00:00" };
  assert.deepEqual(simulator.control.requests.slice(asked).map(windowOf), [again, again, again]);
  assert.deepEqual(await shop.dump(shopKey), dump);
  assert.deepEqual(await shop.state(shopKey), state);
});

test("no return is lost if one that was read is updated before the others are read, whenever that is", async (context) => {
  const returns = Array.from({ length: 30 }, (_, index) =>
    loopReturn({
      id: String(index),
      updatedAt: new Date(Date.UTC(2026, 1, 1, 0, index)).toISOString(),
      labels: [label(`T${index}`, 100)],
    }),
  );
  for (const answers of [1, 3, 16, 18, 20]) {
    const { shopKey, simulator } = await open(context, returns);
    const first = returns[0] as SimulatedReturn;
    simulator.control.changeAfter(answers, () =>
      simulator.control.put({ ...first, updatedAt: "2026-06-01T06:05:00.000Z" }),
    );
    await syncLabels(shop, shopKey, connector, simulator);
    assert.ok((await storedLabels(shopKey)) >= 29, `changed after ${answers} answers`);
    const now = () => new Date("2026-06-01T07:00:00.000Z");
    await syncLabels(shop, shopKey, connector, simulator, { now });
    assert.equal(await storedLabels(shopKey), 30, `changed after ${answers} answers`);
  }
});

test("faults between pages are survived; an aborted run continues in its window, to the same rows", async (context) => {
  const returns = manyReturns(95);
  const { shopKey, simulator } = await open(context, returns);
  const undisturbed = await open(context, returns);
  await syncLabels(shop, undisturbed.shopKey, connector, undisturbed.simulator);
  const worker = new AbortController();
  let pages = 0;
  const run = syncLabels(shop, shopKey, connector, simulator, {
    signal: worker.signal,
    progress: () => {
      if ((pages += 1) === 4) worker.abort(new Error("the worker stops"));
    },
  });
  await assert.rejects(run, /the worker stops/u);
  for (const kind of ["cut", "status_503", "truncated_json", "cut_midway", "slow"] as const) {
    simulator.control.fail({ kind, after: 1 });
  }
  await syncLabels(shop, shopKey, connector, simulator);
  assert.deepEqual(await shop.dump(shopKey), await shop.dump(undisturbed.shopKey));
});

test("a next page on another host is not requested, and changed types are a failure; both leave the data unchanged", async (context) => {
  const { shopKey, simulator } = await open(context, manyReturns(15));
  await syncLabels(shop, shopKey, connector, simulator);
  const dump = await shop.dump(shopKey);
  simulator.control.fail({ kind: "foreign_next_page" });
  await assert.rejects(
    syncLabels(shop, shopKey, connector, simulator),
    new SourceFailed("Loop returned a next page on another host, which is not allowed."),
  );
  simulator.control.put(loopReturn({ id: "1", updatedAt: "2026-06-01T05:55:00.000Z" }));
  simulator.control.fail({ kind: "changed_types" });
  await assert.rejects(
    syncLabels(shop, shopKey, connector, simulator),
    /^SourceFailed: Loop's answer about \d+ cannot be read: Return\.labels should be a list or null, and is [a-z ]+\.$/u,
  );
  const { url, apiKey } = simulator;
  const check = (key: string) =>
    connector.check({ url, secrets: { apiKey: key }, signal: new AbortController().signal });
  await check(apiKey);
  await assert.rejects(check("another"), SourceRefused);
  assert.deepEqual(await shop.dump(shopKey), dump);
});

async function open(context: TestContext, returns: SimulatedReturn[]) {
  const shopKey = await shop.open();
  await connectLabels(shop, shopKey, "loop");
  await putOrders(
    shop,
    shopKey,
    [1, 2, 3, 4, 5].map((number) => orderWithReturn(number)),
  );
  const simulator = await startLoopSimulator({ returns, requests: 10_000 });
  context.after(() => simulator.stop());
  return { shopKey, simulator };
}

function label(trackingNumber: string, rate: number | string | null) {
  return { rate, trackingNumber, status: "in_transit" };
}

/** One return a day from January on; only five of their orders are known. */
function manyReturns(count: number): SimulatedReturn[] {
  return Array.from({ length: count }, (_, index) =>
    loopReturn({
      id: String(index),
      providerOrderId: String(index),
      createdAt: new Date(Date.UTC(2026, 0, 6 + index)).toISOString(),
      updatedAt: new Date(Date.UTC(2026, 0, 50 + index)).toISOString(),
      labels: [label(`T${index}`, 100 + index)],
    }),
  );
}

function windowOf(path: string): { from: string; to: string } {
  const asked = new URL(path, "http://source").searchParams;
  return { from: asked.get("from") ?? "", to: asked.get("to") ?? "" };
}

async function storedLabels(shopKey: number): Promise<number> {
  return (await shop.rows("select from return_label where shop_key = $1", [shopKey])).length;
}

const SECOND = "2026-02-01T00:00:00.000Z";
const LATER = "2026-06-01T00:00:00.000Z";
const COUNT = 25;
const simulator = use(() => startLoopSimulator({ returns: [], requests: 10_000 }));
let client: LoopClient;

before(async () => {
  const signal = new AbortController().signal;
  const { url, apiKey } = simulator;
  client = openLoop(openJson(LOOP, { url, secrets: { apiKey }, signal }, RETRY_POLICY), 10);
});

beforeEach(() => {
  for (let index = 0; index < COUNT; index += 1) put(index, SECOND);
});

test("a second with several pages is read until two passes have the same returns, and all of them are stored", async () => {
  const ids = Array.from({ length: COUNT }, (_, index) => String(index));
  assert.deepEqual((await readSecond()).toSorted(), ids.toSorted());
  // The first answer only says that there are several pages; the first of two passes has three.
  for (const answers of [2, 3]) {
    put(0, SECOND);
    simulator.control.changeAfter(answers, () => put(0, LATER));
    assert.deepEqual((await readSecond()).toSorted(), ids.toSorted(), `after ${answers} answers`);
  }
});

test("a second with several pages that changes in every pass is a failure after few requests", async () => {
  const asked = simulator.control.requests.length;
  for (let answers = 1; answers < 100; answers += 1) {
    simulator.control.changeAfter(answers, () => put(0, answers % 2 === 0 ? SECOND : LATER));
  }
  await assert.rejects(
    readSecond(),
    new SourceFailed(
      `Loop has several pages of returns updated at ${SECOND}, and they changed each time they were read.`,
    ),
  );
  assert.equal(simulator.control.requests.length - asked, 25);
});

function put(index: number, updatedAt: string): void {
  simulator.control.put(loopReturn({ id: String(index), updatedAt }));
}

async function readSecond(): Promise<string[]> {
  const from = new Date(SECOND);
  const until = new Date(from.getTime() + 1000);
  const { returns } = await readWindow(client, { from, until, windowMs: 1000, pageSize: 10 });
  return returns.map((returned) => String(returned.id));
}
