import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startShipStationSimulator } from "../simulators/shipstation/server.ts";
import type { ShipStationSimulator } from "../simulators/shipstation/server.ts";
import { startShopifySimulator } from "../simulators/shopify/start.ts";
import type { ShopifySimulator } from "../simulators/shopify/start.ts";
import { connectByForm } from "../src/control/connect-form.ts";
import { listSources } from "../src/control/connect.ts";
import { OPERATOR } from "../src/control/actor.ts";
import { requireWorkspace } from "../src/control/workspace.ts";
import { openPage } from "./support/console-page.ts";
import { postForm, signInAs } from "./support/console-person.ts";
import { unescaped } from "./support/page-figures.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { createTenant, insertRows } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { connectShop, rowsOf } from "./support/webhooks.ts";

/** The pages of sources: connecting by forms, what may be done with a connection, its history and its progress. */

let service: TestService;
let shop: ShopifySimulator;
let shipStation: ShipStationSimulator;

before(async () => {
  service = await startTestService();
  shop = await startShopifySimulator({ orders: 10, products: 3 });
  shipStation = await startShipStationSimulator();
});
after(async () => {
  await service.stop();
  await shop.stop();
  await shipStation.stop();
});

const SOURCES = "/settings/sources";
const WRONG_TOKEN = "shpat_wrong_token_of_nobody";

/** A workspace with an owner who is signed in. */
async function newShop(options: { currencyCode?: string; readiness?: string } = {}) {
  const tenant = await createTenant(service.database, options);
  const { shopDomain } = tenant;
  const cookie = await signInAs(service, { name: `Owner of ${shopDomain}`, shopDomain });
  return {
    tenant,
    cookie,
    page: (path: string) => openPage(service, path, { tenant, cookie }),
    post: (path: string, fields: Record<string, string>) =>
      postForm(service, `/w/${shopDomain}${path}`, fields, { cookie }),
    follow: async (response: Response): Promise<string> => {
      assert.equal(response.status, 303, await response.text());
      const [pair = ""] = (response.headers.get("set-cookie") ?? "").split(";");
      const next = await fetch(new URL(response.headers.get("location") ?? "", service.address), {
        headers: { cookie: `${cookie}; ${pair}` },
      });
      return wordsOf(await next.text());
    },
  };
}

function wordsOf(text: string): string {
  return unescaped(text.replaceAll(/<[^>]+>/gu, " ")).replaceAll(/\s+/gu, " ");
}

const connectionsOf = ({ shopKey }: Tenant) =>
  rowsOf<{ source: string }>(service, "data_source", shopKey, "source, is_connection");

type AuditRow = {
  action: string;
  detail: Record<string, unknown>;
  before: Record<string, unknown> | null;
};

/** What was done since the workspace has its owner. */
async function auditOf({ shopKey }: Tenant): Promise<AuditRow[]> {
  const columns = "happened_at, action, detail, before";
  const rows = await rowsOf<AuditRow>(service, "audit_event", shopKey, columns);
  return rows.filter(({ action }) => action !== "member.set");
}

const shopify = (fields: Record<string, string> = {}) => ({
  shop: shop.options.domain,
  address: shop.url,
  "secret-accessToken": shop.token,
  ...fields,
});

test("what a source refuses is said in its words beside the form, which keeps all but the secret", async () => {
  const { tenant, post } = await newShop();
  const before = await connectionsOf(tenant);
  const cases = [
    [{ "secret-accessToken": WRONG_TOKEN }, 409, /Shopify does not take this access token for/u],
    [{ address: "http://127.0.0.1:9" }, 409, /did not answer in 3 tries, the last one: no connection\./u],
    [{ shop: "else.myshopify.com" }, 409, /is the shop simulated-shop\.myshopify\.com, not else\./u],
    [{ shop: shop.token }, 400, /The shop must be its name at Shopify, such as/u],
    [{ address: "https://evil.example" }, 400, /The address must be a shop's/u],
    [
      { "secret-accessToken": "two words" },
      400,
      /The token must be one word of letters, digits and signs\./u,
    ],
    [
      { "option-familyMetafield": "none" },
      400,
      /familyMetafield of this Shopify connection is not namespace\.key/u,
    ],
  ] as const;
  for (const [fields, status, sentence] of cases) {
    const sent = shopify({ "option-usedConditions": "Used\nSo <b>so", ...fields });
    const response = await post(`${SOURCES}/shopify/connect`, sent);
    const text = await response.text();
    assert.equal(response.status, status, text);
    assert.match(wordsOf(text), sentence);
    assert.ok(text.includes("Used\nSo &lt;b&gt;so</textarea>"), "the option is kept");
    assert.ok(!text.includes(sent["secret-accessToken"]) || "shop" in fields, "the secret is not shown");
  }
  assert.deepEqual(await connectionsOf(tenant), before);
  assert.deepEqual(await auditOf(tenant), []);
});

test("a shop of another currency is not connected", async () => {
  const { tenant, post } = await newShop({ currencyCode: "USD" });
  const response = await post(`${SOURCES}/shopify/connect`, shopify());
  assert.equal(response.status, 409);
  assert.match(await response.text(), /sells in EUR, but the workspace .* counts in USD/u);
  assert.equal((await connectionsOf(tenant)).length, 1);
});

test("a token connects the shop, its run is asked for, and the next page says what its webhooks are", async () => {
  const own = await newShop();
  const { tenant, post, follow, page } = own;
  const fields = shopify({ "secret-clientSecret": "secret_of_the_app", "option-familyTagPrefix": "family:" });
  const response = await post(`${SOURCES}/shopify/connect`, fields);
  assert.equal(response.headers.get("location"), `/w/${tenant.shopDomain}${SOURCES}/shopify/progress`);
  const words = await follow(response);
  assert.match(words, /Shopify is connected to simulated-shop\.myshopify\.com, and is read from now on\./u);
  assert.match(
    words,
    /PUBLIC_URL is not set, so the shop sends no webhooks: changes are read every 15 minutes/u,
  );
  assert.match(words, /No worker is running, so nothing is read\./u);
  assert.match(words, /Everything: waiting for its turn/u);
  const [event, ...more] = await auditOf(tenant);
  assert.equal(event?.action, "source.connect");
  assert.equal(event.detail["familyTagPrefix"], "family:");
  assert.equal(event.before, null);
  assert.equal(more.length, 0);

  const form = (await page(`${SOURCES}/shopify/connect`)).text;
  assert.match(form, /value="family:"/u);
  const told = [
    ...service.logs,
    form,
    (await page(SOURCES)).text,
    (await page(`${SOURCES}/shopify`)).text,
    JSON.stringify(await auditOf(tenant)),
  ].join("");
  for (const secret of [shop.token, "secret_of_the_app", WRONG_TOKEN]) {
    assert.ok(!told.includes(secret), secret);
  }

  const again = await post(`${SOURCES}/shopify/connect`, shopify());
  assert.equal(again.status, 303);
  const { before, detail } = (await auditOf(tenant))[1] ?? {};
  assert.equal(before?.["familyTagPrefix"], "family:");
  assert.equal(detail?.["familyTagPrefix"], null);

  const other = await newShop();
  const taken = await other.post(`${SOURCES}/shopify/connect`, shopify());
  const sentence = await taken.text();
  assert.match(sentence, /is already connected to another workspace of this service\./u);
  assert.ok(!sentence.includes(tenant.shopDomain));
});

test("a label source is connected by its key", async () => {
  const { tenant, post, follow, page } = await newShop();
  const path = `${SOURCES}/shipstation/connect`;
  const refused = await post(path, { address: shipStation.url, "secret-apiKey": "wrong" });
  assert.match(await refused.text(), /ShipStation does not take this API key \(status 401\)/u);
  const words = await follow(
    await post(path, { address: shipStation.url, "secret-apiKey": shipStation.apiKey }),
  );
  assert.match(words, /ShipStation is connected, and is read from now on\./u);
  assert.ok(!(await page(path)).text.includes(shipStation.apiKey));
  assert.deepEqual(
    (await connectionsOf(tenant)).map(({ source }) => source),
    ["csv", "shipstation"],
  );
});

test("an approval needs an app, and says what it takes", async () => {
  const { page, post } = await newShop();
  const { text } = await page(`${SOURCES}/shopify/connect`);
  assert.match(text, /SHOPIFY_CLIENT_ID/u);
  const response = await post(`${SOURCES}/shopify/link`, { shop: shop.options.domain, address: shop.url });
  assert.equal(response.status, 409);
  assert.match(await response.text(), /Set PUBLIC_URL, SHOPIFY_CLIENT_ID and SHOPIFY_CLIENT_SECRET/u);
});

test("where others reach the console, nobody sends the service to an address of its own machine", async () => {
  const { tenant } = await newShop();
  const { database, keys } = service.installation;
  const acting = {
    database,
    keys,
    connecting: { publicUrl: "https://returns.example", app: null },
    actor: OPERATOR,
    workspace: await requireWorkspace(database, tenant.shopDomain),
    now: new Date(),
  };
  for (const source of listSources()) {
    const form = { shop: shop.options.domain, address: shop.url, secrets: {}, settings: {} };
    await assert.rejects(connectByForm(acting, source, form), /The address cannot be chosen here/u);
  }
});

/** A connection in a state that a worker leaves behind. */
async function connected({ shopKey }: Tenant, change: string): Promise<void> {
  await connectShop(service, shopKey, `shop-${shopKey}.myshopify.com`);
  await service.database.query(
    `update data_source set ${change} where shop_key = $1 and source = 'shopify'`,
    [shopKey],
  );
}

test("the page of sources says how each is, and what repairs it", async () => {
  const states = [
    [
      "status = 'ok', last_synced_at = '2026-07-01T06:00:00Z'",
      /its last run succeeded .* 1 Jul 2026, 06:00 UTC/u,
    ],
    ["status = null", /its first run has not ended yet/u],
    [
      "status = 'failed', last_error = 'It <b>answered 503.'",
      /It <b>answered 503\. It is tried again by itself/u,
    ],
    [
      "status = 'disconnected', last_error = 'It was revoked.'",
      /It was revoked\. Nothing is read until you connect Shopify again/u,
    ],
    ["status = 'disconnected', sealed_credentials = null", /Disconnected: its key is deleted/u],
  ] as const;
  for (const [change, sentence] of states) {
    const { tenant, page } = await newShop();
    await connected(tenant, change);
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
  const { tenant, page } = await newShop();
  await connected(tenant, "status = 'ok', last_synced_at = now()");
  const { rows } = await service.database.query<{ next: string }>(
    `select to_char(date_bin(period, now(), first_at) + period, 'HH24:MI') as next from schedule where task = 'stores'`,
  );
  const clock = wordsOf((await page(SOURCES)).text);
  assert.ok(clock.includes(`${rows[0]?.next} UTC`), `${rows[0]?.next}: ${clock}`);
  await insertRows(service.database, "sync_request", [
    { shop_key: tenant.shopKey, source: "shopify", kind: "incremental", requested_by: "operator" },
  ]);
  assert.match(wordsOf((await page(SOURCES)).text), /Next run As soon as a worker runs/u);
});

test("runs are asked for, a backfill is taken back, and a disconnection is typed", async () => {
  const { tenant, post, follow, page } = await newShop();
  await connected(tenant, "status = 'ok', last_synced_at = '2026-07-01T06:00:00Z'");
  const requests = () => rowsOf<{ kind: string }>(service, "sync_request", tenant.shopKey, "kind, source");
  const at = `${SOURCES}/shopify`;
  assert.match(await follow(await post(`${at}/sync`, { kind: "incremental" })), /A run was asked for/u);
  await follow(await post(`${at}/sync`, { kind: "backfill" }));
  assert.deepEqual(
    (await requests()).map(({ kind }) => kind),
    ["backfill", "incremental"],
  );
  assert.match(wordsOf((await page(at)).text), /Take back the backfill/u);
  assert.match(await follow(await post(`${at}/cancel`, {})), /The backfill is taken back/u);
  assert.match(wordsOf((await page(at)).text), /Read everything again/u);

  const wrong = await post(`${at}/disconnect`, { typed: "shop" });
  assert.equal(wrong.status, 400);
  const text = await wrong.text();
  assert.match(text, /Type shopify to disconnect it\./u);
  assert.match(text, /value="shop"/u);
  assert.match(await follow(await post(`${at}/disconnect`, { typed: "shopify" })), /its key is deleted/u);
  assert.deepEqual(await requests(), []);
  const events = await auditOf(tenant);
  assert.deepEqual(
    events.map(({ action }) => action),
    ["sync.request", "sync.request", "sync.cancel", "source.disconnect"],
  );
  assert.equal(events[3]?.before?.["status"], "ok");
  const refused = await post(`${at}/sync`, { kind: "incremental" });
  assert.equal(refused.status, 409);
  assert.match(await refused.text(), /is not connected to &quot;shopify&quot;/u);
});

const HOSTILE = `<img src=x onerror="alert(1)">`;

test("the history of runs has its counts, notes and errors as text, and older runs a page further", async () => {
  const { tenant, page } = await newShop();
  await connected(tenant, "status = 'ok'");
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
  const { tenant, page } = await newShop({ readiness: "backfilling" });
  await connected(tenant, "status = 'syncing'");
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
  assert.match(wordsOf(running), /Everything: orders .* 1,200 of 5,000/u);
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
  assert.match(wordsOf(waiting), /The last try failed: It answered 503\. The next one begins at 1 Jul 2126/u);
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

test("viewers see no page of sources and do nothing to them, and a connection takes a recent proof", async () => {
  const { tenant, page, post } = await newShop();
  await connected(tenant, "status = 'ok', last_synced_at = now()");
  const name = `Owner of ${tenant.shopDomain}`;
  const pages = [SOURCES, `${SOURCES}/shopify`, `${SOURCES}/shopify/connect`, `${SOURCES}/shopify/progress`];
  const actions = ["sync", "cancel", "disconnect", "connect", "link"].map(
    (each) => `${SOURCES}/shopify/${each}`,
  );
  await service.database.query(
    `update console_session set proved_at = now() - interval '11 minutes'
      where user_id = (select user_id from console_user where name = $1)`,
    [name],
  );
  const unproved = await page(`${SOURCES}/shopify/connect`);
  assert.equal(unproved.status, 403);
  assert.match(unproved.text, /href="\/prove\?next=/u);
  for (const path of ["connect", "link", "disconnect"]) {
    const response = await post(`${SOURCES}/shopify/${path}`, shopify({ typed: "shopify" }));
    assert.equal(response.status, 403);
    assert.match(await response.text(), /Confirm that it is you/u);
  }
  await service.database.query(
    `update workspace_member set role = 'viewer' where user_id = (select user_id from console_user where name = $1)`,
    [name],
  );
  for (const path of pages) assert.equal((await page(path)).status, 403, path);
  for (const path of actions) assert.equal((await post(path, {})).status, 403, path);
  assert.deepEqual(await auditOf(tenant), []);
});

test("a source that does not exist is no page", async () => {
  const { page } = await newShop();
  for (const path of ["csv", "none", "none/connect", "none/progress"]) {
    assert.equal((await page(`${SOURCES}/${path}`)).status, 404, path);
  }
});
