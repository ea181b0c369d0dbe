import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { OPERATOR } from "../../src/actions/actor.ts";
import { readConfig } from "../../src/config.ts";
import type { Database } from "../../src/store/database.ts";
import { putConnection, findConnection } from "../../src/store/queries/data-source.ts";
import { requestRun } from "../../src/store/queries/sync-request.ts";
import { importFolder } from "../../src/sync/connectors/csv/import-folder.ts";
import { receiveWebhook, readDelivery } from "../../src/sync/connectors/shopify/webhooks/receive.ts";
import { createShopifyConnector } from "../../src/sync/connectors/shopify/connector.ts";
import { startWorker } from "../../src/worker/worker.ts";
import { execute } from "../../tests/support/server.ts";
import { eventually } from "../../tests/support/worker.ts";
import { makeWorkspace } from "../../tests/support/workspace.ts";
import { readBody, sendJson, serveLoopback } from "../simulators/http.ts";
import { shopifyOptions } from "../simulators/shopify/options.ts";
import { openBenchDatabase, QUIET, sqlOf } from "./context.ts";
import type { BenchContext, Sql } from "./context.ts";
import { shownNumber, spreadOf } from "./measure.ts";
import type { BenchRow } from "./measure.ts";

/** Simulated seconds per real second, for shops, workers and the database. */
const SPEED = 4;
const VISIBLE_WITHIN_SECONDS = 60;
const SAMPLED_SHOPS = 100;
/** Weekly orders of a busy shop without webhooks, which is polled every 15 minutes. */
const ORDERS_OF_BUSY = 700;
const BUSY_INTERVAL_MS = 15 * 60_000;
const APP = { clientId: "simulated-client-id", clientSecret: "simulated-client-secret" };
const FIGURES = `select to_jsonb(c) - 'shop_key' as row from cohort c where shop_key = $1
  order by entity_kind, entity_key, cohort_month, listing_id`;

type Shop = { shopKey: number; url: string; hasWebhooks: boolean };
/** An order that is not served yet, and when it was placed. */
type Change = { shopKey: number; orderId: string; placedAt: number };

/** Shops simulated in one other process; their changes reach the figures by webhooks and polls. */
export async function measureFreshness(
  { installation, tell, folder }: BenchContext,
  { workspaces, minutes, orderEvery }: { workspaces: number; minutes: number; orderEvery: number },
): Promise<BenchRow[]> {
  const begin = Date.now();
  const now = (): Date => new Date(begin + (Date.now() - begin) * SPEED);
  await simulateClock(installation.databaseUrl, begin);
  const database = openBenchDatabase(installation.databaseUrl, { maxConnections: 24 });
  const queueDatabase = openBenchDatabase(installation.databaseUrl, { maxConnections: 4 });
  const sql = sqlOf(database);
  const receiver = await serveWebhooks(database);
  const platform = fork(join(import.meta.dirname, "shops-process.ts"));
  const [platformUrl] = (await once(platform, "message")) as [string];
  const shops: Shop[] = [];
  /** Of busy shops alone: the others are polled every 12 hours. */
  const polls = { count: 0, late: 0, begunAt: new Map<number, number>() };
  const connector = createShopifyConnector({ ...APP, retryPolicy: { pollMs: 20 } });
  const watched: typeof connector = {
    ...connector,
    sync: async (context) => {
      const { shopKey, kind } = context;
      const isPoll = kind === "incremental" || kind === "backfill";
      if (isPoll && busy.has(shopKey)) notePoll(polls, shopKey, now().getTime());
      return connector.sync(context);
    },
  };
  const tokens = new Map<number, string>();
  const busy = new Set<number>();
  const worker = await startWorker({
    databaseUrl: installation.databaseUrl,
    database,
    queueDatabase,
    connectors: [watched],
    openCredentials: (shopKey) => {
      const secrets = { accessToken: tokens.get(shopKey) ?? "" };
      return { read: async () => secrets, change: async () => secrets };
    },
    now,
    log: QUIET,
    firstRetryMs: 1000,
    deliveries: [],
    retention: readConfig({}),
    concurrency: 6,
    hasSchedule: true,
    pollMs: 1000 / SPEED,
    graceMs: 2000,
    longestStopMs: 8000,
    turnMs: 600_000,
  });
  try {
    for (let number = 0; number < workspaces; number += 1) {
      const shop = await addShop(database, { platformUrl, receiver: receiver.url, tokens }, now(), number);
      shops.push(shop);
      if (isBusy(number)) busy.add(shop.shopKey);
      const { shopKey } = shop;
      await requestRun(database, { shopKey, source: "shopify", kind: "backfill", requestedBy: "operator" });
      if (number % 100 === 99) tell(`${number + 1} shops`);
    }
    const unread = "select count(*)::integer as shops from data_source where last_synced_at is null";
    const isRead = async () => (await sql<{ shops: number }>(unread))[0]?.shops === 0;
    await eventually(isRead, "all shops are read", 1800);
    // Nobody connects all shops within minutes, so the work right after the first backfills is not measured. A poll every 15 minutes
    // may count as late 45 seconds after it is due, so measuring begins once nothing is overdue.
    const overdue = "select 1 as found from run_queue where due_at < now() - interval '10 seconds' limit 1";
    await eventually(async () => (await sql(overdue)).length === 0, "nothing is overdue", 1800);
    tell(`All shops are read; ${minutes} minutes of changes begin.`);
    Object.assign(polls, { count: 0, late: 0 });
    const { visible, lost } = await change(sql, shops, { minutes, orderEvery, now });
    // The imports of the comparison block this process, and with it the worker.
    const { count, late } = polls;
    tell("Compares figures.");
    const differing = await compare({ sql, database, now }, shops, folder);
    const within = visible.filter((seconds) => seconds <= VISIBLE_WITHIN_SECONDS).length;
    const { median, most } = spreadOf(visible);
    const name = `${workspaces} shops, an order every ${orderEvery} minutes, ${minutes} minutes at ${SPEED} × real time`;
    return [
      {
        name: `${name}: changes visible within ${VISIBLE_WITHIN_SECONDS} s`,
        value: `${shownNumber((100 * within) / (visible.length + lost))} % of ${visible.length + lost}`,
        floor: `median ${shownNumber(median)} s, most ${shownNumber(most)} s`,
        target: "99 %",
      },
      {
        name: `${name}: polls later than their interval`,
        value: `${late} of ${count}`,
        target: "0",
      },
      {
        name: `${name}: shops whose figures differ from an import of the shop's own export`,
        value: `${differing} of ${Math.min(SAMPLED_SHOPS, workspaces)}`,
        target: "0",
      },
    ];
  } finally {
    await worker.stop();
    await receiver.stop();
    platform.kill();
    await Promise.all([database.close(), queueDatabase.close()]);
  }
}

/** Functions of these names come before those of PostgreSQL for every connection from now on. */
async function simulateClock(url: string, begin: number): Promise<void> {
  const from = `timestamptz '${new Date(begin).toISOString()}'`;
  const clock = (name: string, volatility: string): string =>
    `create function simulated.${name}() returns timestamptz language sql ${volatility} as
       $$ select ${from} + ${SPEED} * (pg_catalog.${name}() - ${from}) $$`;
  const statements = [
    "create schema simulated",
    "grant usage on schema simulated to public",
    clock("now", "stable"),
    clock("statement_timestamp", "stable"),
    clock("clock_timestamp", "volatile"),
    "alter table webhook_delivery alter column received_at set default simulated.clock_timestamp()",
    `do $$ begin execute format('alter database %I set search_path = simulated, pg_catalog, public', current_database()); end $$`,
  ];
  await execute(url, statements.join(";\n"));
}

function serveWebhooks(database: Database): ReturnType<typeof serveLoopback> {
  const options = { ...APP, database, sealingKey: Buffer.alloc(32, 7), log: QUIET };
  return serveLoopback(
    0,
    async (request, response) => {
      const body = Buffer.from(await readBody(request));
      const headers = request.headers as Record<string, string>;
      const { status } = await receiveWebhook(options, readDelivery({ headers, body }));
      sendJson(response, status, {});
    },
    (response) => sendJson(response, 500, {}),
  );
}

/** Half of the shops without webhooks. */
function isBusy(number: number): boolean {
  return number % 10 === 0;
}

/** One in five has no webhooks. */
async function addShop(
  database: Database,
  { platformUrl, receiver, tokens }: { platformUrl: string; receiver: string; tokens: Map<number, string> },
  now: Date,
  number: number,
): Promise<Shop> {
  const domain = `fresh-${number}.myshopify.com`;
  const options = shopifyOptions({
    seed: number + 1,
    orders: 20,
    // A first run rolls up each month, which takes most of its time; changes only affect recent months.
    historyDays: 120,
    products: 5,
    now: now.toISOString(),
    ticking: true,
    speed: SPEED,
    domain,
    bulkMillis: 5,
    bucketPoints: 20_000,
    restorePerSecond: 20_000,
    deliverAtOnce: true,
  });
  const { url } = await post<{ url: string }>(platformUrl, options);
  const { token } = options;
  const hasWebhooks = number % 5 !== 0;
  if (isBusy(number)) {
    const lines = [{ product: 1, units: 1 }];
    const processedAt = new Date(now.getTime() - 2 * 86_400_000).toISOString();
    const order = { do: "placeOrder", lines, processedAt };
    await control(
      url,
      "change",
      Array.from({ length: ORDERS_OF_BUSY }, () => order),
    );
  }
  const { shop_key: shopKey } = await makeWorkspace(database, domain);
  // A worker begins as soon as the shop is connected.
  tokens.set(shopKey, token);
  const settings = { url, shop: domain };
  const sealedCredentials = Buffer.alloc(1);
  await putConnection(database, { shopKey, source: "shopify", kind: "store", settings, sealedCredentials });
  if (hasWebhooks) {
    const place = { url, secrets: { accessToken: token }, signal: AbortSignal.timeout(30_000) };
    await createShopifyConnector(APP).registerWebhooks?.(place, receiver);
  }
  return { shopKey, url, hasWebhooks };
}

function control<Result>(url: string, action: string, input: unknown): Promise<Result> {
  return post(`${url}/control/${action}`, input);
}

async function post<Result>(url: string, input: unknown): Promise<Result> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(input) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Result;
}

/** A poll is late when more than its interval has passed since the one before. */
function notePoll(
  polls: { count: number; late: number; begunAt: Map<number, number> },
  shopKey: number,
  at: number,
): void {
  const before = polls.begunAt.get(shopKey);
  polls.begunAt.set(shopKey, at);
  if (before === undefined) return;
  polls.count += 1;
  if (at - before > BUSY_INTERVAL_MS) polls.late += 1;
}

/** Places orders in shops with webhooks, and waits until all are served; how many seconds each took. */
async function change(
  sql: Sql,
  shops: readonly Shop[],
  { minutes, orderEvery, now }: { minutes: number; orderEvery: number; now: () => Date },
): Promise<{ visible: number[]; lost: number }> {
  const told = shops.filter(({ hasWebhooks }) => hasWebhooks);
  const visible: number[] = [];
  let waiting: Change[] = [];
  const look = async (): Promise<void> => {
    const found = await sql<{ order_id: string; shop_key: number }>(
      `select p.shop_key, p.order_id from unnest($1::bigint[], $2::text[]) p (shop_key, order_id)
        where exists (select from order_line l where l.shop_key = p.shop_key and l.order_id = p.order_id)`,
      [waiting.map(({ shopKey }) => shopKey), waiting.map(({ orderId }) => orderId)],
    );
    const at = now().getTime();
    const keys = new Set(found.map((row) => `${row.shop_key} ${row.order_id}`));
    const isServed = (each: Change): boolean => keys.has(`${each.shopKey} ${each.orderId}`);
    visible.push(...waiting.filter(isServed).map(({ placedAt }) => (at - placedAt) / 1000));
    waiting = waiting.filter((each) => !isServed(each));
  };
  const from = now().getTime();
  const betweenMs = (orderEvery * 60_000) / told.length;
  for (let made = 0; now().getTime() - from < minutes * 60_000;) {
    for (; made * betweenMs < now().getTime() - from; made += 1) {
      const shop = told[Math.floor(Math.random() * told.length)] as Shop;
      const placedAt = now().getTime();
      const lines = [{ product: 1 + (made % 5), units: 1 + (made % 3) }];
      const order = await control<{ id: string }>(shop.url, "change", { do: "placeOrder", lines });
      waiting.push({ shopKey: shop.shopKey, orderId: order.id, placedAt });
      if (made % 4 === 0) await returnSomething(shop.url);
    }
    await look();
    await sleep(100);
  }
  await eventually(async () => (await look(), waiting.length === 0), "all are served", 60).catch(() => {});
  return { visible, lost: waiting.length };
}

async function returnSomething(url: string): Promise<void> {
  const found = await control<{ order: number } | null>(url, "find-order", { with: "returnable" });
  if (found === null) return;
  const { order } = found;
  await control(url, "change", [
    { do: "openReturn", order, line: 0, units: 2 },
    { do: "closeReturn", order, return: 0, processed: [1] },
  ]);
}

/** How many of the sampled shops, after one more poll, have other figures than their export imported into a new workspace. */
async function compare(
  { sql, database, now }: { sql: Sql; database: Database; now: () => Date },
  shops: readonly Shop[],
  folder: string,
): Promise<number> {
  let differing = 0;
  const step = Math.max(1, Math.floor(shops.length / SAMPLED_SHOPS));
  for (const shop of shops.filter((_, place) => place % step === 0).slice(0, SAMPLED_SHOPS)) {
    const { shopKey } = shop;
    const asked = now();
    await requestRun(database, { shopKey, source: "shopify", kind: "incremental", requestedBy: "operator" });
    const isRead = async (): Promise<boolean> =>
      ((await findConnection(database, shopKey, "shopify"))?.last_synced_at ?? new Date(0)) > asked;
    await eventually(isRead, `the poll of shop ${shopKey}`, 60);
    const exported = await mkdtemp(join(folder, "export-"));
    await control(shop.url, "export", { folder: exported });
    const copy = await makeWorkspace(database, `copy-of-${shopKey}.example`);
    const options = { actor: OPERATOR, database, currencyCode: "EUR", skipInvalid: false };
    await importFolder({ ...options, shopKey: copy.shop_key, folder: exported, asOf: now(), now: now() });
    const figures = await Promise.all([sql(FIGURES, [shopKey]), sql(FIGURES, [copy.shop_key])]);
    if (!isDeepStrictEqual(...figures)) differing += 1;
    await rm(exported, { recursive: true });
  }
  return differing;
}
