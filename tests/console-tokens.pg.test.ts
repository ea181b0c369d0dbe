import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parseToken } from "../src/admission/token.ts";
import { mcpCommandLine, mcpConfigText } from "../src/contract/written-request.ts";
import { SCOPES } from "../src/contract/endpoint.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { openPage } from "./support/console-page.ts";
import { cookieOf, makeUserLink, postForm, signInAs } from "./support/console-person.ts";
import { startServerProcess } from "./support/server-process.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { changePlan, createTenant, createTokenOf, insertRows } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The pages of tokens and of usage, as their forms and markup are without a browser. */

let service: TestService;
let tenant: Tenant;
let cookie: string;

before(async () => {
  service = await startTestService();
  tenant = await createTenant(service.database);
  cookie = await signInAs(service, { name: "Owner <b>", shopDomain: tenant.shopDomain });
});
after(() => service.stop());

const TOKENS = "/settings/tokens";
const TOKEN = /rta_live_[0-9A-Za-z]{65}/gu;

let asked = 0;
const requestKey = (): string => `00000000-0000-4000-8000-${String((asked += 1)).padStart(12, "0")}`;

type Fields = readonly (readonly [string, string])[];

/** Posts a form of a page below /w/<shop_domain>; a name may stand there twice. */
function post(path: string, fields: Fields, address = service.address): Promise<Response> {
  return fetch(`${address}/w/${tenant.shopDomain}${path}`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: address, "sec-fetch-site": "same-origin", cookie, "accept-encoding": "gzip" },
    body: new URLSearchParams(fields.map((field) => [...field])),
  });
}

const read = async (path: string): Promise<string> => {
  const { status, text } = await openPage(service, path, { tenant, cookie });
  assert.equal(status, 200, path);
  return text;
};

const form = (name: string, change: Record<string, string> = {}): Fields => [
  ["scope", "read:alerts"],
  ["scope", "read:reports"],
  ...Object.entries({ request_key: requestKey(), name, expiry: "90d", ...change }),
];

async function make(name: string): Promise<{ token: string; tokenId: string }> {
  const page = await (await post(`${TOKENS}/new`, form(name))).text();
  const [token = ""] = page.match(TOKEN) ?? [];
  return { token, tokenId: parseToken(token)?.tokenId ?? "" };
}

async function tokenRows(name: string): Promise<{ scopes: string[]; days: number | null; maker: string }[]> {
  const { rows } = await service.database.query<{ scopes: string[]; days: number | null; maker: string }>(
    `select t.scopes, round(extract(epoch from t.expires_at - now()) / 86400)::integer as days, u.name as maker
       from api_token t join console_user u on t.created_by = 'user:' || u.user_id
      where t.shop_key = $1 and t.name = $2`,
    [tenant.shopKey, name],
  );
  return rows;
}

test("the form presets no scope and 90 days, and lists the endpoints of each scope as the contract has them", async () => {
  const page = await read(`${TOKENS}/new`);
  assert.doesNotMatch(page, /type="checkbox"[^>]*checked/u);
  assert.match(page, /value="90d"\s+checked=""/u);
  for (const scope of SCOPES) {
    const part = page.slice(page.indexOf(`value="${scope}"`)).split("</p>", 1)[0] ?? "";
    const opened = ENDPOINTS.filter((endpoint) => endpoint.scope === scope).map(({ path }) => path);
    assert.deepEqual(part.match(/\/api\/v1\/[a-z/.-]+/gu), opened, scope);
  }
});

test("a new token is shown once, uncompressed and kept nowhere, with a request and a client's configuration that work", async () => {
  const response = await post(`${TOKENS}/new`, form("weekly report"));
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-encoding"), null);
  assert.match(response.headers.get("cache-control") ?? "", /no-store/u);
  const page = await response.text();
  const [token = ""] = page.match(TOKEN) ?? [];
  assert.deepEqual(await tokenRows("weekly report"), [
    { scopes: ["read:reports", "read:alerts"], days: 90, maker: "Owner <b>" },
  ]);
  const codes = [...page.matchAll(/<code data-form="([^"]+)">([^<]*)<\/code>/gu)].map(([, name, text]) => [
    name,
    (text ?? "").replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&"),
  ]);
  const { curl = "", ...others } = Object.fromEntries(codes) as Record<string, string>;
  assert.deepEqual(others, {
    token,
    "mcp-command": mcpCommandLine(service.address, token),
    "mcp-config": mcpConfigText(service.address, token),
  });
  const [, path = ""] = /'(http[^']+)'$/u.exec(curl) ?? [];
  assert.ok(path.startsWith(`${service.address}/api/v1/`), curl);
  const answer = await fetch(path, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(answer.status, 200, await answer.text());

  const { secret } = parseToken(token) ?? { secret: "" };
  const pages = await Promise.all(
    [TOKENS, `${TOKENS}/new`, `${TOKENS}/${parseToken(token)?.tokenId}`, "/settings/usage"].map(read),
  );
  const { rows } = await service.database.query("select a::text from audit_event a where a.shop_key = $1", [
    tenant.shopKey,
  ]);
  assert.ok(rows.length > 0);
  const traces = [...pages, ...service.logs, JSON.stringify(rows)].join("\n");
  assert.ok(!traces.includes(secret), "the secret stands somewhere");
});

test("what the page writes for an MCP client is what the guide writes", () => {
  const guide = readFileSync(join(import.meta.dirname, "../docs/mcp.md"), "utf8").replaceAll(/\s+/gu, " ");
  const [address, token] = ["https://returns.example", "$RETURNS_TOKEN"];
  assert.ok(guide.replaceAll("\\ ", "").includes(mcpCommandLine(address, token)));
  const config = JSON.parse(mcpConfigText(address, "${env:RETURNS_TOKEN}")) as unknown;
  const [written = ""] = /\{ "mcpServers": \{ "returns": \{ "url".*?\} \} \} \}/u.exec(guide) ?? [];
  assert.deepEqual(config, JSON.parse(written));
});

test("the same form sent again makes no second token, on another server process neither", async (context) => {
  const second = await startServerProcess(context, service.databaseUrl);
  const fields = form("only one");
  const answers = await Promise.all(
    [service.address, second.address, service.address, second.address].map((address) =>
      post(`${TOKENS}/new`, fields, address),
    ),
  );
  const statuses = answers.map(({ status }) => status).toSorted();
  assert.deepEqual(statuses, [200, 303, 303, 303]);
  const pages = (await Promise.all(answers.map((answer) => answer.text()))).join("");
  assert.equal(new Set(pages.match(TOKEN)).size, 1);
  assert.equal((await tokenRows("only one")).length, 1);
  const again = await post(`${TOKENS}/new`, fields, second.address);
  const next = await fetch(`${service.address}${again.headers.get("location")}`, {
    headers: { cookie: `${cookie}; ${cookieOf(again)}` },
  });
  const page = await next.text();
  assert.match(page, /role="status">\s*This form has already made this token, and no second one/u);
  assert.match(page, /<h1>only one<\/h1>/u);
  assert.equal(page.match(TOKEN), null);
});

test("a refused form keeps what was filled in and says what is allowed", async () => {
  const refused = await post(`${TOKENS}/new`, [
    ["request_key", requestKey()],
    ["name", "kept"],
    ["expiry", "date"],
    ["expires_on", "2020-01-01"],
  ]);
  assert.equal(refused.status, 400);
  const page = await refused.text();
  assert.match(page, /role="alert"[^>]*>\s*The scopes must name at least one of read:dashboard/u);
  assert.match(page, /value="kept"/u);
  assert.match(page, /value="date"\s+checked=""/u);
  const late = await post(`${TOKENS}/new`, form("late", { expiry: "date", expires_on: "2020-01-01" }));
  const text = await late.text();
  assert.equal(late.status, 400);
  assert.match(text, /The expiry must be .* a future date-time/u);
  assert.match(text, /value="read:alerts"\s+checked=""/u);
  const incomplete = await post(`${TOKENS}/new`, form("late", { request_key: "x" }));
  assert.match(await incomplete.text(), /The form is not complete: open it again\./u);
  assert.deepEqual(await tokenRows("late"), []);
});

test("a day ends a token as it begins, and never is allowed and marked", async () => {
  await post(`${TOKENS}/new`, form("dated", { expiry: "date", expires_on: "2099-12-31" }));
  await post(`${TOKENS}/new`, form("endless", { expiry: "never" }));
  const page = await read(TOKENS);
  assert.match(rowOf(page, "dated"), /31 Dec 2099/u);
  assert.match(rowOf(page, "endless"), />\s*never\s*</u);
  assert.match(await read(`${TOKENS}/new`), /never\s*<small class="tag">works until somebody revokes it/u);
});

/** The row of a token in the list. */
function rowOf(page: string, name: string): string {
  const row = page.split("<tr>").find((part) => part.includes(`>${name}</a>`));
  return (row ?? assert.fail(`no row of ${name}`)).split("</tr>", 1)[0] ?? "";
}

test("the list says who made a token, what it may read, when it was used and ends, and how much it is asked", async () => {
  const { tokenId } = await make("listed");
  await service.database.query(
    `update api_token set last_used_at = now() - interval '3 hours', expires_at = now() + interval '9 days 1 hour',
            created_at = now() - interval '80 days' where token_id = $1`,
    [tokenId],
  );
  const day = (ago: number): string => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
  const row = { shop_key: tenant.shopKey, token_id: tokenId, surface: "rest", quota_requests: 0 };
  await insertRows(service.database, "usage_detail", [
    { ...row, day: day(0), endpoint: "alerts", outcome: "ok", requests: 1200 },
    { ...row, day: day(29), endpoint: "report", outcome: "forbidden", requests: 34 },
    { ...row, day: day(30), endpoint: "report", outcome: "ok", requests: 9999 },
  ]);
  const page = await read(TOKENS);
  const listed = rowOf(page, "listed");
  for (const text of [
    `rta_live_${tokenId}…`,
    "Reports and monthly series · Alerts",
    "3 h ago",
    "in 9 days",
    "1,234",
    "Owner &lt;b&gt;",
    "expires soon",
  ]) {
    assert.ok(listed.includes(text), text);
  }
  assert.match(page, /“Last used” is up to 15 minutes old/u);
  const own = await read(`${TOKENS}/${tokenId}`);
  assert.match(own, /\/api\/v1\/alerts[\s\S]*?1,200/u);
  assert.match(own, /forbidden[\s\S]*?34/u);
});

test("a person who is gone and the command line are named as makers, too", async () => {
  const { tokenId } = await make("of nobody");
  await service.database.query("update api_token set created_by = $2 where token_id = $1", [
    tokenId,
    "user:00000000-0000-4000-8000-000000000000",
  ]);
  const { tokenId: ofOperator } = await make("of the operator");
  await service.database.query("update api_token set created_by = 'operator' where token_id = $1", [
    ofOperator,
  ]);
  const page = await read(TOKENS);
  assert.match(rowOf(page, "of nobody"), /a person who is no longer here/u);
  assert.match(rowOf(page, "of the operator"), /operator/u);
});

test("rotation links both tokens, shows whether the old one is still used, and is done once", async () => {
  const { tokenId: oldId } = await make("rotated");
  const fields: Fields = [
    ["overlap", "24h"],
    ["request_key", requestKey()],
  ];
  const issued = await post(`${TOKENS}/${oldId}/rotate`, fields);
  const [token = ""] = (await issued.text()).match(TOKEN) ?? [];
  const newId = parseToken(token)?.tokenId ?? "";
  assert.deepEqual([issued.status, issued.headers.get("content-encoding")], [200, null]);
  const again = await post(`${TOKENS}/${oldId}/rotate`, fields);
  assert.deepEqual(
    [again.status, again.headers.get("location")],
    [303, `/w/${tenant.shopDomain}${TOKENS}/${newId}`],
  );
  const other = await post(`${TOKENS}/${oldId}/rotate`, [
    ...fields.slice(0, 1),
    ["request_key", requestKey()],
  ]);
  assert.equal(other.status, 409);
  assert.match(await other.text(), new RegExp(`is replaced by ${newId} already`, "u"));
  assert.match(
    await read(`${TOKENS}/${oldId}`),
    new RegExp(`tokens/${newId}"[\\s\\S]*not used since then`, "u"),
  );
  assert.match(await read(`${TOKENS}/${newId}`), new RegExp(`It replaces[\\s\\S]*tokens/${oldId}"`, "u"));
  await service.database.query("update api_token set last_used_at = now() where token_id = $1", [oldId]);
  assert.match(await read(`${TOKENS}/${oldId}`), /still used since then/u);
  const events = await auditOf(newId);
  assert.deepEqual(
    events.map(({ action, detail, before }) => [action, detail["replaces"], before?.["token_id"]]),
    [["token.rotate", oldId, oldId]],
  );
});

async function auditOf(tokenId: string) {
  const { rows } = await service.database.query<{
    action: string;
    detail: Record<string, unknown>;
    before: Record<string, unknown> | null;
  }>(
    "select action, detail, before from audit_event where shop_key = $1 and detail ->> 'token_id' = $2 order by happened_at",
    [tenant.shopKey, tokenId],
  );
  return rows;
}

test("revoking asks for the name, and moves the token behind the ended ones", async () => {
  const { tokenId } = await make("to be ended");
  const wrong = await post(`${TOKENS}/${tokenId}/revoke`, [["name", "To be ended"]]);
  assert.equal(wrong.status, 400);
  assert.match(await wrong.text(), /The name is not that of this token/u);
  const ended = await post(`${TOKENS}/${tokenId}/revoke`, [["name", "to be ended"]]);
  assert.equal(ended.status, 303);
  const page = await read(TOKENS);
  assert.ok(page.indexOf(">to be ended</a>") > page.indexOf("<summary>Tokens that have ended"));
  assert.doesNotMatch(await read(`${TOKENS}/${tokenId}`), /<button>Revoke/u);
  assert.deepEqual(
    (await auditOf(tokenId)).map(({ action, before }) => [action, before?.["name"] ?? null]),
    [
      ["token.create", null],
      ["token.revoke", "to be ended"],
    ],
  );
});

test("a token of another workspace is no page and no form of this one", async () => {
  const other = await createTenant(service.database);
  const { tokenId } = await createTokenOf(service.database, other.shopKey);
  assert.equal((await openPage(service, `${TOKENS}/${tokenId}`, { tenant, cookie })).status, 404);
  const revoke = await post(`${TOKENS}/${tokenId}/revoke`, [["name", "reporting"]]);
  assert.equal(revoke.status, 404);
});

test("a viewer sees neither page, and who signed in an hour ago confirms first", async () => {
  const { secret, user_id: userId } = await makeUserLink(service, {
    name: "Viewer",
    shopDomain: tenant.shopDomain,
  });
  await service.database.query("update workspace_member set role = 'viewer' where user_id = $1", [userId]);
  const viewer = cookieOf(await postForm(service, "/enter", { secret }));
  for (const path of [TOKENS, `${TOKENS}/new`, "/settings/usage"]) {
    assert.equal((await openPage(service, path, { tenant, cookie: viewer })).status, 403, path);
  }
  await service.database.query(
    `update console_session set proved_at = now() - interval '11 minutes'
      where user_id = (select user_id from console_user where name = 'Owner <b>')`,
  );
  try {
    const page = await openPage(service, `${TOKENS}/new`, { tenant, cookie });
    assert.equal(page.status, 403);
    assert.match(page.text, /\/prove\?next=/u);
    const refused = await post(`${TOKENS}/new`, form("unproved"));
    assert.equal(refused.status, 403);
    const kept = await refused.text();
    assert.match(kept, /value="unproved"/u);
    assert.match(kept, /value="read:alerts"\s+checked=""/u);
    assert.deepEqual(await tokenRows("unproved"), []);
  } finally {
    await service.database.query("update console_session set proved_at = now()");
  }
});

test("the usage page shows today against the quota, 30 days, each way to add them up, and what differs", async () => {
  const own = await createTenant(service.database, { dailyQuota: 1000 });
  const reader = {
    tenant: own,
    cookie: await signInAs(service, { name: "Usage", shopDomain: own.shopDomain }),
  };
  const today = new Date().toISOString().slice(0, 10);
  const row = { shop_key: own.shopKey, day: today, token_id: own.tokenId };
  await insertRows(service.database, "daily_usage", [{ shop_key: own.shopKey, day: today, requests: 900 }]);
  await insertRows(service.database, "usage_detail", [
    { ...row, endpoint: "summary", surface: "rest", outcome: "ok", requests: 800, quota_requests: 800 },
    { ...row, endpoint: "alerts", surface: "mcp", outcome: "ok", requests: 93, quota_requests: 93 },
    { ...row, endpoint: "alerts", surface: "rest", outcome: "rate_limited", requests: 5, quota_requests: 0 },
  ]);
  const { text } = await openPage(service, "/settings/usage", reader);
  const plain = text.replaceAll(/<[^>]+>/gu, " ").replaceAll(/\s+/gu, " ");
  assert.match(plain, /Used 900 of 1,000 requests/u);
  assert.match(plain, /Left 100/u);
  assert.match(plain, /The count begins anew at \d+ \w{3} \d{4}, 00:00 UTC/u);
  assert.match(plain, /Forecast/u);
  assert.match(
    plain,
    /lack 7 of the counted requests: they are up to 10 seconds behind, and a server that is cut off/u,
  );
  assert.match(plain, /reporting rta_live_\w+… 898 5/u);
  assert.match(plain, /\/api\/v1\/summary 800 0/u);
  assert.match(plain, /MCP, by AI agents 93 0/u);
  assert.match(plain, /rate_limited the daily quota was used up, or too many were sent at once \(429\) 5/u);
  assert.match(text, /<svg role="img"/u);
  assert.equal(text.split('<tr data-x="').length - 1, 30, "a row of the table for each day");

  await changePlan(service.database, own, { dailyQuota: null });
  const unlimited = await openPage(service, "/settings/usage", reader);
  assert.match(unlimited.text, /has no daily limit/u);
});

test("a workspace that never asked says so", async () => {
  const own = await createTenant(service.database);
  const reader = {
    tenant: own,
    cookie: await signInAs(service, { name: "Idle", shopDomain: own.shopDomain }),
  };
  const { text } = await openPage(service, "/settings/usage", reader);
  assert.match(text, /No request in these days\./u);
});
