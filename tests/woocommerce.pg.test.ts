import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import {
  startWooSimulator,
  type WooOptions,
  type WooSimulator,
} from "../tools/simulators/woocommerce/server.ts";
import { sendJson, serveLoopback } from "../tools/simulators/http.ts";
import { wooFolder } from "../tools/simulators/woocommerce/world.ts";
import { findConnection, putConnection } from "../src/store/queries/data-source.ts";
import { addPending, countPending } from "../src/store/queries/sync-record.ts";
import type { SyncKind } from "../src/store/queries/sync-request.ts";
import { TurnOver, type SyncContext } from "../src/sync/connector.ts";
import { createWooConnector } from "../src/sync/connectors/woocommerce/connector.ts";
import { deriveKeys } from "../src/lib/keys.ts";
import { sealSecrets } from "../src/sync/credentials.ts";
import { startImportWorkspace } from "./support/import-workspace.ts";
import { memoryCredentials, TEST_SECRET } from "./support/secret.ts";
import { startTestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import { rowsOf } from "./support/webhooks.ts";
import { use } from "./support/use.ts";

const shop = use(startImportWorkspace);
const connector = createWooConnector({ firstDelayMs: 5, maxDelayMs: 20, timeoutMs: 200 });

async function open(context: TestContext, options: Partial<WooOptions> = {}) {
  const simulator = await startWooSimulator(options);
  context.after(() => simulator.stop());
  return { simulator, ...(await connect(simulator)) };
}

type Shop = { url: string; key: string; state: { now: string } };

async function connect(simulator: Shop, settings: Record<string, unknown> = {}, reader = connector) {
  const shopKey = await shop.open();
  const own = { ...settings, url: simulator.url };
  await putConnection(shop.database, {
    shopKey,
    source: "woocommerce",
    kind: "store",
    settings: own,
    sealedCredentials: Buffer.alloc(0),
  });
  const sync = async (kind: SyncKind, context: Partial<SyncContext> = {}) => {
    const connection = await findConnection(shop.database, shopKey, "woocommerce");
    return reader.sync({
      database: shop.database,
      shopKey,
      cursor: connection?.cursor ?? null,
      currencyCode: "EUR",
      kind,
      settings: own,
      credentials: memoryCredentials({ consumerKey: simulator.key }),
      signal: new AbortController().signal,
      now: () => new Date(simulator.state.now),
      progress: () => {},
      ...context,
    });
  };
  const stopAfterPage = async (kind: SyncKind) => {
    const worker = new AbortController();
    const progress = () => worker.abort(new Error("the worker stops"));
    await assert.rejects(sync(kind, { signal: worker.signal, progress }), /the worker stops/u);
  };
  return { shopKey, sync, stopAfterPage };
}

/** The rows from which answers are computed, without what an import folder cannot contain. */
async function served(shopKey: number) {
  const dump = await shop.dump(shopKey);
  const { order_document: _documents, amount_refund: _amounts, ...rest } = dump;
  return rest;
}

async function importOf(simulator: WooSimulator): Promise<number> {
  const shopKey = await shop.open();
  await shop.import(shopKey, wooFolder(simulator.world), {
    asOf: new Date(simulator.state.now),
    skipInvalid: false,
  });
  return shopKey;
}

/** The workspace holds exactly what the shop has now. The rows that differ are shown, since a diff of all takes minutes. */
async function assertEqualToShop(simulator: WooSimulator, shopKey: number): Promise<void> {
  const textsOf = async (key: number) =>
    Object.entries(await served(key)).flatMap(([table, rows]) =>
      rows.map((row) => `${table} ${JSON.stringify(row)}`),
    );
  const [synced, imported] = [await textsOf(shopKey), await textsOf(await importOf(simulator))];
  const [here, there] = [new Set(synced), new Set(imported)];
  const firstOf = (rows: readonly string[], others: ReadonlySet<string>) =>
    rows.filter((row) => !others.has(row)).slice(0, 3);
  assert.deepEqual([firstOf(synced, there), firstOf(imported, here)], [[], []]);
  assert.equal(synced.length, imported.length);
}

describe("a synced shop and an import of the same shop", () => {
  const seed = Number(process.env["RETURNS_TEST_SEED"] ?? Date.now() % 100_000);

  for (const version of [8.9, 9.4, 10.3]) {
    test(`answer alike, with WooCommerce ${version}`, async (context) => {
      const { simulator, shopKey, sync } = await open(context, {
        seed: seed + version * 10,
        version,
        orders: 100,
      });
      const { counts } = await sync("backfill");
      assert.ok((counts["orders"] ?? 0) > 70);
      await assertEqualToShop(simulator, shopKey);
      const unchanged = await sync("incremental");
      assert.deepEqual([unchanged.isChanged, unchanged.counts["changed_orders"]], [false, 0]);
    });
  }
});

test("a run that is aborted at any page continues there, to the same rows", async (context) => {
  const { simulator, shopKey, sync } = await open(context, { seed: 7, orders: 230 });
  let asked = 0;
  for (let isDone = false; !isDone;) {
    const worker = new AbortController();
    const before = simulator.requests.length;
    const progress = () => worker.abort(new TurnOver());
    const run = sync("backfill", { [asked % 2 === 0 ? "signal" : "turn"]: worker.signal, progress });
    isDone = await run.then(
      () => true,
      () => false,
    );
    asked += 1;
    assert.ok(simulator.requests.length > before && asked < 20);
    if (asked > 6) isDone = (await sync("backfill")).counts["orders"] !== undefined;
  }
  await assertEqualToShop(simulator, shopKey);
});

test("no order is skipped when others leave the list while it is read", async (context) => {
  for (const [index, count] of [5, 6, 40].entries()) {
    const { simulator, shopKey, sync } = await open(context, { seed: 20 + index, orders: 230 });
    const first = simulator.world.orders.slice(0, count).map(({ id }) => id);
    simulator.control.changeAfter(3, () => {
      for (const id of first) simulator.control.deleteForGood(id);
    });
    await sync("backfill");
    await sync("open_returns");
    const stored = await shop.rows<{ order_id: string }>(
      "select order_id from order_document where shop_key = $1",
      [shopKey],
    );
    const kept = new Set(stored.map(({ order_id: id }) => Number(id.split("/").at(-1))));
    const missing = simulator.world.orders.filter(
      ({ id, isTrashed, status }) => !kept.has(id) && !isTrashed && !["pending", "failed"].includes(status),
    );
    assert.deepEqual(missing, [], `${count} orders left`);
  }
});

test("temporary faults of the shop are survived; permanent ones leave the data unchanged", async (context) => {
  const { simulator, shopKey, sync } = await open(context, { seed: 9 });
  for (const kind of ["status_500", "status_429", "html", "half", "slow", "cut"] as const) {
    simulator.control.fail(kind, 1, 1);
  }
  await sync("backfill");
  await assertEqualToShop(simulator, shopKey);
  const [dump, watermark] = [await shop.dump(shopKey), await cursorOf(shopKey)];
  const failures = {
    html: "WooCommerce at 127.0.0.1 did not answer in 8 tries, the last one: a web page came instead of data, such as a login, a maintenance notice or a firewall's check.",
    status_500: "WooCommerce at 127.0.0.1 did not answer in 8 tries, the last one: status 500.",
  };
  for (const [kind, message] of Object.entries(failures)) {
    simulator.control.fail(kind as "html", 8);
    await assert.rejects(sync("backfill"), (error: Error) => {
      assert.equal(error.message.replace(/:\d+ did/u, " did"), message);
      return true;
    });
  }
  simulator.state.site = "other";
  await assert.rejects(
    sync("backfill"),
    /WooCommerce at \S+ has no wp-json\/wc\/v3\/data\/currencies\/current: check that/u,
  );
  assert.deepEqual([await shop.dump(shopKey), await cursorOf(shopKey)], [dump, watermark]);
});

/** undefined = there is no such route. */
type Answer = (route: string, query: URLSearchParams) => unknown;

/** A shop that answers what it likes. */
async function hostile(context: TestContext, answer: Answer) {
  const server = await serveLoopback(
    0,
    async (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "", "http://shop.example");
      const route = pathname.replace("/wp-json/wc/v3/", "");
      const isTrash = searchParams.get("status") === "trash";
      const value =
        route === "data/currencies/current" ? { code: "EUR" } : isTrash ? [] : answer(route, searchParams);
      sendJson(response, value === undefined ? 404 : 200, value ?? { code: "rest_no_route" }, {
        "x-wp-total": "0",
      });
    },
    (response, error) => sendJson(response, 500, { message: String(error) }),
  );
  context.after(() => server.stop());
  const place = { url: server.url, key: "ck_any:cs_any", state: { now: "2026-06-01" } };
  // Long answers take a while.
  return { server, ...(await connect(place, {}, createWooConnector({ timeoutMs: 30_000, tries: 1 }))) };
}

const orderOf = (id: number, values: object = {}, line: object = {}) => ({
  id,
  number: `${id}`,
  status: "completed",
  currency: "EUR",
  total: "10.00",
  date_created_gmt: "2026-03-01T00:00:00",
  date_completed_gmt: "2026-03-02T00:00:00",
  refunds: [],
  line_items: [{ id, name: "A", product_id: 5, quantity: 1, subtotal: "10.00", total: "10.00", ...line }],
  ...values,
});

test("a hostile shop ends only its own run, in one sentence, and no list is read endlessly", async (context) => {
  const numbers = Array.from({ length: 100 }, (_, index) => index + 1);
  const none = { categories: [], tags: [], images: [], attributes: [] };
  const product = { id: 1, name: "A", type: "variable", ...none };
  const cases: [sentence: RegExp, answer: Answer][] = [
    [/list of orders does not end/u, (route) => (route === "orders" ? numbers.map((id) => orderOf(id)) : [])],
    [
      /lists more than 10000 variations/u,
      (route) => {
        if (route === "orders") return [];
        return route === "products" ? [product] : numbers.map((id) => ({ id, attributes: [] }));
      },
    ],
    [/LineItem\.quantity should be a number of up to/u, () => [orderOf(1, {}, { quantity: 1e300 })]],
    [/LineItem\.total should be an amount/u, () => [orderOf(1, {}, { total: 1e308 })]],
    [/LineItem\.total should be an amount/u, () => [orderOf(1, {}, { total: "NaN" })]],
    [/larger than the limit/u, () => "x".repeat(17 * 1024 * 1024)],
  ];
  for (const [sentence, answer] of cases) {
    const { sync } = await hostile(context, answer);
    await assert.rejects(sync("backfill"), (error: Error) => {
      assert.equal(error.name, "SourceFailed", String(error));
      assert.match(error.message, sentence);
      return true;
    });
  }
});

test("endless ids are refused before they fill the disk, also if pages seem to lose what was read", async (context) => {
  let newest = 9_999_900;
  for (const [place, firstOf] of [
    [{ lastId: 9_999_990, offset: 9_999_980 }, (offset: number) => offset],
    [{ lastId: newest, offset: 0, read: newest }, () => (newest += 100) - 100],
  ] as const) {
    const { sync } = await hostile(context, (route, query) => {
      const first = firstOf(Number(query.get("offset") ?? 0)) + 1;
      const asked = query.get("include")?.split(",") ?? Array.from({ length: 100 }, (_, at) => first + at);
      return route === "orders" ? asked.map((id) => orderOf(Number(id))) : [];
    });
    const reading = { startedAt: "2026-06-01T00:00:00.000Z", since: null, stage: 0, ...place };
    const cursor = { watermark: null, reading };
    await assert.rejects(sync("backfill", { cursor }), /does not end: it has more than 10000000 rows/u);
  }
});

test("wrong totals, pages of unexpected length, impossible dates, and lone surrogates lose no order", async (context) => {
  const odd = { number: "\u0000\ud800 1", date_created_gmt: "-0001-11-30T00:00:00" };
  const all = Array.from({ length: 250 }, (_, index) => orderOf(index + 1, odd));
  for (const mostPerPage of [Infinity, 40]) {
    const { shopKey, sync } = await hostile(context, (route, query) => {
      if (route !== "orders") return [];
      const include = query.get("include")?.split(",").map(Number);
      const offset = Number(query.get("offset") ?? 0);
      return include === undefined
        ? all.slice(offset, offset + mostPerPage)
        : all.filter(({ id }) => include.includes(id)).slice(0, mostPerPage);
    });
    await sync("backfill");
    const [row] = await shop.rows<{ count: string }>("select count(*) from order_line where shop_key = $1", [
      shopKey,
    ]);
    assert.equal(Number(row?.count), 250, `${mostPerPage} per page`);
  }
});

test("all variations are read from a shop that sends short pages", async (context) => {
  const { simulator, shopKey, sync } = await open(context, { seed: 21, orders: 10 });
  simulator.state.mostPerPage = 3;
  await sync("backfill");
  await assertEqualToShop(simulator, shopKey);
});

test("M5: changes arrive with the next poll, and only polls move the as-of", async (context) => {
  const { simulator, shopKey, sync } = await open(context, { seed: 11, orders: 80 });
  await sync("backfill");
  const completed = simulator.world.orders.filter(
    ({ status, refunds, isTrashed }) => status === "completed" && refunds.length === 0 && !isTrashed,
  );
  const [one, two, three, four] = completed as [WooOrder, WooOrder, WooOrder, WooOrder];
  simulator.control.tick(7200);
  const [line] = one.lines;
  simulator.control.refund(one.id, [{ lineId: line?.id ?? 0, units: 1, minor: 100 }]);
  simulator.control.refundAll(two.id);
  simulator.control.trash(three.id);
  simulator.control.set(four.id, { status: "failed" });
  const renamed = simulator.world.products.find(({ type }) => type === "variable");
  const [variant] = renamed?.variants ?? [];
  if (renamed === undefined || variant === undefined) throw new Error("no product has variations");
  variant.sku = "RENAMED";
  renamed.modifiedAt = simulator.state.now;
  const { counts } = await sync("incremental");
  assert.equal(counts["changed_orders"], 4);
  await assertEqualToShop(simulator, shopKey);
  assert.match(JSON.stringify(await cursorOf(shopKey)), /2026-06-01T02:00:00/u);
  simulator.control.tick(600);
  await sync("refresh");
  assert.match(JSON.stringify(await cursorOf(shopKey)), /2026-06-01T02:00:00/u);
});

test("a deleted refund, an order deleted permanently, and one added with an earlier date are found within a day", async (context) => {
  const { simulator, shopKey, sync, stopAfterPage } = await open(context, { seed: 12, orders: 120 });
  const young = simulator.world.orders.filter(
    ({ createdAt, isTrashed, status }) => createdAt > "2026-03-01" && !isTrashed && status === "completed",
  );
  const [one, two, three] = young as [WooOrder, WooOrder, WooOrder];
  simulator.control.refund(one.id, [{ lineId: one.lines[0]?.id ?? 0, units: 1, minor: 100 }]);
  simulator.control.tick(7200);
  const place = simulator.world.orders.indexOf(three);
  simulator.world.orders.splice(place, 1);
  await sync("backfill");
  simulator.world.orders.splice(place, 0, three);
  simulator.control.deleteRefund(one.id);
  simulator.control.deleteForGood(two.id);
  simulator.control.tick(86_400);
  assert.equal((await sync("incremental")).counts["changed_orders"], 0);
  simulator.state.mostPerPage = 8;
  await stopAfterPage("open_returns");
  simulator.requests.length = 0;
  const { counts } = await sync("open_returns");
  assert.ok(simulator.requests.every((url) => !url.includes("offset=0")));
  assert.equal(counts["changed_orders"], 3);
  assert.equal((await countPending(shop.database, shopKey, "woocommerce", "order")).pending, 0);
  await assertEqualToShop(simulator, shopKey);
});

test("M14, M22: a line keeps its variation, which was deleted from the shop", async (context) => {
  const { simulator, shopKey, sync } = await open(context, { seed: 23, orders: 60 });
  await sync("backfill");
  const before = await shop.dump(shopKey);
  const sold = simulator.world.orders
    .filter(({ isTrashed, status }) => !isTrashed && status === "completed")
    .flatMap(({ lines }) => lines)
    .find(({ product }) => product?.type === "variable" && !product.isTrashed);
  if (!sold?.product) throw new Error("no variation was sold");
  sold.product.variants = sold.product.variants.filter((variant) => variant !== sold.variant);
  await sync("backfill");
  assert.deepEqual(await shop.dump(shopKey), before);
});

test("orders with a status of a temporarily inactive plugin are kept", async (context) => {
  const { simulator, shopKey, sync } = await open(context, { seed: 17, orders: 100 });
  const shipped = simulator.world.orders.filter(
    ({ status, isTrashed }) => status === "shipped" && !isTrashed,
  );
  for (const order of shipped) order.createdAt = order.modifiedAt = "2026-05-01T08:00:00.000Z";
  assert.ok(shipped.length > 1);
  await sync("backfill");
  simulator.state.unknownStatus = "shipped";
  simulator.control.tick(86_400);
  for (const kind of ["open_returns", "backfill"] as const) {
    assert.equal((await sync(kind)).counts["changed_orders"], 0, kind);
  }
  await assertEqualToShop(simulator, shopKey);
});

test("if WooCommerce is deactivated during a run, the run ends: no order is removed, no variation is missed", async (context) => {
  const { simulator, shopKey, sync } = await open(context, { seed: 19, orders: 20 });
  const { control, state, world } = simulator;
  await sync("backfill");
  const cursor = await cursorOf(shopKey);
  const hidden = world.orders.find(({ status, isTrashed }) => status === "completed" && !isTrashed);
  const renamed = world.products.find(({ type, isTrashed }) => type === "variable" && !isTrashed);
  if (hidden === undefined || renamed?.variants[0] === undefined) throw new Error("the shop has too little");
  control.tick(7200);
  // It is in no list, so it is requested individually.
  state.unknownStatus = "shipped";
  control.set(hidden.id, { status: "shipped" });
  renamed.variants[0].sku = "RENAMED";
  renamed.modifiedAt = state.now;
  const askForHidden = () =>
    addPending(shop.database, shopKey, "woocommerce", "order", [`gid://woocommerce/Order/${hidden.id}`]);
  await askForHidden();
  await sync("incremental");
  await assertEqualToShop(simulator, shopKey);
  const dump = await shop.dump(shopKey);
  for (let requests = 0, isDone = false; !isDone; requests += 1) {
    await askForHidden();
    control.changeAfter(requests, () => (state.site = "other"));
    const [run] = await Promise.allSettled([sync("incremental", { cursor })]);
    isDone = state.site === "shop";
    const ended = run.status === "fulfilled" ? "done" : String(run.reason);
    assert.match(ended, isDone ? /^done$/u : /has no \S+: check that WooCommerce is active there/u);
    state.site = "shop";
    if (!isDone) await sync("incremental");
    assert.deepEqual(await shop.dump(shopKey), dump, `switched off after ${requests} requests`);
  }
});

test("a backfill reads orders in the trash in pages, not one by one", async (context) => {
  const { simulator, sync } = await open(context, { seed: 18, orders: 60 });
  for (const order of simulator.world.orders.slice(0, 20)) simulator.control.trash(order.id);
  await sync("backfill");
  const alone = simulator.requests.filter((url) => /\/orders\/\d+\?/u.test(url));
  assert.deepEqual(alone, []);
});

test("an abandoned backfill leaves nothing behind, and an unfinished poll is continued by the next one", async (context) => {
  const { simulator, shopKey, sync, stopAfterPage } = await open(context, { seed: 13, orders: 230 });
  await sync("backfill");
  await stopAfterPage("backfill");
  await sync("refresh");
  await assertEqualToShop(simulator, shopKey);
  simulator.control.tick(7200);
  for (const { id } of simulator.world.orders) simulator.control.set(id, { currency: "USD" });
  await stopAfterPage("incremental");
  assert.ok(Number((await sync("refresh")).counts["changed_orders"]) > 50);
  assert.match(JSON.stringify(await cursorOf(shopKey)), /"watermark":"2026-06-01T00:00:00/u);
  simulator.requests.length = 0;
  await sync("incremental");
  assert.ok(simulator.requests.every((url) => !/\/orders\?.*status=any.*offset=0$/u.test(url)));
});

test("M1: refunds before an order is completed cancel its units, unless the shop never completes orders", async (context) => {
  const { simulator, shopKey, sync, stopAfterPage } = await open(context, { seed: 14, orders: 40 });
  const order = simulator.world.orders.find(({ status, isTrashed }) => status === "processing" && !isTrashed);
  if (order === undefined) throw new Error("no order is processed");
  order.refunds.length = 0;
  simulator.control.refundAll(order.id);
  const { notes } = await sync("backfill");
  assert.match(notes.join(" "), /refunded lines are of orders that had not been completed/u);
  const unitsOf = async (key: number) => {
    const [row] = await shop.rows<{ sold: number; returned: number }>(
      `select sum(l.sold_units)::int as sold,
              coalesce((select sum(e.returned_units)::int from return_event e where e.shop_key = $1 and e.order_id = $2), 0) as returned
         from order_line l where l.shop_key = $1 and l.order_id = $2`,
      [key, `gid://woocommerce/Order/${order.id}`],
    );
    return row;
  };
  const units = order.lines.reduce((sum, { quantity }) => sum + quantity, 0);
  assert.deepEqual(await unitsOf(shopKey), { sold: 0, returned: 0 });
  const other = await connect(simulator, { refundsBeforeCompletion: "returned" });
  await other.sync("backfill");
  assert.deepEqual(await unitsOf(other.shopKey), { sold: units, returned: units });
  // The shop is connected with this setting, too, while a backfill is unfinished.
  await stopAfterPage("backfill");
  const settings = { url: simulator.url, refundsBeforeCompletion: "returned" };
  await sync("backfill", { settings });
  assert.deepEqual(await unitsOf(shopKey), { sold: units, returned: units });
});

type WooOrder = WooSimulator["world"]["orders"][number];

async function cursorOf(shopKey: number): Promise<unknown> {
  return (await findConnection(shop.database, shopKey, "woocommerce"))?.cursor;
}

describe("connecting", () => {
  const ask = (simulator: WooSimulator, place: { url?: string; key?: string } = {}) =>
    connector.check({
      url: place.url ?? simulator.url,
      secrets: { consumerKey: place.key ?? simulator.key },
      signal: new AbortController().signal,
    });

  test("a shop states its name and currency; an error is one sentence", async (context) => {
    const { simulator } = await open(context, { seed: 2, orders: 3 });
    const account = new URL(simulator.url).host;
    assert.deepEqual(await ask(simulator), { account, currencyCode: "EUR", notes: [] });
    const said = async (
      options: Partial<WooOptions>,
      place: { url?: string; key?: string } = {},
      site = "shop",
    ) => {
      const { simulator: other } = await open(context, { seed: 3, orders: 3, ...options });
      other.state.site = site as "shop";
      const error = await ask(other, place).then(
        () => new Error("nothing"),
        (reason: Error) => reason,
      );
      return `${error.name}: ${error.message.replaceAll(/127\.0\.0\.1:\d+/gu, "shop")}`;
    };
    const cannot =
      /^SourceRefused: WooCommerce at shop does not accept this key: check that both of its parts are complete, that it was not revoked, and that the server passes on the header Authorization\.$/u;
    const moved =
      /^SourceFailed: WooCommerce at shop redirects to https:\/\/www\.shop\.example: connect the address that it leads to\.$/u;
    const cases: [sentence: RegExp, ...Parameters<typeof said>][] = [
      [cannot, {}, { key: "ck_wrong:cs_simulated" }],
      [cannot, {}, { key: "ck_simulated:cs_wrong" }],
      [/^SourceRefused: The key must be the consumer key and/u, {}, { key: "ck_simulated" }],
      [/^SourceRefused: .* this key may not do that: it needs the permission Read/u, { permission: "write" }],
      [/^SourceRefused: .* must belong to an administrator or shop manager\.$/u, { role: "customer" }],
      [/^SourceFailed: .* a web page came instead of data/u, {}, {}, "login"],
      [/^SourceFailed: .* has no REST API at .* is not "Plain"\.$/u, {}, {}, "plain"],
      [/^SourceFailed: .* check that WooCommerce is active there/u, {}, {}, "other"],
      [moved, {}, {}, "moved"],
      [/has no address such as https:\/\/shop\.example\.$/u, {}, { url: "http://shop.example" }],
      [/10\.1\.2\.3 is not at a public address, so no request .+\.$/u, {}, { url: "https://10.1.2.3" }],
    ];
    for (const [sentence, ...asked] of cases) assert.match(await said(...asked), sentence);
    for (const url of ["https://10.1.2.3", "https://169.254.169.254", "https://localhost.localdomain"]) {
      assert.match(
        await said({}, { url }),
        /^SourceFailed: \S+ (?:is not at a public address|at \S+ did not answer)/u,
      );
    }
  });

  test("a shop cannot take the name of another host", async (context) => {
    const home = "https://victim.example";
    const { server } = await hostile(context, (route) =>
      route === "/wp-json/" ? { home, namespaces: [] } : [],
    );
    const secrets = { consumerKey: "ck_any:cs_any" };
    const place = { url: server.url, secrets, signal: new AbortController().signal };
    assert.equal((await connector.check(place)).account, new URL(server.url).host);
  });

  test("shops are named by https addresses", () => {
    const { shops } = connector;
    assert.deepEqual(shops?.find("Shop.example/Store/"), { shop: null, url: "https://shop.example/Store" });
    for (const name of [
      "http://shop.example",
      "https://user@shop.example",
      "https://shop.example?x=1",
      "https://intern",
      "",
    ]) {
      assert.equal(shops?.find(name), null, name);
    }
  });
});

describe("webhooks", () => {
  const service = use(() => startTestService({}));

  test("are registered once, pinged, and request a run only if the shop has signed them", async (context) => {
    const { simulator } = await open(context, { seed: 4, orders: 5 });
    const { shopKey } = await createTenant(service.database);
    const secrets = { consumerKey: simulator.key };
    const { sealingKey } = deriveKeys(TEST_SECRET);
    await putConnection(service.installation.database, {
      shopKey,
      source: "woocommerce",
      kind: "store",
      settings: { url: simulator.url, shop: new URL(simulator.url).host },
      sealedCredentials: sealSecrets({ sealingKey, shopKey, source: "woocommerce" }, secrets),
    });
    const place = { url: simulator.url, secrets, signal: new AbortController().signal };
    await connector.registerWebhooks?.(place, service.address);
    await connector.registerWebhooks?.(place, service.address);
    assert.deepEqual(
      simulator.webhooks.map(({ topic, status }) => `${topic} ${status}`),
      ["order.created", "order.updated", "order.deleted", "order.restored"].map((topic) => `${topic} active`),
    );
    assert.deepEqual(simulator.pings, [200, 200, 200, 200]);
    const pending = async () =>
      (await rowsOf<{ record_id: string }>(service, "pending_record", shopKey, "record_id, kind")).map(
        ({ record_id: id }) => id,
      );
    assert.equal(await simulator.control.deliver("order.updated", 12), 200);
    assert.equal(await simulator.control.deliver("order.updated", 12), 200);
    // Another order in the same second has the same delivery id.
    assert.equal(await simulator.control.deliver("order.updated", 13), 200);
    assert.equal(await simulator.control.deliver("order.deleted", 14), 200);
    const orders = [12, 13, 14].map((id) => `gid://woocommerce/Order/${id}`);
    assert.deepEqual(await pending(), orders);
    for (const webhook of simulator.webhooks.slice(0, 1)) webhook.topic = "product.updated";
    assert.equal(await simulator.control.deliver("product.updated", 15), 200);
    for (const guess of ["guessed", ""]) {
      for (const webhook of simulator.webhooks) webhook.secret = guess;
      assert.equal(await simulator.control.deliver("order.updated", 15), 401);
    }
    const requests = await rowsOf<{ kind: string; asked: string }>(
      service,
      "sync_request",
      shopKey,
      "kind, asked",
    );
    assert.deepEqual(
      requests.map(({ kind, asked }) => [kind, Number(asked)]),
      [["refresh", 3]],
    );
    assert.deepEqual(await pending(), orders);
    const unsigned = await fetch(`${service.address}/webhooks/woocommerce`, { method: "POST", body: "{}" });
    assert.equal(unsigned.status, 401);
  });
});
