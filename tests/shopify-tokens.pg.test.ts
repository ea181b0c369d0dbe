import assert from "node:assert/strict";
import { test } from "node:test";
import { startShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { putConnection } from "../src/store/queries/data-source.ts";
import { SourceFailed, SourceRefused, type Secrets } from "../src/sync/connector.ts";
import { openCredentials, sealSecrets } from "../src/sync/credentials.ts";
import type { TokenSource } from "../src/sync/connectors/shopify/api/client.ts";
import {
  openTokenClient,
  readShopAccess,
  createTokenSource,
} from "../src/sync/connectors/shopify/install/access.ts";
import { openControlDatabase } from "./support/control.ts";
import { approvedTokens } from "./support/shopify-approval.ts";
import { createTenant } from "./support/tenants.ts";
import { APP } from "./support/webhooks.ts";
import { use } from "./support/use.ts";

const sealingKey = Buffer.alloc(32, 1);
const source = "shopify";
const HOUR_MS = 3_600_000;

const control = use(openControlDatabase);
const simulator = use(() => startShopifySimulator({ ...APP, orders: 10, products: 3 }));

/** A connection with these secrets, and token sources for it as several processes have them. */
async function connection(secrets: Secrets) {
  const { shopKey } = await createTenant(control.pool);
  const place = { sealingKey, shopKey, source };
  const { database } = control;
  const sealedCredentials = sealSecrets(place, secrets);
  await putConnection(database, { shopKey, source, kind: "store", settings: {}, sealedCredentials });
  const stored = openCredentials({ ...place, database });
  const tokens = (laterMs = 0, app: typeof APP | null = APP): TokenSource =>
    createTokenSource({
      credentials: openCredentials({ ...place, database }),
      url: simulator.url,
      clientId: app?.clientId ?? null,
      clientSecret: app?.clientSecret ?? null,
      now: () => new Date(Date.now() + laterMs),
    });
  return { stored, tokens };
}

const refreshes = async (): Promise<number> => (await simulator.control("statistics", {})).refreshes;

/** Whether the platform accepts a token. */
const works = async (token: string): Promise<boolean> =>
  readShopAccess(openTokenClient(simulator.url, token, new AbortController().signal)).then(
    () => true,
    () => false,
  );

test("a custom app's lasting token is used unchanged, at any time", async () => {
  const { tokens } = await connection({ accessToken: simulator.token });
  assert.equal(await tokens(100 * 365 * 24 * HOUR_MS).accessToken(), simulator.token);
  await assert.rejects(tokens().refreshed(simulator.token), (error: Error) => {
    assert.ok(error instanceof SourceRefused);
    assert.ok(!error.message.includes(simulator.token));
    return true;
  });
});

test("an expiring token is used until five minutes before its end, then renewed and stored", async () => {
  const { stored, tokens } = await connection({ ...(await approvedTokens(simulator)), clientSecret: "own" });
  const { accessToken: first = "" } = await stored.read();
  const earlier = await refreshes();
  assert.equal(await tokens(HOUR_MS - 6 * 60_000).accessToken(), first);
  assert.equal(await refreshes(), earlier);
  const renewed = await tokens(HOUR_MS - 4 * 60_000).accessToken();
  assert.notEqual(renewed, first);
  assert.ok(await works(renewed));
  const secrets = await stored.read();
  assert.equal(secrets["accessToken"], renewed);
  assert.equal(secrets["clientSecret"], "own");
  assert.equal(await refreshes(), earlier + 1);
});

test("if many calls in two processes find the token expired at once, one renews it", async () => {
  const { stored, tokens } = await connection(await approvedTokens(simulator));
  const earlier = await refreshes();
  const { accessToken: stale = "" } = await stored.read();
  const [one, other] = [tokens(HOUR_MS), tokens(HOUR_MS)];
  const given = await Promise.all([one, other, one, other, one].map((process) => process.accessToken()));
  assert.equal(new Set(given).size, 1);
  assert.notEqual(given[0], stale);
  assert.equal(await refreshes(), earlier + 1);
  const refused = given[0] ?? "";
  const next = await Promise.all([one, other, one, other].map((process) => process.refreshed(refused)));
  assert.equal(new Set(next).size, 1);
  assert.equal(await refreshes(), earlier + 2);
  assert.ok(await works(next[0] ?? ""));
});

test("a token that another process has already renewed is used", async () => {
  const { stored, tokens } = await connection(await approvedTokens(simulator));
  const { accessToken: stale = "" } = await stored.read();
  const slow = tokens();
  assert.equal(await slow.accessToken(), stale);
  const renewed = await tokens().refreshed(stale);
  const earlier = await refreshes();
  assert.equal(await slow.refreshed(stale), renewed);
  assert.equal(await slow.accessToken(), renewed);
  assert.equal(await refreshes(), earlier);
});

test("a rejected refresh token requires connecting again, and loses nothing", async () => {
  const { stored, tokens } = await connection({
    ...(await approvedTokens(simulator)),
    refreshToken: "shprt_unknown",
  });
  const secrets = await stored.read();
  await assert.rejects(tokens().refreshed(secrets["accessToken"] ?? ""), (error: Error) => {
    assert.ok(error instanceof SourceRefused);
    assert.match(
      error.message,
      /^Shopify no longer renews the access token of this app: connect the shop again/u,
    );
    assert.ok(!error.message.includes("shprt"));
    return true;
  });
  assert.deepEqual(await stored.read(), secrets);
});

test("if the platform does not answer, no token is lost, and one that is still valid is used meanwhile", async () => {
  const { stored, tokens } = await connection(await approvedTokens(simulator));
  const secrets = await stored.read();
  const fault = { target: "oauth", fault: { kind: "status", status: 520 } } as const;
  await simulator.control("fault", { ...fault, times: 2 });
  assert.equal(await tokens(HOUR_MS - 60_000).accessToken(), secrets["accessToken"]);
  await assert.rejects(tokens(HOUR_MS + 60_000).accessToken(), SourceFailed);
  assert.deepEqual(await stored.read(), secrets);
  const renewed = await tokens(HOUR_MS + 60_000).accessToken();
  assert.ok(await works(renewed));
});

test("without the app's id and secret an expiring token cannot be renewed, and the error says what to set", async () => {
  const { tokens } = await connection(await approvedTokens(simulator));
  await assert.rejects(tokens(HOUR_MS, null).accessToken(), {
    message:
      "The access token of this shop cannot be renewed: set SHOPIFY_CLIENT_ID and SHOPIFY_CLIENT_SECRET.",
  });
});
