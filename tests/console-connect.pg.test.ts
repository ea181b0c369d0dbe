import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { startShipStationSimulator } from "../tools/simulators/shipstation/server.ts";
import { startShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { startWooSimulator } from "../tools/simulators/woocommerce/server.ts";
import { runAction } from "../src/actions/action.ts";
import { textInput } from "../src/actions/field.ts";
import { connectSource, listSources } from "../src/actions/sources/connect.ts";
import { OPERATOR, type Actor } from "../src/actions/actor.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { wordsOf } from "./support/page-figures.ts";
import { scene } from "./support/scene.ts";
import { startBeside, startTestService } from "./support/service.ts";
import type { TenantOptions } from "./support/tenants.ts";
import { use } from "./support/use.ts";
import { makeWorkspace } from "./support/workspace.ts";
import { APP_OPTIONS, rowsOf } from "./support/webhooks.ts";

/** Connecting sources by forms of the console: refusals, stored values, and secrets that are never shown. */

const service = use(startTestService);
const shop = use(() => startShopifySimulator({ orders: 10, products: 3 }));
const shipStation = use(startShipStationSimulator);

const SOURCES = "/settings/sources";
const WRONG_TOKEN = "shpat_wrong_token_of_nobody";

/** A workspace with an owner who is signed in. */
async function newShop(options: TenantOptions = {}) {
  const { shopKey, shopDomain, audit, member } = await scene({ on: service, ...options });
  const connections = () =>
    rowsOf<{ source: string }>(service, "data_source", shopKey, "source, is_connection");
  return { shopDomain, audit, connections, ...(await member()) };
}

const shopify = (fields: Record<string, string> = {}) => ({
  shop: shop.options.domain,
  address: shop.url,
  "secret-accessToken": shop.token,
  ...fields,
});

test("a source's refusal is shown in its own words at the form, which keeps everything but the secret", async () => {
  const { post, audit, connections } = await newShop();
  const stored = await connections();
  const cases = [
    [{ "secret-accessToken": WRONG_TOKEN }, 409, /Shopify rejected this access token for/u],
    [{ address: "http://127.0.0.1:9" }, 409, /did not answer in 3 tries, the last one: no connection\./u],
    [{ shop: "else.myshopify.com" }, 409, /is the shop simulated-shop\.myshopify\.com, not else\./u],
    [{ shop: shop.token }, 400, /The shop must be its domain at Shopify, such as/u],
    [{ address: "https://evil.example" }, 400, /The address must be a shop's/u],
    [
      { "secret-accessToken": "two words" },
      400,
      /The token must be one word of letters, digits and punctuation\./u,
    ],
    [
      { "option-familyMetafield": "none" },
      400,
      /familyMetafield of this Shopify connection is not namespace\.key/u,
    ],
  ] as const;
  for (const [fields, status, sentence] of cases) {
    const sent = shopify({ "option-usedConditions": "Used\nSo <b>so", ...fields });
    const { status: answered, text } = await post(`${SOURCES}/shopify/connect`, sent);
    assert.equal(answered, status, text);
    assert.match(wordsOf(text), sentence);
    assert.ok(text.includes(`value="${sent.address}"`), "the address is kept");
    assert.ok(text.includes("Used\nSo &lt;b&gt;so</textarea>"), "the option is kept");
    assert.ok(!text.includes(sent["secret-accessToken"]) || "shop" in fields, "the secret is not shown");
  }
  assert.deepEqual(await connections(), stored);
  assert.deepEqual(await audit(), []);
});

test("a shop of another currency is not connected", async () => {
  const { post, connections } = await newShop({ currencyCode: "USD" });
  const { status, text } = await post(`${SOURCES}/shopify/connect`, shopify());
  assert.equal(status, 409);
  assert.match(text, /sells in EUR, but the workspace .* uses USD/u);
  assert.equal((await connections()).length, 1);
});

test("a token connects the shop, requests its run, and the next page shows its webhooks", async () => {
  const { shopDomain, audit, get, post, follow } = await newShop();
  const fields = shopify({ "secret-clientSecret": "secret_of_the_app", "option-familyTagPrefix": "family:" });
  const response = await post(`${SOURCES}/shopify/connect`, fields);
  assert.equal(response.location, `${SOURCES}/shopify/progress`);
  const words = wordsOf((await follow(response)).text);
  assert.match(words, /Shopify is connected to simulated-shop\.myshopify\.com, and is synced from now on\./u);
  assert.match(
    words,
    /PUBLIC_URL is not set, so the shop sends no webhooks: changes are read every 15 minutes to 12 hours/u,
  );
  assert.match(words, /No worker is running, so nothing is read\./u);
  assert.match(words, /Waiting to read everything/u);
  const [event, ...more] = await audit();
  assert.equal(event?.action, "source.connect");
  assert.equal(event.detail["familyTagPrefix"], "family:");
  assert.equal(event.before, null);
  assert.equal(more.length, 0);

  const form = (await get(`${SOURCES}/shopify/connect`)).text;
  assert.match(form, /value="family:"/u);
  const told = [
    ...service.logs,
    form,
    (await get(SOURCES)).text,
    (await get(`${SOURCES}/shopify`)).text,
    JSON.stringify(await audit()),
  ].join("");
  for (const secret of [shop.token, "secret_of_the_app", WRONG_TOKEN]) {
    assert.ok(!told.includes(secret), secret);
  }

  const again = await post(`${SOURCES}/shopify/connect`, shopify({ "option-familyTagPrefix": "" }));
  assert.equal(again.status, 303);
  const [, renewed] = await audit();
  assert.equal(renewed?.before?.["familyTagPrefix"], "family:");
  assert.equal(renewed?.detail["familyTagPrefix"], null);

  const taken = await (await newShop()).post(`${SOURCES}/shopify/connect`, shopify());
  assert.match(taken.text, /is already connected to another workspace of this service\./u);
  assert.ok(!taken.text.includes(shopDomain));
});

test("a label source is connected by its key", async () => {
  const { connections, get, post } = await newShop();
  const path = `${SOURCES}/shipstation/connect`;
  const refused = await post(path, { address: shipStation.url, "secret-apiKey": "wrong" });
  assert.match(refused.text, /ShipStation does not accept this API key \(status 401\)/u);
  const { done } = await post(path, { address: shipStation.url, "secret-apiKey": shipStation.apiKey });
  assert.match(done ?? "", /ShipStation is connected, and is synced from now on\./u);
  assert.ok(!(await get(path)).text.includes(shipStation.apiKey));
  assert.deepEqual(
    (await connections()).map(({ source }) => source),
    ["csv", "shipstation"],
  );
});

test("an approval needs an app, and says what it takes; with one its link is shown, and not logged", async (context) => {
  const { get, post } = await newShop();
  assert.match((await get(`${SOURCES}/shopify/connect`)).text, /SHOPIFY_CLIENT_ID/u);
  const form = { shop: shop.options.domain, address: shop.url };
  const { status, text } = await post(`${SOURCES}/shopify/link`, form);
  assert.equal(status, 409);
  assert.match(text, /Set PUBLIC_URL, SHOPIFY_CLIENT_ID and SHOPIFY_CLIENT_SECRET/u);
  const options = { ...APP_OPTIONS, PUBLIC_URL: "http://localhost" };
  const { address, logs } = await startBeside(context, service, options);
  const shown = await post(`${SOURCES}/shopify/link`, form, address);
  const [, link = ""] = /href="http:\/\/localhost\/connect\/shopify\?link=([^"]+)"/u.exec(shown.text) ?? [];
  assert.ok(link.length > 40, shown.text);
  assert.ok(!logs.join("").includes(link));
});

test("if others can reach the console, a source cannot have an address of the server's own machine", async () => {
  const { shopDomain } = await scene({ on: service });
  const { keys } = service;
  const { database } = service.installation;
  const session = { userId: randomUUID(), sessionHash: Buffer.alloc(32) };
  const actor: Actor = { name: "user", origin: null, standing: "owner", isFresh: true, session };
  const workspace = await requireWorkspace(database, shopDomain);
  const connecting = { publicUrl: "https://returns.example", app: null };
  const caller = { database, keys, connecting, actor, workspace, now: new Date() };
  for (const { source, key } of listSources()) {
    const form = { source, shop: shop.options.domain, address: shop.url, [`secret-${key.secret}`]: "key" };
    const connected = runAction(connectSource, caller, textInput(form));
    await assert.rejects(connected, /The address cannot be chosen here/u);
  }
  for (const { source, key, shops } of listSources().filter((each) => each.shops !== null)) {
    for (const name of ["http://127.0.0.1:9", "localhost:9", "https://[::1]", "127.1"]) {
      const form = { source, shop: name, [`secret-${key.secret}`]: "ck_key:cs_secret" };
      const connected = runAction(connectSource, caller, textInput(form));
      await assert.rejects(connected, { message: `The shop must be ${shops?.allowed}.` }, name);
    }
  }
});

test("of two workspaces that connect one shop at the same moment, or of two stores of one, one is refused", async (context) => {
  const woo = await startWooSimulator({ seed: 5, orders: 3 });
  context.after(() => woo.stop());
  const { keys } = service;
  const { database } = service.installation;
  const connecting = { publicUrl: null, app: null };
  const forms = {
    shopify: shopify(),
    woocommerce: { address: woo.url, "secret-consumerKey": woo.key },
  };
  for (const name of ["one", "two", "both"])
    await makeWorkspace(database, `${name}.example`, { plan: "scale" });
  const connect = async (name: string, source: keyof typeof forms) => {
    const workspace = await requireWorkspace(database, `${name}.example`);
    const caller = { database, keys, connecting, actor: OPERATOR, workspace, now: new Date() };
    return runAction(connectSource, caller, textInput({ source, ...forms[source] }));
  };
  for (const [attempts, reason] of [
    [
      [
        ["both", "woocommerce"],
        ["both", "shopify"],
      ],
      /both\.example gets its orders from (?:woocomm|shopify)/u,
    ],
    [
      [
        ["one", "woocommerce"],
        ["two", "woocommerce"],
      ],
      /is already connected to the workspace (?:one|two)\./u,
    ],
  ] as const) {
    await service.database.query("update data_source set sealed_credentials = null");
    const ended = await Promise.allSettled(attempts.map(([name, source]) => connect(name, source)));
    const reasons = ended.flatMap((each) => (each.status === "rejected" ? [String(each.reason)] : []));
    assert.equal(reasons.length, 1, String(reasons));
    assert.match(reasons[0] ?? "", reason);
  }
});
