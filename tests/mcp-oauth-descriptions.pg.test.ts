import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { App, CALLBACK, createMember, startOauthService, type Member } from "./support/mcp-oauth.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { before, use } from "./support/use.ts";

/** Apps that describe themselves at an address, which is their client_id (OAuth Client ID Metadata Document). */

const service = use(() => startOauthService({ PUSH_NETWORKS: "127.0.0.1/32" }));
let tenant: Tenant;
let owner: Member;
let answer: RequestListener;
let asked = 0;

const host = use(async () => {
  const server = createServer((request, response) => {
    asked += 1;
    answer(request, response);
  });
  await new Promise<void>((listening) => server.listen(0, "0.0.0.0", listening));
  const { port } = server.address() as AddressInfo;
  return { port, stop: async () => void server.close() };
});

before(async () => {
  tenant = await createTenant(service.database);
  owner = await createMember(service, [tenant]);
});

let apps = 0;
/** An app at an address that nothing remembers. */
function appAt(name = "127.0.0.1"): App {
  return new App(service.issuer, `http://${name}:${host.port}/app-${(apps += 1)}.json`);
}

function describe(app: App, change: Record<string, unknown> = {}): void {
  const document = {
    client_id: app.clientId,
    client_name: "Described app",
    redirect_uris: ["unknown:/scheme", CALLBACK, "https://app.example/callback"],
    token_endpoint_auth_method: "none",
    ...change,
  };
  answer = (_request, response) => response.end(JSON.stringify(document));
}

test("an app that never registered is read at its address, shown with its host, and let in", async () => {
  const metadata = await fetch(`${service.issuer}/.well-known/oauth-authorization-server`);
  const told = (await metadata.json()) as Record<string, unknown>;
  assert.equal(told["client_id_metadata_document_supported"], true);
  const app = appAt();
  describe(app);
  asked = 0;
  const { status, text } = await app.ask(app.query(), owner.cookie);
  assert.equal(status, 200, text);
  assert.match(text, /Connect “Described app”\?/u);
  assert.match(text, new RegExp(`description is at[^]*<strong>127\\.0\\.0\\.1:${host.port}</strong>`, "u"));
  const tokens = await app.exchange(await app.consent(owner.cookie, tenant));
  assert.equal(tokens.status, 200, JSON.stringify(tokens));
  assert.equal(await app.call(tokens.access_token), 200);
  const next = await app.refresh(tokens.refresh_token);
  assert.equal(next.status, 200, JSON.stringify(next));
  assert.equal(asked, 1, "its page and its consent read one description; tokens none");
  const other = appAt();
  assert.equal((await other.refresh(next.refresh_token)).error, "invalid_grant");
  assert.equal((await app.post("/oauth/revoke", { token: next.access_token })).status, 200);
  assert.equal(await app.call(next.access_token), 401);
});

test("nothing is fetched for somebody who is not signed in", async () => {
  const app = appAt();
  asked = 0;
  const { status, location } = await app.ask(app.query());
  assert.deepEqual([status, location?.startsWith("/sign-in")], [303, true]);
  assert.equal(asked, 0);
});

test("a description that is not the app's own, or cannot be read, lets nobody in", async () => {
  const cases: [sentence: RegExp, prepare: (app: App) => void, app?: App][] = [
    [/names another client_id/u, (app) => describe(app, { client_id: `${app.clientId}x` })],
    [
      /token_endpoint_auth_method must be none/u,
      (app) => describe(app, { token_endpoint_auth_method: "private_key_jwt" }),
    ],
    [/redirect_uris must be a list/u, (app) => describe(app, { redirect_uris: ["unknown:/scheme"] })],
    [
      /did not register the address/u,
      (app) => describe(app, { redirect_uris: ["https://app.example/callback"] }),
    ],
    [/answered more than 10240 bytes/u, (app) => describe(app, { padding: "x".repeat(20_000) })],
    [/did not answer JSON/u, () => (answer = (_request, response) => response.end("<html>"))],
    [/answered 404/u, () => (answer = (_request, response) => response.writeHead(404).end())],
    [
      /answered 302/u,
      () => (answer = (_request, response) => response.writeHead(302, { location: "/elsewhere" }).end()),
    ],
    // The operator allows one address alone.
    [/127\.0\.0\.2 is not a public https address/u, describe, appAt("127.0.0.2")],
    [
      /10\.0\.0\.1 is not a public https address/u,
      describe,
      new App(service.issuer, "https://10.0.0.1/app.json"),
    ],
    [/is not registered here/u, describe, new App(service.issuer, `http://127.0.0.1:${host.port}/`)],
    [/is not registered here/u, describe, new App(service.issuer, `http://127.0.0.1:${host.port}/a/../b`)],
    [/is not registered here/u, describe, new App(service.issuer, `http://127.0.0.1:${host.port}/a.json#`)],
  ];
  for (const [sentence, prepare, app = appAt()] of cases) {
    const person = await createMember(service, [tenant]);
    prepare(app);
    const { status, text } = await app.ask(app.query(), person.cookie);
    assert.equal(status, 400, app.clientId);
    assert.match(text, sentence);
    const { status: decided } = await app.decide(person.cookie, {
      workspace: tenant.shopDomain,
      request: app.query(),
    });
    assert.equal(decided, 400, app.clientId);
  }
});
