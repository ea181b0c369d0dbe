import assert from "node:assert/strict";
import { test } from "node:test";
import { listNextPolls } from "../src/store/queries/run-queue.ts";
import { wordsOf } from "./support/page-figures.ts";
import { scene } from "./support/scene.ts";
import { service } from "./support/shared-service.ts";
import { insertRows, type TenantOptions } from "./support/tenants.ts";
import { connectShop, rowsOf } from "./support/webhooks.ts";

/** The pages of sources: the state of each, its actions, its history and its progress. */

const SOURCES = "/settings/sources";

/** A workspace whose connection to a shop is in a state that a worker leaves behind, and its owner. */
async function connectedShop(change: string, options: TenantOptions = {}) {
  const { shopKey, shopDomain, audit, member } = await scene(options);
  await connectShop(service, shopKey, `shop-${shopKey}.myshopify.com`);
  await service.database.query(
    `update data_source set ${change} where shop_key = $1 and source = 'shopify'`,
    [shopKey],
  );
  return { shopKey, shopDomain, audit, ...(await member()) };
}

test("the page of sources shows the state of each, and what repairs it", async () => {
  const states = [
    [
      "status = 'ok', last_synced_at = '2026-07-01T06:00:00Z'",
      /its last run succeeded .* 1 Jul 2026, 06:00 UTC/u,
    ],
    ["status = null", /its first sync has not finished yet/u],
    [
      "status = 'failed', last_error = 'It <b>answered 503.'",
      /It <b>answered 503\. It is retried automatically/u,
    ],
    [
      "status = 'disconnected', last_error = 'It was revoked.'",
      /It was revoked\. Nothing is read until you connect Shopify again/u,
    ],
    ["status = 'disconnected', sealed_credentials = null", /Disconnected: its key is deleted/u],
  ] as const;
  for (const [change, sentence] of states) {
    const owner = await connectedShop(change);
    const { status, text } = await owner.get(SOURCES);
    assert.equal(status, 200);
    assert.match(wordsOf(text), sentence, change);
    assert.ok(!text.includes("It <b>answered"));
    assert.match(wordsOf(text), /Files of orders .* Imported by hand/u);
    assert.equal((await owner.get(`${SOURCES}/shopify`)).status, 200);
    assert.equal((await owner.get(`${SOURCES}/shopify/progress`)).status, 200);
  }
});

test("the next run is the next poll, or a requested run", async () => {
  const { shopKey, get } = await connectedShop("status = 'ok', last_synced_at = now()");
  const [look] = await listNextPolls(service.installation.database, shopKey);
  assert.ok(look !== undefined);
  const minutes = (look.next_at.getTime() - Date.now()) / 60_000;
  assert.ok(minutes > 0 && minutes <= 15, "the store has its turn within a quarter of an hour");
  const clock = wordsOf((await get(SOURCES)).text);
  assert.ok(clock.includes(`${look.next_at.toISOString().slice(11, 16)} UTC`), clock);
  await insertRows(service.database, "sync_request", [
    { shop_key: shopKey, source: "shopify", kind: "incremental", requested_by: "operator" },
  ]);
  assert.match(wordsOf((await get(SOURCES)).text), /Next run As soon as a worker runs/u);
});

test("runs are requested, a backfill is canceled, and a disconnection is confirmed by typing", async () => {
  const { shopKey, audit, get, post } = await connectedShop(
    "status = 'ok', last_synced_at = '2026-07-01T06:00:00Z'",
  );
  const requests = () => rowsOf<{ kind: string }>(service, "sync_request", shopKey, "kind, source");
  const at = `${SOURCES}/shopify`;
  assert.match((await post(`${at}/sync`, {})).done ?? "", /Sync requested/u);
  assert.equal((await post(`${at}/sync`, { backfill: "yes" })).status, 303);
  assert.deepEqual(
    (await requests()).map(({ kind }) => kind),
    ["backfill", "incremental"],
  );
  assert.match(wordsOf((await get(at)).text), /Cancel backfill/u);
  assert.match((await post(`${at}/cancel`, {})).done ?? "", /The backfill is canceled/u);
  assert.match(wordsOf((await get(at)).text), /Resync all data/u);

  const wrong = await post(`${at}/disconnect`, { typed: "shop" });
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /Type shopify to disconnect it\./u);
  assert.match(wrong.text, /value="shop"/u);
  assert.match(
    (await post(`${at}/disconnect`, { typed: "shopify" })).done ?? "",
    /its credentials are deleted/u,
  );
  const disconnected = wordsOf((await get(at)).text);
  assert.match(disconnected, /its key is deleted/u);
  assert.match(disconnected, /Connect Shopify again/u);
  assert.deepEqual(await requests(), []);
  const events = await audit();
  assert.deepEqual(
    events.map(({ action }) => action),
    ["sync.request", "sync.request", "sync.cancel", "source.disconnect"],
  );
  assert.equal(events[3]?.before?.["status"], "ok");
  const refused = await post(`${at}/sync`, {});
  assert.equal(refused.status, 409);
  assert.match(refused.text, /is not connected to &quot;shopify&quot;/u);
});

const HOSTILE = `<img src=x onerror="alert(1)">`;

test("the history of runs shows counts, notes and errors as text, and older runs on the next page", async () => {
  const { shopKey, get } = await connectedShop("status = 'ok'");
  await insertRows(
    service.database,
    "sync_run",
    Array.from({ length: 30 }, (_, index) => ({
      shop_key: shopKey,
      run_id: `00000000-0000-7000-8000-${String(index).padStart(12, "0")}`,
      source: "shopify",
      kind: "incremental",
      requested_by: "schedule",
      status: index === 29 ? "failed" : "succeeded",
      // Two began at once: their ids decide the order.
      started_at: new Date(Date.UTC(2026, 6, 1, 0, index === 5 ? 4 : index)),
      finished_at: new Date(Date.UTC(2026, 6, 1, 0, index, 30)),
      counts: { orders: 1000 + index },
      notes: [`${HOSTILE} note ${index}.`],
      error: index === 29 ? `${HOSTILE} error.` : null,
    })),
  );
  const seen: string[] = [];
  let path: string | null = `${SOURCES}/shopify`;
  let pages = 0;
  while (path !== null) {
    const { status, text } = await get(path);
    assert.equal(status, 200);
    assert.ok(!text.includes("<img"));
    seen.push(...[...wordsOf(text).matchAll(/(1,0\d\d) orders/gu)].map(([, count = ""]) => count));
    path = /href="[^"]*(\/settings\/sources\/shopify\?before=[^"]*)"/u.exec(text)?.[1] ?? null;
    pages += 1;
  }
  assert.equal(pages, 2);
  assert.equal(seen.length, 30);
  assert.deepEqual(seen, seen.toSorted().toReversed());
  const first = wordsOf((await get(`${SOURCES}/shopify`)).text);
  assert.ok(first.includes(`${HOSTILE} error. ${HOSTILE} note 29.`));
  assert.equal((await get(`${SOURCES}/shopify?before=x`)).status, 400);
});

test("progress shows where a run is, why it waits, and in the end its result", async () => {
  const { shopKey, shopDomain, get } = await connectedShop("status = 'syncing'", {
    readiness: "backfilling",
  });
  const runId = "00000000-0000-7000-8000-000000000001";
  await insertRows(service.database, "sync_run", [
    {
      shop_key: shopKey,
      run_id: runId,
      source: "shopify",
      kind: "backfill",
      requested_by: "connect",
      started_at: new Date(),
      stage: "orders",
      done: 1200,
      total: 5000,
    },
  ]);
  const at = `${SOURCES}/shopify/progress`;
  const running = (await get(at)).text;
  assert.match(wordsOf(running), /Reading everything: orders .* 1,200 of 5,000/u);
  assert.match(running, /<noscript><meta http-equiv="refresh" content="5" ?\/?><\/noscript>/u);
  await service.database.query(
    `update sync_run set status = 'failed', error = 'It answered 503.', finished_at = now() where run_id = $1`,
    [runId],
  );
  await service.database.query(
    `update data_source set status = 'failed', last_error = 'It answered 503.' where shop_key = $1 and source = 'shopify'`,
    [shopKey],
  );
  await service.database.query(
    `insert into sync_request (shop_key, source, kind, requested_by, failures, run_after)
     values ($1, 'shopify', 'backfill', 'connect', 1, '2126-07-01T00:00:00Z')`,
    [shopKey],
  );
  const waiting = (await get(at)).text;
  assert.match(
    wordsOf(waiting),
    /The last attempt failed: It answered 503\. The next one starts at 1 Jul 2126/u,
  );
  assert.match(waiting, /data-progress="running"/u);
  await service.database.query("delete from sync_request where shop_key = $1", [shopKey]);
  await service.database.query(
    `update sync_run set status = 'succeeded', error = null, counts = '{"orders": 5000}' where run_id = $1`,
    [runId],
  );
  const ended = (await get(at)).text;
  assert.match(wordsOf(ended), /Everything is read: 5,000 orders/u);
  assert.match(ended, new RegExp(`data-progress="ended"[^>]* data-next="/w/${shopDomain}"`, "u"));
  assert.doesNotMatch(ended, /http-equiv="refresh"/u);
});

test("the page of an unknown source is not found", async () => {
  const { get } = await (await scene()).member();
  for (const path of ["csv", "none", "none/connect", "none/progress"])
    assert.equal((await get(`${SOURCES}/${path}`)).status, 404, path);
});
