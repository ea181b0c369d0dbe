import assert from "node:assert/strict";
import { before, test } from "node:test";
import { parseToken } from "../src/admission/token.ts";
import { openPage } from "./support/console-page.ts";
import { cookieOf, makeUserLink, postForm, signInAs } from "./support/console-person.ts";
import { startTestService } from "./support/service.ts";
import { createTenant, createTokenOf } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { requestKey, TOKEN, TOKENS, tokenForm, tokenPages } from "./support/token-pages.ts";
import type { Fields, TokenPages } from "./support/token-pages.ts";
import { use } from "./support/use.ts";

/** How a token is replaced and revoked, and by whom. */

const service = use(startTestService);
let tenant: Tenant;
let cookie: string;
let pages: TokenPages;

before(async () => {
  tenant = await createTenant(service.database);
  cookie = await signInAs(service, { name: "Owner <b>", shopDomain: tenant.shopDomain });
  pages = tokenPages(service, { tenant, cookie });
});

test("rotation links both tokens, shows whether the old one is still used, and is done once", async () => {
  const { tokenId: oldId } = await pages.make("rotated");
  const fields: Fields = [
    ["overlap", "24h"],
    ["request_key", requestKey()],
  ];
  const issued = await pages.post(`${TOKENS}/${oldId}/rotate`, fields);
  const [token = ""] = (await issued.text()).match(TOKEN) ?? [];
  const newId = parseToken(token)?.tokenId ?? "";
  assert.deepEqual([issued.status, issued.headers.get("content-encoding")], [200, null]);
  const again = await pages.post(`${TOKENS}/${oldId}/rotate`, fields);
  assert.deepEqual(
    [again.status, again.headers.get("location")],
    [303, `/w/${tenant.shopDomain}${TOKENS}/${newId}`],
  );
  const other = await pages.post(`${TOKENS}/${oldId}/rotate`, [
    ...fields.slice(0, 1),
    ["request_key", requestKey()],
  ]);
  assert.equal(other.status, 409);
  assert.match(await other.text(), new RegExp(`is replaced by ${newId} already`, "u"));
  assert.match(
    await pages.read(`${TOKENS}/${oldId}`),
    new RegExp(`tokens/${newId}"[\\s\\S]*not used since then`, "u"),
  );
  assert.match(
    await pages.read(`${TOKENS}/${newId}`),
    new RegExp(`It replaces[\\s\\S]*tokens/${oldId}"`, "u"),
  );
  await service.database.query("update api_token set last_used_at = now() where token_id = $1", [oldId]);
  assert.match(await pages.read(`${TOKENS}/${oldId}`), /still used since then/u);
  const events = await auditOf(newId);
  assert.deepEqual(
    events.map(({ action, detail, before: earlier }) => [action, detail["replaces"], earlier?.["token_id"]]),
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
  const { tokenId } = await pages.make("to be ended");
  const wrong = await pages.post(`${TOKENS}/${tokenId}/revoke`, [["typed_name", "To be ended"]]);
  assert.equal(wrong.status, 400);
  assert.match(await wrong.text(), /The name is not that of this token/u);
  const ended = await pages.post(`${TOKENS}/${tokenId}/revoke`, [["typed_name", "to be ended"]]);
  assert.equal(ended.status, 303);
  const page = await pages.read(TOKENS);
  assert.ok(page.indexOf(">to be ended</a>") > page.indexOf("<summary>Tokens that have ended"));
  assert.doesNotMatch(await pages.read(`${TOKENS}/${tokenId}`), /<button>Revoke/u);
  assert.deepEqual(
    (await auditOf(tokenId)).map(({ action, before: earlier }) => [action, earlier?.["name"] ?? null]),
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
  const revoke = await pages.post(`${TOKENS}/${tokenId}/revoke`, [["name", "reporting"]]);
  assert.equal(revoke.status, 404);
});

test("a viewer sees neither page, and who signed in an hour ago confirms first", async () => {
  const { secret, user_id: userId } = await makeUserLink(service, {
    name: "Viewer",
    shopDomain: tenant.shopDomain,
  });
  const viewer = cookieOf(await postForm(service, "/enter", { secret }));
  await service.database.query("update workspace_member set role = 'viewer' where user_id = $1", [userId]);
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
    const refused = await pages.post(`${TOKENS}/new`, tokenForm("unproved"));
    assert.equal(refused.status, 403);
    const kept = await refused.text();
    assert.match(kept, /value="unproved"/u);
    assert.match(kept, /value="read:alerts"\s+checked=""/u);
    assert.doesNotMatch(kept, TOKEN);
  } finally {
    await service.database.query("update console_session set proved_at = now()");
  }
});
