import assert from "node:assert/strict";
import { test } from "node:test";
import { setCredentials, setReadiness, putConnection } from "../../../store/queries/data-source.ts";
import { csv, startImportWorkspace } from "../../../../tests/support/import-workspace.ts";
import { lockWorkspace } from "../../../store/queries/import-stage.ts";
import { countWaitingForLocks, untilLockIsAwaited } from "../../../../tests/support/locks.ts";
import { before, use } from "../../../../tests/support/use.ts";

const LINES = csv("order_id,line_id,ordered_at,units", "o1,l1,2026-01-05T10:00:00Z,3");

const REFUNDS = csv(
  "refund_id,order_id,line_id,refunded_at,units,subtotal",
  "f1,o1,l1,2026-01-09T00:00:00Z,1,5",
);

const LABELS = csv("label_id,order_id,charged_at,amount", "b1,o1,2026-01-10T00:00:00Z,4.00");
const EVENTS = csv("slug,label,starts_on,ends_on", "s,Sale,2026-01-01,2026-01-09");
const shop = use(startImportWorkspace);
let connected: number;

before(async () => {
  connected = await shop.open();
  await shop.import(connected, { "order_lines.csv": LINES, "refunds.csv": REFUNDS });
  await putConnection(shop.database, {
    shopKey: connected,
    source: "shopify",
    kind: "store",
    settings: {},
    sealedCredentials: Buffer.from("sealed"),
  });
});

test("a folder does not overwrite the data of a connected store", async () => {
  const dumped = await shop.dump(connected);
  for (const files of [
    { "order_lines.csv": LINES },
    { "products.csv": csv("product_id,title", "p,P"), "return_labels.csv": LABELS },
    {},
  ]) {
    await assert.rejects(shop.import(connected, files), /gets its orders and products from shopify/u);
  }
  assert.deepEqual(await shop.dump(connected), dumped);
});

test("M10: labels and sale events come beside a connected store, whose as-of stays", async () => {
  const old = await shop.state(connected);
  const later = new Date("2026-07-01T00:00:00Z");
  const files = { "return_labels.csv": LABELS, "sale_events.csv": EVENTS };
  const result = await shop.import(connected, files, { asOf: later });
  assert.deepEqual([result.counts.return_labels, result.counts.sale_events], [1, 1]);
  const version = old.data_version + 1;
  assert.deepEqual(await shop.state(connected), { ...old, data_version: version });
  assert.equal((await shop.dump(connected))["label_share"]?.length, 1);
  assert.equal((await shop.import(connected, files, { asOf: later })).data_version, version);
});

test("after a store is disconnected, folders may contain orders again, and end the wait for that store", async () => {
  await setCredentials(shop.database, connected, "shopify", null);
  await setReadiness(shop.database, connected, ["ready"], "reconnecting");
  assert.equal((await shop.import(connected, { "order_lines.csv": LINES })).imported, true);
  assert.equal((await shop.state(connected)).readiness, "ready");
});

const ONE_LINE = csv("order_id,line_id,ordered_at,units", "o1,l1,2026-01-05T10:00:00Z,1");
const REASON = new Error("stopped by somebody");

test("an import that waits for another run says so, and one that is stopped leaves no statement behind", async () => {
  const shopKey = await shop.open();
  await shop.database.transaction(async (connection) => {
    await lockWorkspace(connection, shopKey);
    const stop = new AbortController();
    let waits = 0;
    const stopped = shop.import(
      shopKey,
      { "order_lines.csv": ONE_LINE },
      { signal: stop.signal, onWait: () => void (waits += 1) },
    );
    const outcome = assert.rejects(stopped, REASON);
    await untilLockIsAwaited(shop.database);
    assert.equal(waits, 1);
    stop.abort(REASON);
    await outcome;
    assert.equal(await countWaitingForLocks(shop.database), 0);
  });
  assert.equal((await shop.import(shopKey, { "order_lines.csv": ONE_LINE })).counts.order_lines, 1);
});

test("an import that was stopped before it began changes nothing", async () => {
  const shopKey = await shop.open();
  const signal = AbortSignal.abort(REASON);
  await assert.rejects(shop.import(shopKey, { "order_lines.csv": ONE_LINE }, { signal }), REASON);
  assert.deepEqual((await shop.dump(shopKey))["order_line"], []);
});

test("M15: SKUs of a sale event that the store does not know are reported", async () => {
  const shopKey = await shop.open();
  const files = {
    "order_lines.csv": csv("order_id,line_id,ordered_at,units,sku", "o1,l1,2026-01-05T10:00:00Z,1,A"),
    "sale_events.csv": csv("slug,label,starts_on,ends_on,skus", "s,Sale,2026-01-01,2026-01-09,A;B;C"),
  };
  const { warnings } = await shop.import(shopKey, files, { asOf: new Date("2026-01-10T00:00:00Z") });
  assert.deepEqual(
    warnings.map(({ kind, file, count }) => ({ kind, file, count })),
    [{ kind: "unknown_sale_sku", file: "sale_events.csv", count: 2 }],
  );
});
