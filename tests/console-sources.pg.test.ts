import assert from "node:assert/strict";
import { test } from "node:test";
import { listNextPolls } from "../src/store/queries/run-queue.ts";
import { service } from "./support/shared-service.ts";
import { auditOf, newShop, putConnected, SOURCES, wordsOf } from "./support/source-pages.ts";
import { insertRows } from "./support/tenants.ts";
import { rowsOf } from "./support/webhooks.ts";

/** The pages of sources: how each is, what may be done with it, its history and its progress. */

test("the page of sources says how each is, and what repairs it", async () => {
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
    const { tenant, page } = await newShop(service);
    await putConnected(service, tenant, change);
    const { status, text } = await page(SOURCES);
    assert.equal(status, 200);
    assert.match(wordsOf(text), sentence, change);
    assert.ok(!text.includes("It <b>answered"));
    assert.match(wordsOf(text), /Files of orders .* Imported by hand/u);
    assert.equal((await page(`${SOURCES}/shopify`)).status, 200);
    assert.equal((await page(`${SOURCES}/shopify/progress`)).status, 200);
  }
});

test("the next run is by the clock, or what was asked for", async () => {
  const { tenant, page } = await newShop(service);
  await putConnected(service, tenant, "status = 'ok', last_synced_at = now()");
  const [look] = await listNextPolls(service.installation.database, tenant.shopKey);
  assert.ok(look !== undefined);
  const minutes = (look.next_at.getTime() - Date.now()) / 60_000;
  assert.ok(minutes > 0 && minutes <= 15, "the store has its turn within a quarter of an hour");
  const clock = wordsOf((await page(SOURCES)).text);
  assert.ok(clock.includes(`${look.next_at.toISOString().slice(11, 16)} UTC`), clock);
  await insertRows(service.database, "sync_request", [
    { shop_key: tenant.shopKey, source: "shopify", kind: "incremental", requested_by: "operator" },
  ]);
  assert.match(wordsOf((await page(SOURCES)).text), /Next run As soon as a worker runs/u);
});

test("runs are asked for, a backfill is canceled, and a disconnection is typed", async () => {
  const { tenant, post, follow, page } = await newShop(service);
  await putConnected(service, tenant, "status = 'ok', last_synced_at = '2026-07-01T06:00:00Z'");
  const requests = () => rowsOf<{ kind: string }>(service, "sync_request", tenant.shopKey, "kind, source");
  const at = `${SOURCES}/shopify`;
  assert.match(await follow(await post(`${at}/sync`, {})), /Sync requested/u);
  await follow(await post(`${at}/sync`, { backfill: "yes" }));
  assert.deepEqual(
    (await requests()).map(({ kind }) => kind),
    ["backfill", "incremental"],
  );
  assert.match(wordsOf((await page(at)).text), /Cancel backfill/u);
  assert.match(await follow(await post(`${at}/cancel`, {})), /The backfill is canceled/u);
  assert.match(wordsOf((await page(at)).text), /Resync all data/u);

  const wrong = await post(`${at}/disconnect`, { typed: "shop" });
  assert.equal(wrong.status, 400);
  const text = await wrong.text();
  assert.match(text, /Type shopify to disconnect it\./u);
  assert.match(text, /value="shop"/u);
  assert.match(await follow(await post(`${at}/disconnect`, { typed: "shopify" })), /its key is deleted/u);
  assert.deepEqual(await requests(), []);
  const events = await auditOf(service, tenant);
  assert.deepEqual(
    events.map(({ action }) => action),
    ["sync.request", "sync.request", "sync.cancel", "source.disconnect"],
  );
  assert.equal(events[3]?.before?.["status"], "ok");
  const refused = await post(`${at}/sync`, {});
  assert.equal(refused.status, 409);
  assert.match(await refused.text(), /is not connected to &quot;shopify&quot;/u);
});

const HOSTILE = `<img src=x onerror="alert(1)">`;

test("the history of runs has its counts, notes and errors as text, and older runs a page further", async () => {
  const { tenant, page } = await newShop(service);
  await putConnected(service, tenant, "status = 'ok'");
  await insertRows(
    service.database,
    "sync_run",
    Array.from({ length: 30 }, (_, index) => ({
      shop_key: tenant.shopKey,
      run_id: `00000000-0000-7000-8000-${String(index).padStart(12, "0")}`,
      source: "shopify",
      kind: "incremental",
      requested_by: "schedule",
      status: index === 29 ? "failed" : "succeeded",
      // Two began at once: their ids tell them apart.
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
    const { status, text } = await page(path);
    assert.equal(status, 200);
    assert.ok(!text.includes("<img"));
    seen.push(...[...wordsOf(text).matchAll(/(1,0\d\d) orders/gu)].map(([, count = ""]) => count));
    path = /href="[^"]*(\/settings\/sources\/shopify\?before=[^"]*)"/u.exec(text)?.[1] ?? null;
    pages += 1;
  }
  assert.equal(pages, 2);
  assert.equal(seen.length, 30);
  assert.deepEqual(seen, seen.toSorted().toReversed());
  const first = wordsOf((await page(`${SOURCES}/shopify`)).text);
  assert.ok(first.includes(`${HOSTILE} error. ${HOSTILE} note 29.`));
  assert.equal((await page(`${SOURCES}/shopify?before=x`)).status, 400);
});

test("progress shows where a run is, why it waits, and at its end what came of it", async () => {
  const { tenant, page } = await newShop(service, { readiness: "backfilling" });
  await putConnected(service, tenant, "status = 'syncing'");
  const runId = "00000000-0000-7000-8000-000000000001";
  await insertRows(service.database, "sync_run", [
    {
      shop_key: tenant.shopKey,
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
  const running = (await page(at)).text;
  assert.match(wordsOf(running), /Reading everything: orders .* 1,200 of 5,000/u);
  assert.match(running, /<noscript><meta http-equiv="refresh" content="5" ?\/?><\/noscript>/u);
  await service.database.query(
    `update sync_run set status = 'failed', error = 'It answered 503.', finished_at = now() where run_id = $1`,
    [runId],
  );
  await service.database.query(
    `update data_source set status = 'failed', last_error = 'It answered 503.' where shop_key = $1 and source = 'shopify'`,
    [tenant.shopKey],
  );
  await service.database.query(
    `insert into sync_request (shop_key, source, kind, requested_by, failures, run_after)
     values ($1, 'shopify', 'backfill', 'connect', 1, '2126-07-01T00:00:00Z')`,
    [tenant.shopKey],
  );
  const waiting = (await page(at)).text;
  assert.match(
    wordsOf(waiting),
    /The last attempt failed: It answered 503\. The next one starts at 1 Jul 2126/u,
  );
  assert.match(waiting, /data-progress="running"/u);
  await service.database.query("delete from sync_request where shop_key = $1", [tenant.shopKey]);
  await service.database.query(
    `update sync_run set status = 'succeeded', error = null, counts = '{"orders": 5000}' where run_id = $1`,
    [runId],
  );
  const ended = (await page(at)).text;
  assert.match(wordsOf(ended), /Everything is read: 5,000 orders/u);
  assert.match(ended, new RegExp(`data-progress="ended"[^>]* data-next="/w/${tenant.shopDomain}"`, "u"));
  assert.doesNotMatch(ended, /http-equiv="refresh"/u);
});

test("a source that does not exist is no page", async () => {
  const { page } = await newShop(service);
  for (const path of ["csv", "none", "none/connect", "none/progress"]) {
    assert.equal((await page(`${SOURCES}/${path}`)).status, 404, path);
  }
});
