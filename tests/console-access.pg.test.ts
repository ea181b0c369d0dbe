import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { makeUserLink, openPage, postForm, signInAs } from "./support/console-person.ts";
import { openRaw } from "./support/raw-http.ts";
import { send, startTestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import { use } from "./support/use.ts";

const service = use(startTestService);
const published = use(() => startTestService({ PUBLIC_URL: "https://returns.example" }));

const get = (path: string, headers: Record<string, string> = {}, to = service) =>
  send(to.address + path, { headers });

/** A form that has no headers of a browser but these. */
const post = (path: string, given: Record<string, string>, body: string, to = service) => {
  const headers = { "content-type": "application/x-www-form-urlencoded", ...given };
  return send(to.address + path, { method: "POST", headers, body });
};

const PAGES = ["/", "/enter", "/sign-in", "/w", "/me", "/confirm"];

const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

test("every page has the console's headers, and no cache may store it", async () => {
  for (const path of PAGES) {
    const { headers } = await get(path);
    // A window that an app opened passes through these two, and must stay the app's.
    const opener = ["/sign-in", "/confirm"].includes(path)
      ? { "cross-origin-opener-policy": "unsafe-none" }
      : {};
    for (const [name, value] of Object.entries({ ...HEADERS, ...opener }))
      assert.equal(headers.get(name), value, path);
    assert.match(headers.get("cache-control") ?? "", /no-store/u);
    assert.equal(headers.get("strict-transport-security"), null);
    assert.equal(headers.get("access-control-allow-origin"), null);
  }
});

test("a link also works when the whole address is pasted", async () => {
  const { link } = await makeUserLink(service, { name: "Pasted" });
  assert.equal((await postForm(service, "/enter", { secret: ` ${link}\n` })).status, 303);
});

test("another Host gets one page that says how to reach the console, and no session", async () => {
  const cookie = await signInAs(service, { name: "Rebound" });
  const { port } = new URL(service.address);
  for (const host of ["evil.example", `evil.example:${port}`, "192.168.1.2"]) {
    for (const path of PAGES) {
      const { status, text, headers } = await get(path, { host, cookie });
      assert.equal(status, 403, path);
      assert.ok(text.includes(`ssh -L ${port}:localhost:${port}`), path);
      assert.match(text, /PUBLIC_URL/u);
      assert.equal(headers.get("content-security-policy"), HEADERS["content-security-policy"]);
    }
  }
  assert.equal((await get("/w", { host: `localhost:${port}`, cookie })).status, 200);
  assert.equal((await get("/w", { host: "[::1]", cookie })).status, 200);
});

test("the API, its guides and the probes answer under every Host", async () => {
  const { token } = await createTenant(service.database);
  const headers = { host: "any.example", authorization: `Bearer ${token}` };
  for (const path of ["/api/v1/alerts", "/docs", "/healthz"]) {
    assert.equal((await get(path, headers)).status, 200, path);
  }
});

const FORGED: readonly Record<string, string>[] = [
  {},
  { origin: "null" },
  { origin: "http://evil.example" },
  { origin: "http://evil.example", "sec-fetch-site": "same-origin" },
  { "sec-fetch-site": "cross-site" },
  { "sec-fetch-site": "same-site" },
  { "sec-fetch-site": "none" },
];

test("a form that was not sent by a page of the console changes nothing", async () => {
  const cookie = await signInAs(service, { name: "Forged" });
  const { secret } = await makeUserLink(service, { name: "Forged" });
  const { host } = new URL(service.address);
  for (const headers of FORGED) {
    for (const path of ["/enter", "/sign-out"]) {
      const answer = await post(path, { host, cookie, ...headers }, `secret=${secret}`);
      assert.equal(answer.status, 403, `${path} ${JSON.stringify(headers)}`);
      assert.equal(answer.headers.get("set-cookie"), null);
    }
  }
  const evil = { host: "evil.example", origin: "http://evil.example", "sec-fetch-site": "same-origin" };
  assert.equal((await post("/enter", evil, `secret=${secret}`)).status, 403);
  assert.equal((await get("/w", { host, cookie })).status, 200, "still signed in");
  assert.equal((await postForm(service, "/enter", { secret })).status, 303, "still unused");
});

test("an action allows only POST, and a page only GET", async () => {
  const signOut = await get("/sign-out");
  assert.deepEqual([signOut.status, signOut.headers.get("allow")], [405, "POST"]);
  for (const path of ["/", "/me", "/operator/people"]) {
    const posted = await postForm(service, path, {});
    assert.deepEqual([posted.status, posted.headers.get("allow")], [405, "GET, HEAD"], path);
  }
  const put = await send(`${service.address}/enter`, { method: "PUT", headers: {} });
  assert.deepEqual([put.status, put.headers.get("allow")], [405, "GET, HEAD, POST"]);
});

test("an address of a workspace allows GET and POST, whatever the workspace is called", async () => {
  for (const path of ["/w/", "/w/shop.example", "/w/shop.example/report?window=90d", "/w/a/b/c"]) {
    const put = await send(service.address + path, { method: "PUT", headers: {} });
    assert.deepEqual([put.status, put.headers.get("allow")], [405, "GET, HEAD, POST"], path);
  }
  assert.equal((await postForm(service, "/wx", {})).status, 404);
});

test("an address with a control character is not found", async () => {
  const cookie = await signInAs(service, { name: "Controlled" });
  for (const shop of ["%00", "a%00b", "%0a", "%7f", "%c2%85"]) {
    const { status, headers } = await get(`/w/${shop}/report`, { cookie });
    assert.equal(status, 404, shop);
    assert.match(headers.get("content-type") ?? "", /^text\/html/u, shop);
  }
});

test("a request with an absolute URL, as to a proxy, gets the page of its path", async () => {
  for (const [target, location] of [
    ["http://[/confirm?next=/w/a", "/sign-in"],
    [`${service.address}/w`, "/sign-in"],
  ] as const) {
    const { send: sendRaw, answer, close } = await openRaw(service.address);
    sendRaw(`GET ${target} HTTP/1.1\r\nHost: ${new URL(service.address).host}\r\n\r\n`);
    const { status, headers } = await answer();
    assert.deepEqual([status, /location: (\S+)/u.exec(headers)?.[1]], [303, location], target);
    close();
  }
});

test("a request with two Host headers is refused, and so is * for any method but OPTIONS", async () => {
  const { send: sendRaw, answer, close, socket } = await openRaw(service.address);
  const host = `Host: ${new URL(service.address).host}\r\n`;
  const ask = async (line: string, headers = host) => {
    sendRaw(`${line} HTTP/1.1\r\n${headers}\r\n`);
    return answer();
  };
  for (const second of [host, "host: other.example\r\n", "HOST:\r\n"])
    for (const path of ["/api/v1/alerts", "/", "/nothing"]) {
      const { status, body } = await ask(`GET ${path}`, host + second);
      assert.equal(status, 400, `${path} ${second}`);
      assert.match(body, /^\{"error":\{"code":"invalid_request","message":"A request has one Host header/u);
    }
  assert.equal((await ask("GET /api/v1/alerts", `${host}X-Host: host\r\nX-Much: Host\r\n`)).status, 401);
  assert.notEqual((await ask("OPTIONS *")).status, 400);
  for (const method of ["GET", "POST", "DELETE"])
    assert.equal((await ask(`${method} *`)).status, 400, method);
  sendRaw(`HEAD * HTTP/1.1\r\n${host}\r\n`);
  const [bytes] = (await once(socket, "data")) as [Buffer];
  assert.match(bytes.toString(), /^HTTP\/1\.1 400 /u);
  close();
});

test("a body that is not a form or is too long is refused", async () => {
  const headers = { host: new URL(service.address).host, origin: service.address };
  const large = await post("/enter", headers, `secret=${"A".repeat(20_000)}`);
  assert.equal(large.status, 413);
  assert.match(large.text, /<h1>This form is too large<\/h1>/u);
  const json = { ...headers, "content-type": "application/json" };
  assert.equal((await post("/enter", json, "{}")).status, 415);
});

test("with an https PUBLIC_URL the console answers on that host, sends HSTS for a year, and a link only allows to create a passkey", async () => {
  const own = { host: "returns.example" };
  for (const path of ["/", "/enter", "/sign-in"]) {
    const { status, text, headers } = await get(path, own, published);
    assert.equal(status, 200);
    assert.match(text, /data-passkey="(?:get|create)"/u, path);
    assert.equal(text.match(/<button/gu)?.length, 1, path);
    assert.equal(headers.get("strict-transport-security"), "max-age=31536000; includeSubDomains");
  }
  const local = await get("/", { host: new URL(published.address).host }, published);
  assert.equal(local.status, 403);
  assert.match(local.text, /href="https:\/\/returns\.example"/u);
  const { secret } = await makeUserLink(published);
  const ours = { ...own, origin: "https://returns.example" };
  const posted = await post("/enter", ours, `secret=${secret}`, published);
  assert.equal(posted.status, 403);
  assert.equal(posted.headers.get("set-cookie"), null);
  const unknown = await post("/enter/options", ours, `secret=${"A".repeat(43)}`, published);
  assert.deepEqual(
    [unknown.status, JSON.parse(unknown.text)],
    [403, { message: "This link is not valid: it was withdrawn, has expired, or is not complete." }],
  );
  const { rows } = await published.database.query("select from console_link where used_at is null");
  assert.equal(rows.length, 1, "still unused");
});

test("with several workspaces there is a choice, and / redirects to the one viewed last", async () => {
  const [first, second] = [await createTenant(service.database), await createTenant(service.database)];
  const cookie = await signInAs(service, { name: "Agency", shopDomain: first.shopDomain });
  await makeUserLink(service, { name: "Agency", shopDomain: second.shopDomain });
  const home = () => openPage(service, "/", cookie);
  assert.equal((await home()).headers.get("location"), "/w");
  const { text } = await openPage(service, "/w", cookie);
  for (const { shopDomain } of [first, second]) assert.ok(text.includes(`href="/w/${shopDomain}"`));
  await openPage(service, `/w/${second.shopDomain}`, cookie);
  assert.equal((await home()).headers.get("location"), `/w/${second.shopDomain}`);
  await service.database.query("delete from workspace_member where shop_key = $1", [second.shopKey]);
  assert.equal((await home()).headers.get("location"), `/w/${first.shopDomain}`);
});

test("without a console / redirects to the guides, and its other paths are not found", async () => {
  const without = await startTestService({ CONSOLE: "off" });
  try {
    const home = await get("/", {}, without);
    assert.deepEqual([home.status, home.headers.get("location")], [302, "/docs"]);
    for (const path of ["/enter", "/sign-in", "/w", "/me", "/confirm", "/assets/enter.js"])
      assert.equal((await get(path, {}, without)).status, 404, path);
    assert.equal((await postForm(without, "/sign-out", {})).status, 404);
  } finally {
    await without.stop();
  }
});
