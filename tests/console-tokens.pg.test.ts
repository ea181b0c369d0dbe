import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseToken } from "../src/access/token.ts";
import { ENTITLEMENTS, SCOPES } from "../src/contract/endpoint.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { mcpCommandLine, mcpConfigText } from "../src/contract/written-request.ts";
import { postForm } from "./support/console-person.ts";
import { scene } from "./support/scene.ts";
import { send } from "./support/service.ts";
import { service } from "./support/shared-service.ts";
import { changePlan, createTenant, createTokenOf, insertRows } from "./support/tenants.ts";

const TOKENS = "/settings/tokens";
const TOKEN = /rta_live_[0-9A-Za-z]{65}/gu;

/** Creating and listing tokens, in forms and markup without a browser. */

const tenant = await scene();
const owner = await tenant.member("owner", "Owner <b>");

/** The form of a token that may read reports and alerts for 90 days, unless told otherwise. */
function tokenForm(name: string, change: Record<string, string> = {}): [string, string][] {
  return [
    ["scopes", "read:alerts"],
    ["scopes", "read:reports"],
    ...Object.entries({ request_key: randomUUID(), name, expires: "90d", ...change }),
  ];
}

/** A page that exists. */
async function read(path: string): Promise<string> {
  const { status, text } = await owner.get(path);
  assert.equal(status, 200, path);
  return text;
}

async function idOfNew(name: string): Promise<string> {
  const [token = ""] = (await owner.post(`${TOKENS}/new`, tokenForm(name))).text.match(TOKEN) ?? [];
  return parseToken(token)?.tokenId ?? "";
}

/** The page that shows a new token: uncompressed even for a browser that accepts compression, and not cached. */
async function issue(path: string, fields: [string, string][]): Promise<string> {
  const headers = { cookie: owner.cookie, "accept-encoding": "gzip" };
  const answer = await postForm(service, `/w/${tenant.shopDomain}${path}`, fields, headers);
  assert.deepEqual([answer.status, answer.headers.get("content-encoding")], [200, null]);
  assert.match(answer.headers.get("cache-control") ?? "", /no-store/u);
  return answer.text;
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
    assert.deepEqual(part.match(/\/api\/v1\/[a-z/.{}-]+/gu), opened, scope);
  }
});

test("a new token is shown once, uncompressed and not cached, with a working request and client configuration", async () => {
  const page = await issue(`${TOKENS}/new`, tokenForm("weekly report"));
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
  const [, url = ""] = /'(http[^']+)'$/u.exec(curl) ?? [];
  assert.ok(url.startsWith(`${service.address}/api/v1/`), curl);
  const answer = await send(url, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(answer.status, 200, answer.text);

  const { secret } = parseToken(token) ?? { secret: "" };
  const shown = await Promise.all(
    [TOKENS, `${TOKENS}/new`, `${TOKENS}/${parseToken(token)?.tokenId}`, "/settings/usage"].map(read),
  );
  const { rows } = await service.database.query("select a::text from audit_event a where a.shop_key = $1", [
    tenant.shopKey,
  ]);
  assert.ok(rows.length > 0);
  const traces = [...shown, ...service.logs, JSON.stringify(rows)].join("\n");
  assert.ok(!traces.includes(secret), "the secret stands somewhere");
});

test("without api_access no token is created, neither on the page nor by a form that is sent anyway", async () => {
  await changePlan(service.database, tenant, { entitlements: ["data_export"] });
  const page = await read(TOKENS);
  assert.match(page, /does not include the API: no token can be created/u);
  assert.doesNotMatch(page, /Create token/u);
  const refused = await owner.post(`${TOKENS}/new`, tokenForm("too late"));
  assert.equal(refused.status, 409);
  assert.match(refused.text, /does not include api_access: a token needs a plan that does\./u);
  assert.deepEqual(await tokenRows("too late"), []);
  await changePlan(service.database, tenant, { entitlements: ENTITLEMENTS });
});

test("the page's configuration of an MCP client is that of the guide", () => {
  const guide = readFileSync(join(import.meta.dirname, "../docs/mcp.md"), "utf8").replaceAll(/\s+/gu, " ");
  const [address, token] = ["https://returns.example", "$RETURNS_TOKEN"];
  assert.ok(guide.replaceAll("\\ ", "").includes(mcpCommandLine(address, token)));
  const config = JSON.parse(mcpConfigText(address, "${env:RETURNS_TOKEN}")) as unknown;
  const [written = ""] = /\{ "mcpServers": \{ "returns": \{ "url".*?\} \} \} \}/u.exec(guide) ?? [];
  assert.deepEqual(config, JSON.parse(written));
});

test("a refused form keeps its values and shows what is allowed", async () => {
  const date = { expires: "date", expires_on: "2020-01-01" };
  const refused = await owner.post(`${TOKENS}/new`, { request_key: randomUUID(), name: "kept", ...date });
  assert.equal(refused.status, 400);
  const page = refused.text;
  assert.match(page, /role="alert"[^>]*>\s*Scopes: choose at least one of the values that are shown/u);
  assert.match(page, /value="kept"/u);
  assert.match(page, /value="date"\s+checked=""/u);
  const { status, text } = await owner.post(`${TOKENS}/new`, tokenForm("late", date));
  assert.equal(status, 400);
  assert.match(text, /Expiry must be .* a future date-time/u);
  assert.match(text, /value="read:alerts"\s+checked=""/u);
  const incomplete = await owner.post(`${TOKENS}/new`, tokenForm("late", { request_key: "x" }));
  assert.match(incomplete.text, /The form is not complete: open it again\./u);
  assert.deepEqual(await tokenRows("late"), []);
});

test("a token ends at the beginning of its day; never is allowed and marked", async () => {
  await owner.post(`${TOKENS}/new`, tokenForm("dated", { expires: "date", expires_on: "2099-12-31" }));
  await owner.post(`${TOKENS}/new`, tokenForm("endless", { expires: "never" }));
  const page = await read(TOKENS);
  assert.match(rowOf(page, "dated"), /31 Dec 2099/u);
  assert.match(rowOf(page, "endless"), />\s*never\s*</u);
  assert.match(await read(`${TOKENS}/new`), /never\s*<small class="tag">works until it is revoked/u);
});

/** The row of a token in the list. */
function rowOf(page: string, name: string): string {
  const row = page.split("<tr>").find((part) => part.includes(`>${name}</a>`));
  return (row ?? assert.fail(`no row of ${name}`)).split("</tr>", 1)[0] ?? "";
}

test("the list shows a token's creator, scopes, last use, expiry and usage", async () => {
  const tokenId = await idOfNew("listed");
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

test("a deleted person and the command line are also named as creators", async () => {
  const tokenId = await idOfNew("of nobody");
  await service.database.query("update api_token set created_by = $2 where token_id = $1", [
    tokenId,
    "user:00000000-0000-4000-8000-000000000000",
  ]);
  const ofOperator = await idOfNew("of the operator");
  await service.database.query("update api_token set created_by = 'operator' where token_id = $1", [
    ofOperator,
  ]);
  const page = await read(TOKENS);
  assert.match(rowOf(page, "of nobody"), /removed member/u);
  assert.match(rowOf(page, "of the operator"), /operator/u);
});

/** Rotating and revoking tokens, and who may. */

test("rotation links both tokens, shows whether the old one is still used, and is done once", async () => {
  const oldId = await idOfNew("rotated");
  const rotate = `${TOKENS}/${oldId}/rotate`;
  const fields = { overlap: "24h", request_key: randomUUID() };
  const [token = ""] = (await issue(rotate, Object.entries(fields))).match(TOKEN) ?? [];
  const newId = parseToken(token)?.tokenId ?? "";
  const again = await owner.post(rotate, fields);
  assert.deepEqual([again.status, again.location], [303, `${TOKENS}/${newId}`]);
  const other = await owner.post(rotate, { ...fields, request_key: randomUUID() });
  assert.equal(other.status, 409);
  assert.match(other.text, new RegExp(`has already been replaced by ${newId}`, "u"));
  assert.match(
    await read(`${TOKENS}/${oldId}`),
    new RegExp(`tokens/${newId}"[\\s\\S]*not used since then`, "u"),
  );
  assert.match(await read(`${TOKENS}/${newId}`), new RegExp(`Replaces[\\s\\S]*tokens/${oldId}"`, "u"));
  await service.database.query("update api_token set last_used_at = now() where token_id = $1", [oldId]);
  assert.match(await read(`${TOKENS}/${oldId}`), /still used since then/u);
  const events = await auditOf(newId);
  assert.deepEqual(
    events.map(({ action, detail, before: earlier }) => [action, detail["replaces"], earlier?.["token_id"]]),
    [["token.rotate", oldId, oldId]],
  );
});

const auditOf = async (tokenId: string) =>
  (await tenant.audit()).filter(({ detail }) => detail["token_id"] === tokenId);

test("revoking asks for the name, and moves the token behind the ended ones", async () => {
  const tokenId = await idOfNew("to be ended");
  for (const typed_name of ["", "To be ended"]) {
    const wrong = await owner.post(`${TOKENS}/${tokenId}/revoke`, { typed_name });
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, /This is not the token’s name/u);
  }
  const ended = await owner.post(`${TOKENS}/${tokenId}/revoke`, { typed_name: "to be ended" });
  assert.equal(ended.status, 303);
  const page = await read(TOKENS);
  assert.ok(page.indexOf(">to be ended</a>") > page.indexOf("<summary>Expired and revoked tokens"));
  assert.doesNotMatch(await read(`${TOKENS}/${tokenId}`), /<button>Revoke/u);
  assert.deepEqual(
    (await auditOf(tokenId)).map(({ action, before: earlier }) => [action, earlier?.["name"] ?? null]),
    [
      ["token.create", null],
      ["token.revoke", "to be ended"],
    ],
  );
});

test("a token of another workspace has no page and no form in this one", async () => {
  const other = await createTenant(service.database);
  const { tokenId, token } = await createTokenOf(service.database, other.shopKey);
  assert.equal((await owner.get(`${TOKENS}/${tokenId}`)).status, 404);
  const revoke = await owner.post(`${TOKENS}/${tokenId}/revoke`, { typed_name: "reporting" });
  assert.equal(revoke.status, 404);
  assert.equal((await service.call("/api/v1/alerts", { token })).status, 200);
});
