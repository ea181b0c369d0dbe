import assert from "node:assert/strict";
import { test } from "node:test";
import { openCredentials } from "../src/sync/credentials.ts";
import { PUBLIC_URL, sentenceOf, startApprovalService, timestamp } from "./support/oauth.ts";
import { startTestService } from "./support/service.ts";
import { APP, connectShop, rowsOf } from "./support/webhooks.ts";
import { use } from "./support/use.ts";
import type { Actor } from "../src/actions/actor.ts";
import { createPerson, removeMember, setRole } from "./support/people.ts";
import { deleteOldOfWorkspace } from "../src/worker/upkeep.ts";
import { DEFAULT_RETENTION } from "./support/worker.ts";

const oauth = use(startApprovalService);

test("a merchant who opens the link and approves connects the shop with tokens that expire", async () => {
  const { simulator, domain, tenant } = await oauth.newShop();
  const authorize = await oauth.next(await oauth.linkFor(tenant, domain, simulator.url));
  const asked = new URL(authorize).searchParams;
  assert.equal(asked.get("redirect_uri"), `${PUBLIC_URL}/connect/shopify/callback`);
  assert.equal(asked.get("scope"), "read_orders,read_returns,read_products,read_all_orders");
  const callback = await oauth.next(authorize);
  const page = await oauth.open(callback);
  assert.equal(page.status, 200);
  assert.equal(
    await sentenceOf(page),
    `${domain} is connected, and its orders are being read. This page can be closed.`,
  );

  const connection = await oauth.connectionOf(tenant);
  assert.equal(connection?.settings["shop"], domain);
  assert.equal(connection?.settings["familyTagPrefix"], "family:");
  const { shopKey } = tenant;
  const { keys } = oauth.service;
  const { database } = oauth.service.installation;
  const place = { database, sealingKey: keys.sealingKey, shopKey, source: "shopify" };
  const secrets = await openCredentials(place).read();
  assert.ok(secrets["accessToken"] !== undefined && secrets["refreshToken"] !== undefined);
  const lifetimeMs = Date.parse(secrets["expiresAt"] ?? "") - Date.now();
  assert.ok(lifetimeMs > 3_500_000 && lifetimeMs <= 3_600_000, String(lifetimeMs));
  assert.ok(Date.parse(secrets["refreshExpiresAt"] ?? "") > Date.now() + 80 * 86_400_000);

  const requests = await rowsOf(oauth.service, "sync_request", shopKey, "kind, requested_by");
  assert.deepEqual(requests, [{ kind: "backfill", requested_by: "connect" }]);
  const { operations } = await simulator.control("statistics", {});
  assert.equal(operations["WebhookCreate"], 17);
  const [event] = await rowsOf<{ actor: string; action: string }>(
    oauth.service,
    "audit_event",
    shopKey,
    "actor, action",
  );
  assert.deepEqual(event, { actor: "merchant", action: "source.connect" });
  const told =
    oauth.service.logs.join("") +
    JSON.stringify(await rowsOf(oauth.service, "audit_event", shopKey, "action, detail"));
  for (const secret of [
    secrets["accessToken"],
    secrets["refreshToken"],
    new URL(callback).searchParams.get("code"),
  ]) {
    assert.ok(!told.includes(secret ?? ""));
  }

  const again = await oauth.open(callback);
  assert.equal(again.status, 400);
  assert.match(await sentenceOf(again), /^This approval has already been used/u);
});

test("an installation from the platform redirects to the approval for the workspace with the shop's domain", async () => {
  const { simulator, domain, tenant } = await oauth.newShop();
  const values = { shop: domain, timestamp: timestamp(), host: "YWRtaW4=" };
  const unknown = await oauth.open(oauth.signed("/connect/shopify", values));
  assert.equal(unknown.status, 404);
  assert.equal(
    await sentenceOf(unknown),
    `There is no workspace for ${domain}: ask the operator of this service to create one.`,
  );
  await oauth.service.database.query("update shop_directory set shop_domain = $2 where shop_key = $1", [
    tenant.shopKey,
    domain,
  ]);
  const address = new URL(await oauth.next(oauth.signed("/connect/shopify", values)));
  assert.equal(address.origin, `https://${domain}`);
  assert.equal(address.pathname, "/admin/oauth/authorize");
  assert.equal(address.searchParams.get("client_id"), APP.clientId);

  await connectShop(oauth.service, tenant.shopKey, domain, { accessToken: simulator.token }, simulator.url);
  const opened = await oauth.open(oauth.signed("/connect/shopify", values));
  assert.deepEqual([opened.status, await sentenceOf(opened)], [200, `${domain} is connected.`]);
  // It was uninstalled, which no delivery has reported yet.
  await simulator.control("revoke-tokens", {});
  const again = new URL(await oauth.next(oauth.signed("/connect/shopify", values)));
  assert.equal(again.href.startsWith(`${simulator.url}/admin/oauth/authorize?`), true);
});

test("an address that the platform has not signed is refused", async () => {
  const values = { shop: "some.myshopify.com", timestamp: timestamp() };
  for (const path of ["/connect/shopify", "/connect/shopify/callback"]) {
    const addresses = [
      `${oauth.service.address}${path}`,
      `${oauth.service.address}${path}?shop=some.myshopify.com`,
      oauth.signed(path, values, "guessed"),
      oauth.signed(path, values).replace("some.myshopify.com", "other.myshopify.com"),
      `${oauth.signed(path, values)}&shop=other.myshopify.com`,
    ];
    for (const address of addresses) {
      const response = await oauth.open(address);
      assert.equal(response.status, 401, address);
      assert.equal(await sentenceOf(response), "This address works only when Shopify opens it.");
    }
  }
});

test("the browser is never redirected to a shop outside the platform's hosts", async () => {
  const hosts = [
    "evil.example",
    "evil.example/.myshopify.com",
    "a.b.myshopify.com",
    "-a.myshopify.com",
    "a.myshopify.com.evil.example",
    "",
  ];
  for (const shop of hosts) {
    const response = await oauth.open(oauth.signed("/connect/shopify", { shop, timestamp: timestamp() }));
    assert.equal(response.status, 400, shop);
    assert.equal(await sentenceOf(response), "Shopify sent no shop name, such as my-store.myshopify.com.");
  }
});

test("a link expires after seven days, and an altered one is refused", async () => {
  const { simulator, domain, tenant } = await oauth.newShop();
  const eightDaysAgo = new Date(Date.now() - 8 * 86_400_000);
  const link = await oauth.linkFor(tenant, domain, simulator.url);
  for (const address of [
    await oauth.linkFor(tenant, domain, simulator.url, { now: eightDaysAgo }),
    `${link.slice(0, -5)}AAAAA`,
    `${oauth.service.address}/connect/shopify?link=`,
  ]) {
    const response = await oauth.open(address);
    assert.equal(response.status, 400);
    assert.match(await sentenceOf(response), /^This link is no longer valid/u);
  }
});

test("an approval with a missing, old, changed or foreign state does not connect", async () => {
  const { simulator, domain, tenant } = await oauth.newShop();
  const link = await oauth.linkFor(tenant, domain, simulator.url);
  const state = new URL(await oauth.next(link)).searchParams.get("state") ?? "";
  const sealedLink = new URL(link).searchParams.get("link") ?? "";
  const values = { shop: domain, code: "code", timestamp: timestamp() };
  const begun = /^The approval was not started here, or took longer than ten minutes/u;
  for (const wrong of ["", "x", sealedLink, `${state.slice(0, -4)}AAAA`]) {
    const response = await oauth.open(oauth.signed("/connect/shopify/callback", { ...values, state: wrong }));
    assert.equal(response.status, 400);
    assert.match(await sentenceOf(response), begun);
  }
  const foreign = await oauth.open(
    oauth.signed("/connect/shopify/callback", { ...values, state, shop: "other.myshopify.com" }),
  );
  assert.equal(foreign.status, 400);
  assert.match(await sentenceOf(foreign), /^The approval is for another shop/u);
  const unapproved = await oauth.open(
    oauth.signed("/connect/shopify/callback", { shop: domain, timestamp: timestamp(), state }),
  );
  assert.equal(unapproved.status, 400);
  const refused = await oauth.open(oauth.signed("/connect/shopify/callback", { ...values, state }));
  assert.equal(refused.status, 400);
  assert.match(await sentenceOf(refused), /^Shopify did not accept the approval/u);
  assert.equal(await oauth.connectionOf(tenant), null);
});

test("a shop with another currency or too few scopes is refused in one sentence, and not stored", async () => {
  const cases = [
    { options: { currencyCode: "USD" }, sentence: /sells in USD, but the workspace .* uses EUR/u },
    {
      options: { scopes: ["read_orders"] },
      sentence: /give the app the scopes read_returns, read_products/u,
    },
  ];
  for (const { options, sentence } of cases) {
    const { simulator, domain, tenant } = await oauth.newShop(options);
    const response = await oauth.open(
      await oauth.next(await oauth.next(await oauth.linkFor(tenant, domain, simulator.url))),
    );
    assert.equal(response.status, 409);
    assert.match(await sentenceOf(response), sentence);
    assert.equal(await oauth.connectionOf(tenant), null);
    assert.deepEqual(await rowsOf(oauth.service, "sync_request", tenant.shopKey, "kind, source"), []);
  }
});

test("a platform that does not answer while the code is exchanged is reported, and the approval can be started again", async () => {
  const { simulator, domain, tenant } = await oauth.newShop();
  const link = await oauth.linkFor(tenant, domain, simulator.url);
  const callback = await oauth.next(await oauth.next(link));
  await simulator.control("fault", { target: "oauth", fault: { kind: "status", status: 503 } });
  const response = await oauth.open(callback);
  assert.equal(response.status, 502);
  assert.equal(await sentenceOf(response), `Shopify at ${simulator.url} did not answer: status 503.`);
  assert.equal((await oauth.open(await oauth.next(await oauth.next(link)))).status, 200);
});

test("a HEAD of these pages is refused: it must not use up an approval", async () => {
  for (const path of ["/connect/shopify", "/connect/shopify/callback"]) {
    const response = await fetch(`${oauth.service.address}${path}`, { method: "HEAD" });
    assert.deepEqual([response.status, response.headers.get("Allow")], [405, "GET"]);
  }
});

test("a service without an app says so", async () => {
  const plain = await startTestService();
  try {
    const response = await oauth.open(`${plain.address}/connect/shopify?shop=some.myshopify.com`);
    assert.equal(response.status, 404);
    assert.match(await sentenceOf(response), /^This service connects shops only with tokens/u);
  } finally {
    await plain.stop();
  }
});

test("a link connects once; afterwards neither it nor an approval that it started does anything", async () => {
  const { simulator, domain, tenant } = await oauth.newShop();
  const link = await oauth.linkFor(tenant, domain, simulator.url);
  const [first, second] = [await oauth.next(link), await oauth.next(link)];
  assert.equal((await oauth.open(await oauth.next(first))).status, 200);
  const { database, installation } = oauth.service;
  const { shopKey } = tenant;
  // A link lasts for seven days, however few the deliveries are kept.
  await database.query(
    "update webhook_delivery set received_at = now() - interval '6 days' where shop_key = $1",
    [shopKey],
  );
  const retention = { ...DEFAULT_RETENTION, keepDeliveriesDays: 3 };
  await deleteOldOfWorkspace(installation.database, shopKey, retention, new Date());
  for (const late of [link, await oauth.next(second)]) {
    const response = await oauth.open(late);
    assert.equal(response.status, 400);
    assert.match(await sentenceOf(response), /^This link has already been used/u);
  }
});

test("a member's link and the approvals that it started end with the member's right to make one", async () => {
  const { simulator, domain, tenant } = await oauth.newShop();
  const { database } = oauth.service;
  const { userId } = await createPerson(database);
  await setRole(database, tenant, { userId }, "admin");
  const actor: Actor = {
    name: `user:${userId}`,
    origin: null,
    standing: "admin",
    isFresh: true,
    session: null,
  };
  const link = await oauth.linkFor(tenant, domain, simulator.url, { actor });
  const callback = await oauth.next(await oauth.next(link));
  const ended = async (): Promise<void> => {
    for (const late of [link, callback]) {
      const response = await oauth.open(late);
      assert.equal(response.status, 400);
      assert.match(await sentenceOf(response), /^This link is no longer valid/u);
    }
  };
  await setRole(database, tenant, { userId }, "viewer");
  await ended();
  await setRole(database, tenant, { userId }, "admin");
  await database.query("update console_user set disabled_at = now() where user_id = $1", [userId]);
  await ended();
  await database.query("update console_user set disabled_at = null where user_id = $1", [userId]);
  await removeMember(database, tenant, { userId });
  await ended();
  assert.equal(await oauth.connectionOf(tenant), null);
  await setRole(database, tenant, { userId }, "admin");
  assert.equal((await oauth.open(callback)).status, 200);
});

test("an approval counts only in the browser that started it", async () => {
  const { simulator, domain, tenant } = await oauth.newShop();
  const begun = await oauth.open(await oauth.linkFor(tenant, domain, simulator.url), "");
  assert.match(
    begun.headers.get("set-cookie") ?? "",
    /^__Host-returns-approval=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/u,
  );
  const callback = await oauth.next(oauth.here(begun.headers.get("location") ?? ""));
  for (const other of ["", `__Host-returns-approval=${"A".repeat(43)}`, "__Host-returns-approval=x"]) {
    const response = await oauth.open(callback, other);
    assert.equal(response.status, 400);
    assert.match(await sentenceOf(response), /^The approval was started in another browser/u);
  }
  assert.equal(await oauth.connectionOf(tenant), null);
  assert.equal((await oauth.open(callback)).status, 200);
});

test("an address that the platform has signed expires after ten minutes", async () => {
  const shop = "some.myshopify.com";
  const now = Math.floor(Date.now() / 1000);
  for (const path of ["/connect/shopify", "/connect/shopify/callback"]) {
    for (const moment of [String(now - 660), String(now + 660), "soon", ""]) {
      const response = await oauth.open(oauth.signed(path, { shop, timestamp: moment }));
      assert.equal(response.status, 401);
      assert.match(await sentenceOf(response), /^This address is too old/u);
    }
  }
});
