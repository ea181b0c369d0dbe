import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { suite, test } from "node:test";
import { sealRequest } from "../src/actions/apps/actions.ts";
import { SCOPES } from "../src/contract/endpoint.ts";
import { userName } from "../src/lib/user-name.ts";
import {
  App,
  CALLBACK,
  createApp,
  createMember,
  PAGE,
  register,
  startOauthService,
  type Member,
} from "./support/mcp-oauth.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { before, use } from "./support/use.ts";

/** Apps that register, and apps whose client_id is the address of their metadata. */

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
/** An app at an address that is in no cache. */
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

test("the metadata of an app that never registered is read at its address; the app is shown with its host, and may connect", async () => {
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
  assert.equal(asked, 2, "each request reads its description once; its page, its form and tokens none");
  const other = appAt();
  assert.equal((await other.refresh(next.refresh_token)).error, "invalid_grant");
  assert.equal((await app.post("/oauth/revoke", { token: next.access_token })).status, 200);
  assert.equal(await app.call(next.access_token), 401);
});

test("no metadata is fetched for somebody who is not signed in", async () => {
  const app = appAt();
  asked = 0;
  const { status, location } = await app.ask(app.query());
  assert.deepEqual([status, location?.startsWith("/sign-in")], [303, true]);
  assert.equal(asked, 0);
});

test("an app whose metadata names another client or cannot be read may not connect", async () => {
  const cases: [sentence: RegExp, prepare: (app: App) => void, app?: App][] = [
    [/names another client_id/u, (app) => describe(app, { client_id: `${app.clientId}x` })],
    [
      /token_endpoint_auth_method must be none/u,
      (app) => describe(app, { token_endpoint_auth_method: "private_key_jwt" }),
    ],
    [/redirect_uris must be a list/u, (app) => describe(app, { redirect_uris: ["unknown:/scheme"] })],
    [
      /has not registered this redirect address/u,
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

test("consent counts for the request that the person was shown, within an hour", async () => {
  const path = `/w/${tenant.shopDomain}/settings/tokens/connect`;
  const app = await createApp(service.issuer);
  const other = await createMember(service, [tenant]);
  const led = await app.lead(app.query(), owner.cookie);
  const [, , sealed = ""] = PAGE.exec(led.headers.get("location") ?? "") ?? [];
  const actor = { name: userName(owner.userId) };
  const anHourAgo = new Date(Date.now() - 3_600_001);
  const late = sealRequest(
    { keys: service.keys, actor, now: anHourAgo },
    {
      clientHash: "00",
      name: "Notebook",
      describedAt: null,
      redirectUri: CALLBACK,
      answerTo: CALLBACK,
      codeChallenge: "",
      scopes: SCOPES,
    },
  );
  for (const [request, { cookie }] of [
    [sealed, other],
    [`${sealed.slice(0, -2)}AA`, owner],
    [late, owner],
    [app.query(), owner],
    ["", owner],
  ] as const) {
    const page = await app.open(`${path}?request=${encodeURIComponent(request)}`, cookie);
    assert.match(await page.text(), /This app cannot connect/u);
    for (const form of [path, `${path}/deny`]) {
      const sent = await app.send(form, { cookie, fields: { request, scopes: SCOPES } });
      assert.deepEqual([sent.status, sent.location], [400, ""], `${form} ${request}`);
    }
  }
  const sent = await app.send(path, { cookie: owner.cookie, fields: { request: sealed, scopes: SCOPES } });
  assert.equal(sent.status, 303);
});

test("consent to the longest request redirects with the app's state, in headers short enough for any proxy", async () => {
  const app = await createApp(service.issuer);
  const second = await createTenant(service.database);
  const person = await createMember(service, [tenant, second]);
  for (const letter of ["x", '"', "\u{1F600}"]) {
    const query = (letters: number): string => app.query({ state: letter.repeat(letters) });
    let longest = 1;
    while (`/oauth/authorize?${query(longest + 1)}`.length <= 2048) longest += 1;
    for (const { cookie } of [owner, person]) {
      const request = query(longest);
      const led = await app.lead(request, cookie);
      const bytes = [...led.headers].join("\r\n").length;
      assert.ok(bytes < 3800, `nginx takes headers of 4,096 bytes: ${bytes}`);
      const { location, text } = await app.decide(cookie, { request, workspace: tenant.shopDomain });
      assert.notEqual(location, "", text);
      const { searchParams } = new URL(location);
      assert.equal(searchParams.get("state"), letter.repeat(longest));
      assert.equal(searchParams.get("iss"), service.issuer);
      assert.match(searchParams.get("code") ?? "", /^rta_code_/u);
    }
    const longer = await app.ask(query(longest + 1), owner.cookie);
    assert.deepEqual([longer.status, longer.location], [400, null]);
  }
});

test("consent gives no code if the person's confirmation, role or membership has ended since the page was shown", async () => {
  const one = await createTenant(service.database);
  const app = await createApp(service.issuer);
  const person = await createMember(service, [tenant, one], "admin");
  const led = await app.lead(app.query(), person.cookie);
  const [, , request = ""] = PAGE.exec(decodeURIComponent(led.headers.get("location") ?? "")) ?? [];
  const path = `/w/${one.shopDomain}/settings/tokens/connect`;
  const send = () => app.send(path, { cookie: person.cookie, fields: { request, scopes: ["read:alerts"] } });
  const prove = (minutes: number) =>
    service.database.query(
      "update console_session set proved_at = now() - make_interval(mins => $2) where user_id = $1",
      [person.userId, minutes],
    );
  await prove(11);
  const stale = await send();
  assert.deepEqual([stale.status, stale.location], [403, ""]);
  assert.match(
    stale.text,
    new RegExp(`Confirm your identity[^]*value="${request}"`, "u"),
    "to send it again",
  );
  await prove(0);
  const member = [person.userId, one.shopKey];
  await service.database.query(
    "update workspace_member set role = 'viewer' where user_id = $1 and shop_key = $2",
    member,
  );
  const demoted = await send();
  assert.deepEqual([demoted.status, demoted.location], [403, ""]);
  await service.database.query("delete from workspace_member where user_id = $1 and shop_key = $2", member);
  const removed = await send();
  assert.deepEqual([removed.status, removed.location], [404, ""]);
  const { rows } = await service.database.query("select from oauth_grant where shop_key = $1", [one.shopKey]);
  assert.deepEqual(rows, []);
});

test("consent takes any port of the person's own machine (RFC 8252)", async () => {
  const app = await createApp(service.issuer);
  const moved = app.query({ redirect_uri: "http://127.0.0.1:50000/callback" });
  assert.equal((await app.ask(moved, owner.cookie)).status, 200);
});

test("consent shows the app's name as text", async () => {
  const name = `<script>alert(1)</script>"'\u202e\n\u0000${"x".repeat(100)}`;
  const hostile = await createApp(service.issuer, name);
  const { text } = await hostile.ask(hostile.query(), owner.cookie);
  assert.doesNotMatch(text, /<script>alert|\u202e|x{60}/u);
  assert.match(text, /calls itself “&lt;script&gt;/u);
  await hostile.consent(owner.cookie, tenant);
});

suite("registration", () => {
  const redirects = (...list: unknown[]) => ({ client_name: "App", redirect_uris: list });

  test("stores nothing: the same client has the same id, whatever else it requests", async () => {
    const metadata = { client_name: "Notebook", redirect_uris: [CALLBACK] };
    const { body } = await register(service.issuer, {
      ...metadata,
      token_endpoint_auth_method: "client_secret_post",
      grant_types: ["password"],
      scope: "everything",
    });
    assert.equal(body["client_id"], (await createApp(service.issuer)).clientId);
    assert.equal(body["token_endpoint_auth_method"], "none");
    assert.equal(body["client_secret"], undefined);
  });

  test("accepts https, this machine and apps' own schemes, and refuses dangerous or malformed addresses", async () => {
    const good = [
      "https://chat.example/callback?kept=1",
      "http://localhost:3000/callback",
      "http://[::1]/callback",
      "cursor://app/callback",
      "com.example.app:/callback",
    ];
    for (const uri of good) assert.equal((await register(service.issuer, redirects(uri))).status, 201, uri);
    const bad = [
      "javascript:alert(1)",
      "data:text/html,x",
      "vbscript:x",
      "file:///etc/passwd",
      "blob:https://a.example/1",
      "http://evil.example/callback",
      "http://localhost.evil.example/",
      "https://user:password@a.example/",
      "https://a.example/#fragment",
      "https://a;script-src *.example/",
      "https://a;b.example/",
      "//a.example/callback",
      "callback",
      "ms-settings:display",
      `https://a.example/${"x".repeat(255)}`,
      "https://a.example/\n",
      "",
      7,
      null,
    ];
    for (const uri of bad) {
      const { status, body } = await register(service.issuer, redirects(CALLBACK, uri));
      assert.deepEqual([status, body["error"]], [400, "invalid_redirect_uri"], String(uri));
    }
  });

  test("calls an app whose name is no text “An app”", async () => {
    for (const name of [{ toString: "x" }, 7, null, undefined]) {
      const { status, body } = await register(service.issuer, { ...redirects(CALLBACK), client_name: name });
      assert.deepEqual([status, body["client_name"]], [201, "An app"], typeof name);
    }
  });

  test("refuses bodies of any other form", async () => {
    const bodies = ["", "{", "null", "[]", "7", { redirect_uris: [] }, { redirect_uris: CALLBACK }];
    for (const body of bodies)
      assert.equal((await register(service.issuer, body)).status, 400, JSON.stringify(body));
    const long = redirects(
      ...["a", "b", "c", "d"].map((letter) => `https://a.example/${letter.repeat(200)}`),
    );
    assert.equal((await register(service.issuer, long)).body["error"], "invalid_client_metadata");
    const huge = await register(service.issuer, JSON.stringify({ client_name: "x".repeat(2_000_000) }));
    assert.equal(huge.status, 413);
  });
});

test("endless registrations from one address are refused, store no row, and affect nobody else", async () => {
  const rows = async (): Promise<unknown> => {
    const tables = ["api_token", "oauth_grant", "audit_event", "identity_event", "console_challenge"];
    const counts = tables.map((table) => `(select count(*) from ${table}) as ${table}`).join(", ");
    return (await service.database.query(`select ${counts}`)).rows;
  };
  const earlier = await rows();
  let status = 201;
  // Of 61, more than thirty are in one minute, even if a minute ends between them.
  for (let number = 0; number < 61 && status === 201; number++) {
    const metadata = { client_name: `App ${number}`, redirect_uris: [CALLBACK] };
    ({ status } = await register(service.issuer, metadata, "192.0.2.1"));
  }
  assert.equal(status, 429);
  assert.deepEqual(await rows(), earlier);
  assert.equal((await register(service.issuer, { redirect_uris: [CALLBACK] })).status, 201);
});

test("beyond 300 failed exchanges a minute an address is refused, and no other", async () => {
  const app = await createApp(service.issuer);
  const tokens = await app.exchange(await app.consent(owner.cookie, tenant));
  const post = async (token: string, address: string) => {
    const headers = { "x-forwarded-for": address };
    const fields = { grant_type: "refresh_token", client_id: app.clientId, refresh_token: token };
    const body = new URLSearchParams(fields);
    return fetch(`${service.issuer}/oauth/token`, { method: "POST", headers, body });
  };
  let status = 400;
  for (let number = 0; number < 601 && status === 400; number++)
    ({ status } = await post("guess", "192.0.2.99"));
  assert.equal(status, 429);
  assert.equal((await post(tokens.refresh_token, "192.0.2.98")).status, 200);
});

test("sixty descriptions are read for a person a minute", async () => {
  const { cookie } = await createMember(service, [tenant]);
  let text = "";
  for (let number = 0; number < 121 && !text.includes("Too many"); number++) {
    const app = appAt();
    describe(app);
    ({ text } = await app.ask(app.query(), cookie));
  }
  assert.match(text, /Too many apps were tried: wait a minute\./u);
});
