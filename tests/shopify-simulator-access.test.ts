import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, suite, test } from "node:test";
import { startShopifySimulator } from "../tools/simulators/shopify/start.ts";
import type { ShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { post, read } from "./support/simulator-client.ts";

const NOW = "2026-11-20T00:00:00Z";
const SHOP = "{ shop { name } }";

type Token = {
  access_token: string;
  scope: string;
  expires_in?: number;
  refresh_token?: string;
  refresh_token_expires_in?: number;
};

suite("the simulated platform's tokens", () => {
  let simulator: ShopifySimulator;

  before(async () => {
    simulator = await startShopifySimulator({ orders: 20, now: NOW });
  });
  after(() => simulator.stop());

  const authorize = async (): Promise<URL> => {
    const query = new URLSearchParams({
      client_id: simulator.options.clientId,
      scope: "read_orders,read_returns",
      redirect_uri: "https://app.example/callback",
      state: "nonce-1",
    });
    const response = await fetch(`${simulator.url}/admin/oauth/authorize?${query.toString()}`, {
      redirect: "manual",
    });
    assert.equal(response.status, 302);
    return new URL(response.headers.get("location") ?? "");
  };
  const exchange = (
    input: Record<string, string>,
    secret = simulator.options.clientSecret,
  ): Promise<Response> =>
    fetch(`${simulator.url}/admin/oauth/access_token`, {
      method: "POST",
      body: new URLSearchParams({ client_id: simulator.options.clientId, client_secret: secret, ...input }),
    });
  const expiring = async (): Promise<Token> => {
    const code = (await authorize()).searchParams.get("code") ?? "";
    return (await (await exchange({ code, expiring: "1" })).json()) as Token;
  };
  const refresh = (token: Token): Promise<Response> =>
    exchange({ grant_type: "refresh_token", refresh_token: token.refresh_token ?? "" });
  const status = async (token: string): Promise<number> => (await post(SHOP, { simulator, token })).status;

  test("the redirect carries the state and a signature over its other parameters", async () => {
    const { searchParams } = await authorize();
    const { hmac, ...others } = Object.fromEntries(searchParams);
    const message = Object.keys(others)
      .toSorted()
      .map((name) => `${name}=${others[name]}`)
      .join("&");
    const expected = createHmac("sha256", simulator.options.clientSecret).update(message).digest("hex");
    assert.equal(hmac, expected);
    assert.equal(others["state"], "nonce-1");
    assert.equal(others["shop"], simulator.options.domain);
  });

  test("a code gives an expiring token once, with the scopes that were granted", async () => {
    const code = (await authorize()).searchParams.get("code") ?? "";
    assert.equal((await exchange({ code, expiring: "1" }, "wrong")).status, 400);
    const token = (await (await exchange({ code, expiring: "1" })).json()) as Token;
    assert.deepEqual([token.expires_in, token.refresh_token_expires_in], [3600, 7_776_000]);
    assert.equal(token.scope, "read_orders,read_returns");
    assert.equal(await status(token.access_token), 200);
    assert.equal((await exchange({ code, expiring: "1" })).status, 400);
  });

  test("an access token ends after an hour; its refresh token works exactly once", async () => {
    const token = await expiring();
    await simulator.control("clock", { advanceSeconds: 3599 });
    assert.equal(await status(token.access_token), 200);
    await simulator.control("clock", { advanceSeconds: 1 });
    assert.equal(await status(token.access_token), 401);
    const renewed = (await (await refresh(token)).json()) as Token;
    assert.equal(await status(renewed.access_token), 200);
    const again = await refresh(token);
    assert.equal(again.status, 400);
    assert.equal(((await again.json()) as { error: string }).error, "invalid_grant");
    assert.equal((await refresh(renewed)).status, 200);
    assert.equal(await status(renewed.access_token), 401, "a refresh ends the token before it");
  });

  test("the lasting token of a custom app outlives hours and ends when it is revoked", async () => {
    await simulator.control("clock", { advanceSeconds: 100 * 86_400 });
    assert.equal(await status(simulator.token), 200);
    assert.equal(await status("shpat_unknown"), 401);
    await simulator.control("revoke-tokens", {});
    const response = await post(SHOP, { simulator });
    assert.equal(response.status, 401);
    assert.match(((await response.json()) as { errors: string }).errors, /Invalid API key or access token/);
  });
});

test("with grace a used refresh token works again until its replacement is used", async () => {
  const simulator = await startShopifySimulator({ orders: 20, now: NOW, refreshGrace: true });
  try {
    const { clientId, clientSecret } = simulator.options;
    const exchange = async (input: Record<string, string>): Promise<{ status: number; body: Token }> => {
      const response = await fetch(`${simulator.url}/admin/oauth/access_token`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ client_id: clientId, client_secret: clientSecret, ...input }),
      });
      return { status: response.status, body: (await response.json()) as Token };
    };
    const renew = (token: Token) =>
      exchange({ grant_type: "refresh_token", refresh_token: token.refresh_token ?? "" });
    const query = new URLSearchParams({
      client_id: clientId,
      scope: "read_orders",
      redirect_uri: "https://a.example/",
    });
    const granted = await fetch(`${simulator.url}/admin/oauth/authorize?${query.toString()}`, {
      redirect: "manual",
    });
    const code = new URL(granted.headers.get("location") ?? "").searchParams.get("code") ?? "";
    const { body: first } = await exchange({ code, expiring: "1" });
    assert.equal((await renew(first)).status, 200, "the answer to this one is lost");
    const { body: second } = await renew(first);
    assert.equal((await renew(second)).status, 200);
    assert.equal((await renew(first)).status, 400);
  } finally {
    await simulator.stop();
  }
});

suite("the simulated platform's webhooks", () => {
  type Received = { headers: NodeJS.Dict<string | string[]>; body: string };
  let simulator: ShopifySimulator;
  const received: Received[] = [];
  const receiver = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (text: string) => (body += text));
    request.on("end", () => {
      received.push({ headers: request.headers, body });
      response.writeHead(200).end();
    });
  });

  before(async () => {
    simulator = await startShopifySimulator({ orders: 60, seed: 9, now: NOW });
    await new Promise<void>((resolve) => {
      receiver.listen(0, "127.0.0.1", resolve);
    });
    const uri = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks`;
    for (const topic of ["RETURNS_CLOSE", "REFUNDS_CREATE", "ORDERS_DELETE"]) {
      await read(
        `mutation($topic: WebhookSubscriptionTopic!, $uri: String!) {
          webhookSubscriptionCreate(topic: $topic, webhookSubscription: { uri: $uri }) {
            webhookSubscription { id topic uri } userErrors { message } } }`,
        { simulator, variables: { topic, uri } },
      );
    }
  });
  after(async () => {
    await simulator.stop();
    receiver.closeAllConnections();
    receiver.close();
  });

  test("subscriptions are listed, and one address takes a topic once", async () => {
    const { webhookSubscriptions } = await read<{
      webhookSubscriptions: { nodes: { topic: string; uri: string }[] };
    }>("{ webhookSubscriptions(first: 10) { nodes { topic uri } } }", { simulator });
    assert.deepEqual(
      webhookSubscriptions.nodes.map(({ topic }) => topic),
      ["RETURNS_CLOSE", "REFUNDS_CREATE", "ORDERS_DELETE"],
    );
    const { webhookSubscriptionCreate } = await read<{
      webhookSubscriptionCreate: { userErrors: unknown[] };
    }>(
      `mutation($uri: String!) { webhookSubscriptionCreate(topic: RETURNS_CLOSE, webhookSubscription: { uri: $uri }) {
        userErrors { message } } }`,
      { simulator, variables: { uri: webhookSubscriptions.nodes[0]?.uri } },
    );
    assert.equal(webhookSubscriptionCreate.userErrors.length, 1);
  });

  test("what happened is delivered to its subscribers, signed over the raw body", async () => {
    const found = await simulator.control("find-order", { with: "returnable" });
    const order = found?.order ?? 0;
    await simulator.control("change", [
      { do: "openReturn", order, line: 0, units: 1 },
      { do: "closeReturn", order, return: 0 },
      { do: "refund", order, line: 0, units: 1, return: 0 },
    ]);
    const deliveries = await simulator.control("deliver", {});
    assert.deepEqual(
      deliveries.map(({ topic, status }) => [topic, status]),
      [
        ["returns/close", 200],
        ["refunds/create", 200],
      ],
    );
    for (const { headers, body } of received) {
      const expected = createHmac("sha256", simulator.options.clientSecret).update(body).digest("base64");
      assert.equal(headers["x-shopify-hmac-sha256"], expected);
      assert.equal(headers["x-shopify-shop-domain"], simulator.options.domain);
      assert.equal(headers["x-shopify-api-version"], "2026-10");
    }
    const close = JSON.parse(received[0]?.body ?? "{}") as { order: { admin_graphql_api_id: string } };
    assert.equal(close.order.admin_graphql_api_id, `gid://shopify/Order/${5_800_000_000_000 + order}`);
  });

  test("copies share one webhook id, and a batch can come out of order", async () => {
    received.length = 0;
    const messages = Array.from({ length: 20 }, (_, id) => ({ topic: "ORDERS_DELETE", payload: { id } }));
    await simulator.control("deliver", { messages, copies: 2, shuffled: true });
    const ids = received.map(({ body }) => (JSON.parse(body) as { id: number }).id);
    assert.equal(ids.length, 40);
    assert.notDeepEqual(
      ids,
      ids.toSorted((one, other) => one - other),
    );
    assert.equal(new Set(received.map(({ headers }) => headers["x-shopify-webhook-id"])).size, 20);
  });

  test("a forged message has a signature that does not fit", async () => {
    received.length = 0;
    await simulator.control("deliver", {
      messages: [{ topic: "ORDERS_DELETE", payload: { id: 1 } }],
      forged: true,
    });
    const [{ headers, body } = assert.fail()] = received;
    const expected = createHmac("sha256", simulator.options.clientSecret).update(body).digest("base64");
    assert.notEqual(headers["x-shopify-hmac-sha256"], expected);
  });

  test("billing that ends shows in the installation and is reported", async () => {
    await simulator.control("drop-messages", {});
    await simulator.control("billing", { status: null });
    const { currentAppInstallation } = await read<{
      currentAppInstallation: { activeSubscriptions: unknown[] };
    }>("{ currentAppInstallation { activeSubscriptions { status } } }", { simulator });
    assert.deepEqual(currentAppInstallation.activeSubscriptions, []);
    received.length = 0;
    const uri = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks`;
    await simulator.control("deliver", { uri });
    assert.deepEqual(
      received.map(({ headers }) => headers["x-shopify-topic"]),
      ["app_subscriptions/update"],
    );
  });
});
