import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import { startShopifySimulator } from "../simulators/shopify/start.ts";
import type { ShopifySimulator } from "../simulators/shopify/start.ts";
import { createInstallationLink } from "../src/control/connect-oauth.ts";
import { requireWorkspace } from "../src/control/workspace.ts";
import { COMMON_HEADERS } from "../src/http/headers.ts";
import { openCredentials } from "../src/sync/credentials.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { APP, APP_OPTIONS, connectShop, rowsOf } from "./support/webhooks.ts";

const PUBLIC_URL = "https://returns.example";

let service: TestService;
const simulators: ShopifySimulator[] = [];
before(async () => {
  service = await startTestService({ ...APP_OPTIONS, PUBLIC_URL });
});
after(async () => {
  await service.stop();
  await Promise.all(simulators.map((simulator) => simulator.stop()));
});

let shops = 0;

/** A simulated shop that has the app, and a workspace for it. */
async function newShop(options: { currencyCode?: string; scopes?: string[] } = {}) {
  shops += 1;
  const domain = `shop-${shops}.myshopify.com`;
  const simulator = await startShopifySimulator({ ...options, ...APP, orders: 10, products: 3, domain });
  simulators.push(simulator);
  return { simulator, domain, tenant: await createTenant(service.database) };
}

const environment = (now = new Date()) => ({
  database: service.installation.database,
  sealingKey: service.installation.keys.sealingKey,
  publicUrl: PUBLIC_URL,
  app: APP,
  now: () => now,
});

/** The operator's link, as the merchant's browser opens it here. */
async function linkFor(tenant: Tenant, shop: string, url: string, now = new Date()): Promise<string> {
  const workspace = await requireWorkspace(service.installation.database, tenant.shopDomain);
  const choices = { familyTagPrefix: "family:" };
  return here(createInstallationLink(environment(now), workspace, { shop, url, choices }));
}

const here = (address: string): string => address.replace(PUBLIC_URL, service.address);

const open = (address: string): Promise<Response> => fetch(address, { redirect: "manual" });

/** Where a page sends the browser. */
async function next(address: string): Promise<string> {
  const response = await open(address);
  assert.equal(response.status, 302);
  return here(response.headers.get("location") ?? "");
}

/** What a page that goes no further says. */
async function sentenceOf(response: Response): Promise<string> {
  for (const [name, value] of Object.entries(COMMON_HEADERS)) assert.equal(response.headers.get(name), value);
  assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
  return /<p>(.*)<\/p>/u.exec(await response.text())?.[1] ?? "";
}

/** An address with a query that the platform has signed. */
function signed(path: string, values: Record<string, string>, secret = APP.clientSecret): string {
  const message = Object.keys(values)
    .toSorted()
    .map((name) => `${name}=${values[name]}`)
    .join("&");
  const hmac = createHmac("sha256", secret).update(message).digest("hex");
  return `${service.address}${path}?${new URLSearchParams({ ...values, hmac }).toString()}`;
}

const connectionOf = async ({ shopKey }: Tenant) => {
  const { rows } = await service.database.query<{ settings: Record<string, unknown>; is_sealed: boolean }>(
    `select settings, sealed_credentials is not null as is_sealed
       from data_source where shop_key = $1 and source = 'shopify' and is_connection`,
    [shopKey],
  );
  return rows[0] ?? null;
};

test("a merchant who opens the link and approves connects the shop with tokens that expire", async () => {
  const { simulator, domain, tenant } = await newShop();
  const authorize = await next(await linkFor(tenant, domain, simulator.url));
  const asked = new URL(authorize).searchParams;
  assert.equal(asked.get("redirect_uri"), `${PUBLIC_URL}/connect/shopify/callback`);
  assert.equal(asked.get("scope"), "read_orders,read_returns,read_products,read_all_orders");
  const callback = await next(authorize);
  const page = await open(callback);
  assert.equal(page.status, 200);
  assert.equal(
    await sentenceOf(page),
    `${domain} is connected, and its orders are being read. This page can be closed.`,
  );

  const connection = await connectionOf(tenant);
  assert.equal(connection?.settings["shop"], domain);
  assert.equal(connection?.settings["familyTagPrefix"], "family:");
  const { shopKey } = tenant;
  const { database, keys } = service.installation;
  const place = { database, sealingKey: keys.sealingKey, shopKey, source: "shopify" };
  const secrets = await openCredentials(place).read();
  assert.ok(secrets["accessToken"] !== undefined && secrets["refreshToken"] !== undefined);
  const lifetimeMs = Date.parse(secrets["expiresAt"] ?? "") - Date.now();
  assert.ok(lifetimeMs > 3_500_000 && lifetimeMs <= 3_600_000, String(lifetimeMs));
  assert.ok(Date.parse(secrets["refreshExpiresAt"] ?? "") > Date.now() + 80 * 86_400_000);

  const requests = await rowsOf(service, "sync_request", shopKey, "kind, requested_by");
  assert.deepEqual(requests, [{ kind: "backfill", requested_by: "connect" }]);
  const { operations } = await simulator.control("statistics", {});
  assert.equal(operations["WebhookCreate"], 17);
  const [event] = await rowsOf<{ actor: string; action: string }>(
    service,
    "audit_event",
    shopKey,
    "actor, action",
  );
  assert.deepEqual(event, { actor: "merchant", action: "source.connect" });
  const told =
    service.logs.join("") + JSON.stringify(await rowsOf(service, "audit_event", shopKey, "action, detail"));
  for (const secret of [
    secrets["accessToken"],
    secrets["refreshToken"],
    new URL(callback).searchParams.get("code"),
  ]) {
    assert.ok(!told.includes(secret ?? ""));
  }

  const again = await open(callback);
  assert.equal(again.status, 400);
  assert.match(await sentenceOf(again), /^This approval was used already/u);
});

test("the platform's own installation leads to the approval of the workspace that bears the shop's domain", async () => {
  const { domain, tenant } = await newShop();
  const values = { shop: domain, timestamp: "1750000000", host: "YWRtaW4=" };
  const unknown = await open(signed("/connect/shopify", values));
  assert.equal(unknown.status, 404);
  assert.equal(
    await sentenceOf(unknown),
    `There is no workspace for ${domain}: ask whoever runs this service to make one.`,
  );
  await service.database.query("update shop_directory set shop_domain = $2 where shop_key = $1", [
    tenant.shopKey,
    domain,
  ]);
  const address = new URL(await next(signed("/connect/shopify", values)));
  assert.equal(address.origin, `https://${domain}`);
  assert.equal(address.pathname, "/admin/oauth/authorize");
  assert.equal(address.searchParams.get("client_id"), APP.clientId);

  await connectShop(service, tenant.shopKey, domain);
  const opened = await open(signed("/connect/shopify", values));
  assert.deepEqual([opened.status, await sentenceOf(opened)], [200, `${domain} is connected.`]);
});

test("an address that the platform has not signed leads nowhere", async () => {
  const values = { shop: "some.myshopify.com", timestamp: "1750000000" };
  for (const path of ["/connect/shopify", "/connect/shopify/callback"]) {
    const addresses = [
      `${service.address}${path}`,
      `${service.address}${path}?shop=some.myshopify.com`,
      signed(path, values, "guessed"),
      signed(path, values).replace("some.myshopify.com", "other.myshopify.com"),
      `${signed(path, values)}&shop=other.myshopify.com`,
    ];
    for (const address of addresses) {
      const response = await open(address);
      assert.equal(response.status, 401, address);
      assert.equal(await sentenceOf(response), "This address works only when Shopify opens it.");
    }
  }
});

test("a shop that is no host of the platform is never redirected to", async () => {
  const hosts = [
    "evil.example",
    "evil.example/.myshopify.com",
    "a.b.myshopify.com",
    "-a.myshopify.com",
    "a.myshopify.com.evil.example",
    "",
  ];
  for (const shop of hosts) {
    const response = await open(signed("/connect/shopify", { shop, timestamp: "1" }));
    assert.equal(response.status, 400, shop);
    assert.equal(await sentenceOf(response), "Shopify named no shop such as my-store.myshopify.com.");
  }
});

test("a link ends after seven days, and one that was changed was never one", async () => {
  const { simulator, domain, tenant } = await newShop();
  const eightDaysAgo = new Date(Date.now() - 8 * 86_400_000);
  const link = await linkFor(tenant, domain, simulator.url);
  for (const address of [
    await linkFor(tenant, domain, simulator.url, eightDaysAgo),
    `${link.slice(0, -5)}AAAAA`,
    `${service.address}/connect/shopify?link=`,
  ]) {
    const response = await open(address);
    assert.equal(response.status, 400);
    assert.match(await sentenceOf(response), /^This link is not valid any more/u);
  }
});

test("an approval whose state is missing, old, changed or of another shop connects nothing", async () => {
  const { simulator, domain, tenant } = await newShop();
  const link = await linkFor(tenant, domain, simulator.url);
  const state = new URL(await next(link)).searchParams.get("state") ?? "";
  const sealedLink = new URL(link).searchParams.get("link") ?? "";
  const values = { shop: domain, code: "code", timestamp: "1750000000" };
  const begun = /^The approval was not begun here, or took longer than ten minutes/u;
  for (const wrong of ["", "x", sealedLink, `${state.slice(0, -4)}AAAA`]) {
    const response = await open(signed("/connect/shopify/callback", { ...values, state: wrong }));
    assert.equal(response.status, 400);
    assert.match(await sentenceOf(response), begun);
  }
  const foreign = await open(
    signed("/connect/shopify/callback", { ...values, state, shop: "other.myshopify.com" }),
  );
  assert.equal(foreign.status, 400);
  assert.match(await sentenceOf(foreign), /^The approval is of another shop/u);
  const unapproved = await open(signed("/connect/shopify/callback", { shop: domain, timestamp: "1", state }));
  assert.equal(unapproved.status, 400);
  const refused = await open(signed("/connect/shopify/callback", { ...values, state }));
  assert.equal(refused.status, 400);
  assert.match(await sentenceOf(refused), /^Shopify did not accept the approval/u);
  assert.equal(await connectionOf(tenant), null);
});

test("a shop of another currency or with too few scopes is refused in one sentence, and nothing is stored", async () => {
  const cases = [
    { options: { currencyCode: "USD" }, sentence: /sells in USD, but the workspace .* counts in EUR/u },
    {
      options: { scopes: ["read_orders"] },
      sentence: /give the app the scopes read_returns, read_products/u,
    },
  ];
  for (const { options, sentence } of cases) {
    const { simulator, domain, tenant } = await newShop(options);
    const response = await open(await next(await next(await linkFor(tenant, domain, simulator.url))));
    assert.equal(response.status, 409);
    assert.match(await sentenceOf(response), sentence);
    assert.equal(await connectionOf(tenant), null);
    assert.deepEqual(await rowsOf(service, "sync_request", tenant.shopKey, "kind, source"), []);
  }
});

test("a platform that does not answer while the code is exchanged is told, and the approval can be begun again", async () => {
  const { simulator, domain, tenant } = await newShop();
  const link = await linkFor(tenant, domain, simulator.url);
  const callback = await next(await next(link));
  await simulator.control("fault", { target: "oauth", fault: { kind: "status", status: 503 } });
  const response = await open(callback);
  assert.equal(response.status, 502);
  assert.equal(await sentenceOf(response), "Shopify answered a request for tokens with status 503.");
  assert.equal((await open(await next(await next(link)))).status, 200);
});

test("a HEAD of these pages is refused: it must not use up an approval", async () => {
  for (const path of ["/connect/shopify", "/connect/shopify/callback"]) {
    const response = await fetch(`${service.address}${path}`, { method: "HEAD" });
    assert.deepEqual([response.status, response.headers.get("Allow")], [405, "GET"]);
  }
});

test("a service without an app says that it has none", async () => {
  const plain = await startTestService();
  try {
    const response = await open(`${plain.address}/connect/shopify?shop=some.myshopify.com`);
    assert.equal(response.status, 404);
    assert.match(await sentenceOf(response), /^This service connects shops with tokens only/u);
  } finally {
    await plain.stop();
  }
});
