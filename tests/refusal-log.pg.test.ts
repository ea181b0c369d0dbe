import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { cookieOf, makeUserLink, postForm } from "./support/console-person.ts";
import { startFaultProxy } from "./support/fault-proxy.ts";
import { post, toolCall } from "./support/mcp.ts";
import { startOn, startTestService, type WireAnswer } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import { APP_OPTIONS, sendWebhook } from "./support/webhooks.ts";
import { use } from "./support/use.ts";

const service = use(() => startTestService(APP_OPTIONS));

const ALERTS = "/api/v1/alerts";

type Line = Record<string, unknown> & { level: number };

/** The log line of a request, which may be written after its answer is sent. */
async function lineOf(requestId: string, message = "request"): Promise<Line> {
  for (;;) {
    const lines = service.logs
      .filter((line) => line.includes(`"${requestId}"`))
      .map((line) => JSON.parse(line) as Line);
    const found = lines.find((line) => line["msg"] === message);
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function refusalOf(requestId: string, token: string): Promise<Line> {
  const headers = { "x-request-id": requestId, authorization: `Bearer ${token}` };
  await service.call(ALERTS, { headers });
  return lineOf(requestId);
}

const INFO = 30;
const WARN = 40;

test("a refused request is logged with its reason, its token's id and the remote address", async () => {
  const limited = await createTenant(service.database, { dailyQuota: 0 });
  const unpaid = await createTenant(service.database, { billingStatus: "inactive" });
  const revoked = await createTenant(service.database);
  await service.database.query("delete from api_token where shop_key = $1", [revoked.shopKey]);
  const cases = [
    { id: "refused-401", tenant: revoked, status: 401, reason: /^The API token is not known/u },
    { id: "refused-403", tenant: unpaid, status: 403, reason: /^Billing of this workspace is not active/u },
    { id: "refused-429", tenant: limited, status: 429, reason: /^The daily quota of 0 requests is used up/u },
  ];
  for (const { id, tenant, status, reason } of cases) {
    const line = await refusalOf(id, tenant.token);
    assert.deepEqual(
      [line.level, line["status"], line["token_id"], line["remote_address"]],
      [WARN, status, tenant.tokenId, "127.0.0.1"],
    );
    assert.match(String(line["reason"]), reason);
    assert.ok(!service.logs.join("").includes(tenant.token));
  }
});

test("an invalid token is not logged", async () => {
  const line = await refusalOf("malformed", "rta_live_hunter2");
  assert.match(String(line["reason"]), /^The API token is malformed/u);
  assert.ok(!("token_id" in line));
  assert.ok(!service.logs.join("").includes("hunter2"));
});

test("the line of a successful request has neither a reason nor an address", async () => {
  const { token } = await createTenant(service.database);
  await service.call(ALERTS, { token, headers: { "x-request-id": "answered" } });
  const line = await lineOf("answered");
  assert.ok(!("reason" in line) && !("remote_address" in line));
});

test("a refused delivery is logged with its reason and the remote address", async () => {
  const sent = { topic: "orders/updated", shop: "some.myshopify.com", payload: {}, secret: "guessed" };
  const response = await sendWebhook(service, sent);
  const line = await lineOf(response.headers.get("X-Request-ID") ?? "");
  assert.deepEqual(
    [line.level, line["status"], line["remote_address"], line["reason"]],
    [WARN, 401, "127.0.0.1", "The signature of this delivery is not that of the app."],
  );
});

test("a refused MCP call is logged with its reason", async () => {
  const response = await fetch(`${service.address}/api/v1/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-request-id": "refused-mcp" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });
  assert.equal(response.status, 401);
  const line = await lineOf("refused-mcp");
  assert.match(String(line["reason"]), /^Send your API token/u);
});

test("an interrupted upload is not logged as an error", async () => {
  const { hostname, port } = new URL(service.address);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const signature = `x-shopify-hmac-sha256: ${"A".repeat(43)}=`;
  const head = [
    "host: test",
    "content-length: 100",
    "expect: 100-continue",
    "x-request-id: aborted",
    signature,
  ];
  socket.write(`POST /webhooks/shopify HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n`);
  await once(socket, "data");
  socket.write("{");
  socket.destroy();
  const line = await lineOf("aborted", "upload aborted");
  assert.equal(line.level, INFO);
  assert.ok(
    !service.logs.some((logged) => logged.includes("aborted") && logged.includes("unexpected error")),
  );
});

test("an unreachable database is logged once a second, without a stack for each request", async (context) => {
  const limited = await createTenant(service.database);
  const url = new URL(service.databaseUrl);
  const proxy = await startFaultProxy(Number(url.port));
  url.port = String(proxy.port);
  const cut = await startOn({ url: url.href, drop: async () => {} }, {});
  context.after(async () => {
    await cut.stop();
    await proxy.close();
  });
  await proxy.set("refuse");
  const logged = cut.logs.length;
  const endAtMs = performance.now() + 2500;
  let asked = 0;
  while (performance.now() < endAtMs) {
    const tool = post(cut.address, toolCall("list_alerts", { limit: 50 }), { token: limited.token });
    const { status, headers } = await cut.call("/api/v1/alerts", { token: limited.token });
    assert.deepEqual([status, headers.get("retry-after")], [500, "1"]);
    await tool;
    asked += 2;
  }
  const lines = cut.logs.slice(logged).filter((line) => line.includes('"level":50'));
  const told = lines.map(
    (line) => JSON.parse(line) as { msg: string; failed_requests: number; reason: string },
  );
  assert.ok(asked > 20 && lines.length <= 4, `${lines.length} lines of ${asked} requests`);
  for (const line of told) assert.equal(line.msg, "the database does not answer", JSON.stringify(line));
  assert.doesNotMatch(lines.join(""), /"stack"/u);
  assert.ok(told.reduce((sum, line) => sum + line.failed_requests, 0) > 1);
  await proxy.set("forward");
});

const secrets: string[] = [];

async function enter(
  requestId: string,
  secret: string,
  headers: Record<string, string> = {},
): Promise<WireAnswer> {
  secrets.push(secret);
  const response = await postForm(service, "/enter", { secret }, { "x-request-id": requestId, ...headers });
  const [, session = ""] = cookieOf(response).split("=");
  if (session !== "") secrets.push(session);
  return response;
}

test("sign-ins, sign-outs, failures and refusals are logged, and no line contains a secret", async () => {
  const link = await makeUserLink(service, { name: "Logged" });
  const cookie = cookieOf(await enter("entered", link.secret));
  const signedIn = await lineOf("entered", "signed in");
  assert.deepEqual([signedIn.level, signedIn["user_id"]], [INFO, link.user_id]);

  await enter("used", link.secret);
  const used = await lineOf("used");
  assert.deepEqual(
    [used.level, used["status"], used["user_id"], used["reason"], used["remote_address"]],
    [WARN, 403, link.user_id, "sign-in link: used", "127.0.0.1"],
  );
  await enter("unknown", "A".repeat(43));
  assert.equal((await lineOf("unknown"))["reason"], "sign-in link: unknown");

  const { secret } = await makeUserLink(service, { name: "Logged" });
  await enter("foreign", secret, { origin: "http://evil.example" });
  assert.equal((await lineOf("foreign"))["reason"], "not sent by a page of the console");

  await postForm(service, "/sign-out", {}, { cookie, "x-request-id": "left" });
  assert.equal((await lineOf("left", "signed out"))["user_id"], link.user_id);

  const { rows } = await service.database.query<{ action: string; detail: object }>(
    "select action, detail from identity_event where actor = $1 order by happened_at",
    [`user:${link.user_id}`],
  );
  assert.deepEqual(
    rows.map(({ action }) => action),
    ["session.begin", "session.end"],
  );
  const written = service.logs.join("") + JSON.stringify(rows);
  assert.equal(new Set(secrets).size, 4);
  for (const text of secrets) assert.ok(!written.includes(text));
  assert.ok(!written.includes("Logged"), "names are not logged");
});

test("a failure in the database gives a page with the request's id, and the log contains no secret", async () => {
  const { secret } = await makeUserLink(service, { name: "Unlucky" });
  await service.database.query("alter table console_session rename to console_session_away");
  try {
    const response = await enter("broken", secret);
    assert.equal(response.status, 500);
    assert.match(response.headers.get("content-security-policy") ?? "", /default-src 'none'/u);
    assert.ok(response.text.includes("broken"));
    assert.equal((await lineOf("broken", "unexpected error")).level, 50);
  } finally {
    await service.database.query("alter table console_session_away rename to console_session");
  }
  for (const text of secrets) assert.ok(!service.logs.join("").includes(text));
  assert.equal((await enter("again", secret)).status, 303, "the link was not used up");
});

test("an address that posts more than thirty links a minute is refused, whatever it posts", async () => {
  let status = 403;
  // Of 61 posts, more than thirty are in one minute, even if a minute ends between them.
  for (let sent = 0; sent < 61 && status === 403; sent++) {
    const response = await postForm(service, "/enter", { secret: "" }, { "x-request-id": `post-${sent}` });
    status = response.status;
    if (status !== 429) continue;
    assert.equal(response.headers.get("retry-after"), "60");
    assert.equal((await lineOf(`post-${sent}`))["reason"], "too many sign-ins from this address");
  }
  assert.equal(status, 429);
});
