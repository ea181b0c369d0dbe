import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { runAction, readList } from "../src/actions/action.ts";
import { OPERATOR } from "../src/actions/actor.ts";
import { textInput } from "../src/actions/field.ts";
import { leaveWorkspace, removeMember, setMemberRole } from "../src/actions/members/actions.ts";
import { disableUser } from "../src/actions/people/actions.ts";
import { revokeToken, rotateToken, tokenList } from "../src/actions/tokens/actions.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { newSecret } from "../src/access/secret.ts";
import { keyedHash, parseToken } from "../src/access/token.ts";
import { SCOPES } from "../src/contract/endpoint.ts";
import { userName } from "../src/lib/user-name.ts";
import { MCP_PATH, post, rpc, toolCall } from "./support/mcp.ts";
import { App, CALLBACK, createApp, createMember, startOauthService } from "./support/mcp-oauth.ts";
import type { Member, TokenAnswer } from "./support/mcp-oauth.ts";
import { visitorOf } from "./support/scene.ts";
import { makeUserLink, postForm } from "./support/console-person.ts";
import { changePlan, countedRequests, createTenant, type Tenant } from "./support/tenants.ts";
import { before, use } from "./support/use.ts";
import { deleteOldOfWorkspace } from "../src/worker/upkeep.ts";
import { DEFAULT_RETENTION } from "./support/worker.ts";
import { startBeside } from "./support/service.ts";

const service = use(startOauthService);
let tenant: Tenant;
let owner: Member;
let app: App;

before(async () => {
  tenant = await createTenant(service.database);
  owner = await createMember(service, [tenant]);
  app = await createApp(service.issuer);
});

const connect = async (member = owner, at = tenant): Promise<TokenAnswer> => {
  const tokens = await app.exchange(await app.consent(member.cookie, at));
  assert.equal(tokens.status, 200, JSON.stringify(tokens));
  return tokens;
};

/** Sets columns of the grant that a code, refresh or access token names. */
const age = (secret: string, change: string): Promise<unknown> =>
  service.database.query(`update oauth_grant set ${change} where token_id = $1`, [
    /^rta_(?:code|refresh|live)_(.{16})/u.exec(secret)?.[1] ?? "",
  ]);

/** Runs an action of the workspace as its operator does. */
const caller = async (at = tenant) => {
  const { database } = service.installation;
  const workspace = await requireWorkspace(database, at.shopDomain);
  const consoleOrigin = (): string => service.issuer;
  return { database, keys: service.keys, actor: OPERATOR, now: new Date(), workspace, consoleOrigin };
};

const ends = async (tokens: TokenAnswer): Promise<void> => {
  assert.equal(await app.call(tokens.access_token), 401);
  assert.equal((await app.refresh(tokens.refresh_token)).error, "invalid_grant");
};

test("a client finds the authorization server from the 401 of the MCP address", async () => {
  const refused = await post(service.address, rpc("tools/list"));
  const metadata = `${service.issuer}/.well-known/oauth-protected-resource`;
  assert.equal(refused.status, 401);
  assert.equal(refused.headers.get("www-authenticate"), `Bearer resource_metadata="${metadata}${MCP_PATH}"`);
  const rest = await service.call("/api/v1/summary");
  assert.equal(rest.headers.get("www-authenticate"), "Bearer", "other addresses answer as before");
  const [whole, below] = await Promise.all(
    ["", MCP_PATH].map(
      async (path) => (await fetch(metadata + path)).json() as Promise<Record<string, unknown>>,
    ),
  );
  assert.deepEqual(whole, below);
  assert.deepEqual(
    [whole?.["resource"], whole?.["authorization_servers"], whole?.["scopes_supported"]],
    [`${service.issuer}${MCP_PATH}`, [service.issuer], SCOPES],
  );
  const server = await fetch(`${service.issuer}/.well-known/oauth-authorization-server`);
  assert.equal(server.headers.get("access-control-allow-origin"), "*");
  const told = (await server.json()) as Record<string, unknown>;
  assert.deepEqual(
    [told["issuer"], told["code_challenge_methods_supported"], told["token_endpoint_auth_methods_supported"]],
    [service.issuer, ["S256"], ["none"]],
  );
  const preflight = await fetch(`${service.issuer}/oauth/token`, { method: "OPTIONS" });
  assert.deepEqual([preflight.status, preflight.headers.get("access-control-allow-origin")], [204, "*"]);
});

describe("a grant", () => {
  test("is a token of the service: scopes, quota, list of tokens and audit", async () => {
    const one = await createTenant(service.database);
    const person = await createMember(service, [one], "admin");
    const tokens = await connect(person, one);
    assert.deepEqual(
      [tokens.token_type, tokens.expires_in, tokens.scope],
      ["Bearer", 3600, "read:dashboard read:alerts"],
    );
    const tokenId = parseToken(tokens.access_token)?.tokenId;
    assert.ok(tokenId, "the format is that of every token");
    assert.equal(await countedRequests(service.database, one), 0);
    const call = await post(service.address, toolCall("get_summary", {}), { token: tokens.access_token });
    assert.equal(call.status, 200);
    assert.equal(await countedRequests(service.database, one), 1);
    const report = await post(service.address, toolCall("get_report", {}), { token: tokens.access_token });
    assert.match(report.text, /lacks the scope read:reports/u);

    const row = (await readList(tokenList, await caller(one))).find(({ token_id: id }) => id === tokenId);
    assert.deepEqual([row?.name, row?.status, row?.attention], ["Notebook", "active", null]);
    assert.ok(row?.last_used_at, "last used");
    assert.equal(Math.round(((row?.expires_at?.getTime() ?? 0) - Date.now()) / 86_400_000), 30);
    const { text } = await visitorOf(service, one.shopDomain, person.cookie).get("/settings/tokens");
    assert.match(text, /<span>Connected apps<\/span>[^]*Notebook/u);
    const { rows } = await service.database.query<{ action: string; detail: object }>(
      "select action, detail from audit_event where shop_key = $1",
      [one.shopKey],
    );
    assert.deepEqual(rows, [
      {
        action: "app.connect",
        detail: {
          token_id: tokenId,
          name: "Notebook",
          scopes: ["read:dashboard", "read:alerts"],
          leads_to: "127.0.0.1:49152",
        },
      },
    ]);
  });

  test("leaves no secret in the database or the log", async () => {
    const code = await app.consent(owner.cookie, tenant);
    const first = await app.exchange(code);
    const second = await app.refresh(first.refresh_token);
    const { rows } = await service.database.query(
      "select t::text as token, g::text as granted from api_token t left join oauth_grant g using (shop_key, token_id)",
    );
    const { rows: audit } = await service.database.query("select a::text from audit_event a");
    const kept = JSON.stringify([rows, audit, service.logs]);
    for (const { access_token: access, refresh_token: refresh } of [first, second]) {
      for (const secret of [access.slice(25, 60), refresh.slice(28, 71), refresh.slice(71), code.slice(25)])
        assert.ok(!kept.includes(secret), secret);
    }
  });

  test("gives the workspace and the scopes that the person chose, and no others", async () => {
    const [first, second, foreign] = [
      tenant,
      await createTenant(service.database),
      await createTenant(service.database),
    ] as const;
    const person = await createMember(service, [first, second]);
    const page = await app.ask(app.query(), person.cookie);
    assert.deepEqual([page.status, page.location], [200, null], "nothing is chosen for them");
    assert.doesNotMatch(page.text, /Allow access/u);
    for (const { shopDomain } of [first, second])
      assert.match(page.text, new RegExp(`href="/w/${shopDomain}/settings/tokens/connect\\?request=`, "u"));
    const other = await app.decide(person.cookie, { workspace: foreign.shopDomain });
    assert.equal(other.status, 404, "no member of it");
    assert.equal((await app.decide(person.cookie, { workspace: "a\0b" })).status, 404);
    const more = await app.decide(person.cookie, {
      workspace: second.shopDomain,
      scopes: ["read:alerts", "read:exports"],
    });
    const tokens = await app.exchange(new URL(more.location).searchParams.get("code") ?? "");
    assert.equal(tokens.scope, "read:alerts", "a scope that was not asked for is not given");
    assert.equal(parseToken(tokens.access_token)?.shopKey, second.shopKey);
    for (const scopes of [[], ["read:exports"]]) {
      const none = await app.decide(person.cookie, { workspace: second.shopDomain, scopes });
      assert.equal(none.status, 400, String(scopes));
      assert.match(none.text, /It may read: choose at least one of the values that are shown/u);
    }
  });

  test("ends its access token with each refresh, which rotates", async () => {
    const first = await connect();
    const second = await app.refresh(first.refresh_token);
    assert.equal(await app.call(first.access_token), 401);
    assert.equal(await app.call(second.access_token), 200);
    assert.equal(second.scope, first.scope);
    assert.equal(parseToken(second.access_token)?.tokenId, parseToken(first.access_token)?.tokenId);
  });

  test("of an earlier version, whose refresh tokens share another secret than its code's, rotates and ends likewise", async () => {
    const { refresh_token: refresh } = await connect();
    const [tokenId, own, shared] = [refresh.slice(12, 28), refresh.slice(71), newSecret().text];
    const hash = keyedHash(shared, service.keys.tokenPepper).toString("hex");
    await age(refresh, `family_hash = '\\x${hash}'`);
    assert.equal((await app.refresh(refresh)).error, "invalid_grant");
    const earlier = `rta_refresh_${tokenId}${shared}${own}`;
    const next = await app.refresh(earlier);
    assert.equal(await app.call(next.access_token), 200);
    assert.equal((await app.refresh(next.refresh_token)).status, 200);
    assert.equal((await app.refresh(earlier)).error, "invalid_grant");
    await ends(next);
  });

  test("ends when a refresh token is used again, also for the holder of the newer one", async () => {
    const first = await connect();
    const second = await app.refresh(first.refresh_token);
    assert.equal((await app.refresh(first.refresh_token)).error, "invalid_grant");
    await ends(second);
    const { rows } = await service.database.query<{ actor: string }>(
      "select actor from audit_event where action = 'token.revoke' and detail ->> 'token_id' = $1",
      [parseToken(first.access_token)?.tokenId],
    );
    assert.deepEqual(rows, [{ actor: "app" }]);
  });

  test("of two concurrent refreshes one succeeds, and then the grant ends", async () => {
    const { refresh_token: token } = await connect();
    const answers = await Promise.all([app.refresh(token), app.refresh(token)]);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 400]));
    await ends(answers.find(({ status }) => status === 200) as TokenAnswer);
  });

  test("ends when its code is used again", async () => {
    const code = await app.consent(owner.cookie, tenant);
    const tokens = await app.exchange(code);
    assert.equal((await app.exchange(code)).error, "invalid_grant");
    await ends(tokens);
  });

  test("is not ended by somebody who only knows its id", async () => {
    const tokens = await connect();
    const tokenId = parseToken(tokens.access_token)?.tokenId;
    const guess = `rta_refresh_${tokenId}${"a".repeat(86)}`;
    assert.equal((await app.refresh(guess)).error, "invalid_grant");
    assert.equal((await app.exchange(`rta_code_${tokenId}${"a".repeat(43)}`)).error, "invalid_grant");
    assert.equal((await app.post("/oauth/revoke", { token: guess })).status, 200);
    assert.equal(await app.call(tokens.access_token), 200);
  });

  test("can be ended in the console whatever the app's name is", async () => {
    const cut = await createApp(service.issuer, `${"x".repeat(59)} tail`);
    const blank = await createApp(service.issuer, "\u3164\u2800\u180e");
    const quoted = await createApp(service.issuer, "Claude” (checked) “");
    const names = ["x".repeat(59), "An app", "Claude (checked)"];
    for (const [index, named] of [cut, blank, quoted].entries()) {
      const tokens = await named.exchange(await named.consent(owner.cookie, tenant));
      const id = parseToken(tokens.access_token)?.tokenId ?? "";
      const row = (await readList(tokenList, await caller())).find((each) => each.token_id === id);
      assert.equal(row?.name, names[index]);
      const typed = textInput({ token_id: id, typed_name: names[index] ?? "" });
      await runAction(revokeToken, await caller(), { ...typed, isForm: true });
      assert.equal(await app.call(tokens.access_token), 401);
    }
  });

  test("ends by the action of form and command, and cannot be rotated by hand", async () => {
    const tokens = await connect();
    const given = textInput({ token_id: parseToken(tokens.access_token)?.tokenId ?? "" });
    await assert.rejects(runAction(rotateToken, await caller(), given), /of a connected app/u);
    await runAction(revokeToken, await caller(), given);
    await ends(tokens);
  });

  test("ends on every server with the next request, even if each has just answered it from its cache", async (context) => {
    const other = await startBeside(context, service, { PUBLIC_URL: service.issuer });
    const servers = [service.address, other.address];
    const statuses = async ({ access_token: token }: TokenAnswer): Promise<number[]> =>
      Promise.all(
        servers.map(async (address) => {
          const month = { start_month: "2026-05", end_month: "2026-05" };
          const { status, message } = await post(address, toolCall("get_summary", month), { token });
          assert.notEqual(message.result?.isError, true, JSON.stringify(message));
          return status;
        }),
      );
    const ways: ((tokens: TokenAnswer) => Promise<unknown>)[] = [
      async ({ access_token: token }) => app.post("/oauth/revoke", { token }),
      async ({ refresh_token: token }) => app.refresh(token),
      async ({ access_token: token }) =>
        runAction(revokeToken, await caller(), textInput({ token_id: parseToken(token)?.tokenId ?? "" })),
    ];
    for (const end of ways) {
      const tokens = await connect();
      for (const round of ["computed", "from memory"])
        assert.deepEqual(await statuses(tokens), [200, 200], round);
      await end(tokens);
      assert.deepEqual(await statuses(tokens), [401, 401]);
    }
  });

  for (const [what, reason, end] of [
    [
      "the membership",
      "member removed",
      async (person: string) => runAction(removeMember, await caller(), textInput({ person })),
    ],
    [
      "leaving",
      "member removed",
      async (person: string) => {
        const actor = { ...OPERATOR, name: userName(person), standing: "admin" } as const;
        return runAction(leaveWorkspace, { ...(await caller()), actor }, textInput({}));
      },
    ],
    [
      "the role",
      "role changed",
      async (person: string) =>
        runAction(setMemberRole, await caller(), textInput({ person, role: "viewer" })),
    ],
    [
      "the person",
      "person disabled",
      async (person: string) => runAction(disableUser, await caller(), textInput({ person })),
    ],
    [
      "a recovery of their account",
      "account recovered",
      async (person: string) => {
        const { secret } = await makeUserLink(service, { name: person, isRecovery: true });
        const entered = await postForm({ ...service, address: service.issuer }, "/enter", { secret });
        assert.equal(entered.status, 303);
      },
    ],
  ] as const) {
    test(`ends at once with ${what}, and the audit shows it`, async () => {
      const since = new Date();
      const person = await createMember(service, [tenant], "admin");
      const tokens = await connect(person);
      const other = await connect();
      const code = await app.consent(person.cookie, tenant);
      await end(person.userId);
      await ends(tokens);
      const { rows: audited } = await service.database.query<{ token_id: string }>(
        `select detail ->> 'token_id' as token_id from audit_event
          where shop_key = $1 and action = 'token.revoke' and detail ->> 'reason' = $2 and happened_at >= $3`,
        [tenant.shopKey, reason, since],
      );
      assert.deepEqual(audited, [{ token_id: parseToken(tokens.access_token)?.tokenId }], "not the consent");
      assert.equal((await app.exchange(code)).error, "invalid_grant", "a code that was consented to before");
      assert.equal(await app.call(other.access_token), 200, "another member's app");
      assert.equal(await app.call(tenant.token), 200, "a token of the workspace");
    });
  }

  test("is deleted 30 days after its end, and so is a code that was never exchanged", async () => {
    const one = await createTenant(service.database);
    const person = await createMember(service, [one]);
    const tokens = await connect(person, one);
    await app.consent(person.cookie, one);
    const rows = async (): Promise<number> =>
      (await service.database.query("select from api_token where shop_key = $1", [one.shopKey])).rows.length;
    const keep = (days: number): Promise<void> =>
      deleteOldOfWorkspace(
        service.installation.database,
        one.shopKey,
        DEFAULT_RETENTION,
        new Date(Date.now() + days * 86_400_000),
      );
    await keep(29);
    assert.equal(await rows(), 3);
    assert.equal(
      (await readList(tokenList, await caller(one))).length,
      2,
      "no list shows what was not exchanged",
    );
    await keep(31);
    assert.equal(await rows(), 2);
    await app.post("/oauth/revoke", { token: tokens.access_token });
    await keep(31);
    assert.equal(await rows(), 1, "the token that was created by hand");
  });

  test("ends with the plan's api_access", async () => {
    const one = await createTenant(service.database);
    const person = await createMember(service, [one]);
    const tokens = await connect(person, one);
    await changePlan(service.database, one, { entitlements: ["data_export"] });
    assert.equal(await app.call(tokens.access_token), 403);
    assert.equal((await app.refresh(tokens.refresh_token)).error, "invalid_grant");
    const late = await app.decide(person.cookie, { workspace: one.shopDomain });
    assert.equal(late.status, 409);
    assert.match(late.text, /does not include api_access/u);
  });

  test("ends by revocation of either token, by its own client alone (RFC 7009)", async () => {
    for (const kind of ["access_token", "refresh_token"] as const) {
      const tokens = await connect();
      const other = await createApp(service.issuer, "Other");
      assert.equal((await other.post("/oauth/revoke", { token: tokens[kind] })).status, 200);
      assert.equal(await app.call(tokens.access_token), 200);
      assert.equal((await app.post("/oauth/revoke", { token: tokens[kind] })).status, 200);
      await ends(tokens);
    }
    assert.equal((await app.post("/oauth/revoke", { token: tenant.token })).status, 200);
    assert.equal(await app.call(tenant.token), 200, "no app's");
    assert.equal((await app.post("/oauth/revoke", { token: "nonsense" })).status, 200);
  });
});

describe("an exchange is refused", () => {
  for (const [what, change] of [
    ["a wrong verifier", { code_verifier: "a".repeat(43) }],
    ["no verifier", { code_verifier: "" }],
    ["another redirect address", { redirect_uri: "http://127.0.0.1:49153/callback" }],
    ["another client", { client_id: "of somebody else" }],
    ["another resource", { resource: "https://other.example/mcp" }],
    ["another grant type", { grant_type: "password" }],
    ["no code", { code: "" }],
  ] as const) {
    test(`with ${what}, and the code stays valid`, async () => {
      const code = await app.consent(owner.cookie, tenant);
      const { status, error } = await app.exchange(code, change);
      assert.equal(status, 400);
      assert.ok(error);
      assert.equal((await app.exchange(code)).status, 200);
    });
  }

  test("with a code in the place of a refresh token, or the other way round, and both stay valid", async () => {
    const code = await app.consent(owner.cookie, tenant);
    assert.equal((await app.refresh(code)).error, "invalid_grant");
    const tokens = await app.exchange(code);
    assert.equal((await app.exchange(tokens.refresh_token)).error, "invalid_grant");
    assert.equal((await app.refresh(tokens.refresh_token)).status, 200);
  });

  test("for a client to which the code was not issued", async () => {
    const other = new App(service.issuer, (await createApp(service.issuer, "Other")).clientId);
    const code = await app.consent(owner.cookie, tenant);
    const answer = await other.exchange(code, { code_verifier: app.verifier });
    assert.equal(answer.error, "invalid_grant");
    const { refresh_token: token } = await app.exchange(code);
    assert.equal((await other.refresh(token)).error, "invalid_grant");
    assert.equal((await app.refresh(token)).status, 200);
  });

  test("once a code, an access token or a refresh token has expired", async () => {
    const code = await app.consent(owner.cookie, tenant);
    await age(code, "code_expires_at = now()");
    assert.equal((await app.exchange(code)).error, "invalid_grant");
    const tokens = await connect();
    await service.database.query("update api_token set expires_at = now() where token_id = $1", [
      parseToken(tokens.access_token)?.tokenId,
    ]);
    assert.equal(await app.call(tokens.access_token), 401);
    const next = await app.refresh(tokens.refresh_token);
    assert.equal(await app.call(next.access_token), 200);
    await age(next.refresh_token, "refresh_expires_at = now()");
    assert.equal((await app.refresh(next.refresh_token)).error, "invalid_grant");
  });

  test("a year after the consent, however often the app refreshes", async () => {
    const tokens = await connect();
    const consented = (days: number): Promise<unknown> =>
      service.database.query(
        "update api_token set created_at = now() - make_interval(days => $2) where token_id = $1",
        [parseToken(tokens.access_token)?.tokenId, days],
      );
    await consented(360);
    const next = await app.refresh(tokens.refresh_token);
    assert.equal(await app.call(next.access_token), 200);
    const { rows } = await service.database.query<{ days: number }>(
      `select extract(epoch from g.refresh_expires_at - now())::float8 / 86400 as days
         from oauth_grant g where g.token_id = $1`,
      [parseToken(tokens.access_token)?.tokenId],
    );
    assert.equal(Math.round(rows[0]?.days ?? 0), 5, "of the year");
    await consented(365);
    assert.equal((await app.refresh(next.refresh_token)).error, "invalid_grant");
    assert.equal((await connect()).status, 200, "a new consent");
  });

  test("while the workspace moves, without using up the code or token", async () => {
    const one = await createTenant(service.database);
    const tokens = await connect(await createMember(service, [one]), one);
    await service.database.query("update workspace set moving_to = 'elsewhere' where shop_key = $1", [
      one.shopKey,
    ]);
    assert.equal((await app.refresh(tokens.refresh_token)).status, 503);
    assert.equal((await app.post("/oauth/revoke", { token: tokens.access_token })).status, 503);
    const guess = `rta_refresh_${one.tokenId}${"a".repeat(86)}`;
    assert.equal((await app.post("/oauth/revoke", { token: guess })).status, 200, "a guess learns nothing");
    await service.database.query("update workspace set moving_to = null where shop_key = $1", [one.shopKey]);
    assert.equal((await app.refresh(tokens.refresh_token)).status, 200);
  });

  test("in any format but that of the specification", async () => {
    for (const [type, body] of [
      ["application/json", JSON.stringify({ grant_type: "refresh_token" })],
      ["application/x-www-form-urlencoded", "grant_type=refresh_token&grant_type=authorization_code"],
    ] as const) {
      const response = await fetch(`${service.issuer}/oauth/token`, {
        method: "POST",
        headers: { "content-type": type },
        body,
      });
      assert.equal(((await response.json()) as TokenAnswer).error, "invalid_request");
    }
    assert.equal((await fetch(`${service.issuer}/oauth/token`)).status, 405);
  });
});

describe("consent", () => {
  test("is not requested for an invalid request, and the browser is not redirected", async () => {
    for (const [change, sentence] of [
      [{ client_id: "unknown" }, /client_id/u],
      [{ client_id: `${app.clientId.slice(0, -1)}${app.clientId.endsWith("A") ? "B" : "A"}` }, /client_id/u],
      [{ redirect_uri: "https://evil.example/callback" }, /redirect_uri/u],
      [{ redirect_uri: `${CALLBACK}/more` }, /redirect_uri/u],
      [{ redirect_uri: "http://127.0.0.1.evil.example:49152/callback" }, /redirect_uri/u],
      [{ redirect_uri: null }, /redirect_uri/u],
      [{ response_type: "token" }, /response_type/u],
      [{ code_challenge: null }, /PKCE/u],
      [{ code_challenge_method: "plain" }, /PKCE/u],
      [{ code_challenge_method: null }, /PKCE/u],
      [{ resource: "https://other.example/mcp" }, /resource/u],
      [{ resource: service.issuer }, /resource/u],
      [{ state: "x".repeat(3000) }, /too long/u],
    ] as const) {
      for (const cookie of ["", owner.cookie]) {
        const { status, location, text } = await app.ask(app.query(change), cookie);
        assert.deepEqual([status, location], [400, null], JSON.stringify(change));
        assert.match(text, sentence);
      }
      const sent = await app.decide(owner.cookie, {
        request: app.query(change),
        workspace: tenant.shopDomain,
      });
      assert.deepEqual([sent.status, sent.location], [400, ""], JSON.stringify(change));
    }
    const twice = await app.ask(`${app.query()}&redirect_uri=${encodeURIComponent("https://evil.example/")}`);
    assert.deepEqual([twice.status, twice.location], [400, null]);
    const grown = await app.ask(`${app.query({ state: null })}&state=${"~".repeat(700)}`, owner.cookie);
    assert.equal(grown.status, 400, "refused before a person consents: re-encoded, it would be too long");
  });

  test("needs a signed-in person with a recent confirmation; sign-in and confirmation redirect back to it", async () => {
    const { status, location, headers } = await app.ask(app.query());
    assert.deepEqual([status, location], [303, "/sign-in"]);
    const kept = headers.get("set-cookie")?.split(";")[0]?.split("=")[1] ?? "";
    assert.equal(Buffer.from(kept, "base64url").toString(), `/oauth/authorize?${app.query()}`);
    const stale = await createMember(service, [tenant]);
    await service.database.query(
      "update console_session set proved_at = now() - interval '11 minutes' where user_id = $1",
      [stale.userId],
    );
    const proof = `/confirm?next=${encodeURIComponent(`/oauth/authorize?${app.query()}`)}`;
    assert.equal((await app.ask(app.query(), stale.cookie)).location, proof);
    const sent = await app.decide(stale.cookie, { workspace: tenant.shopDomain });
    assert.deepEqual([sent.status, sent.location], [303, proof]);
    const gone = await app.decide("", { workspace: tenant.shopDomain });
    assert.equal(gone.location, "/sign-in");
    // The session ends while the person is asked to confirm.
    const at = { ...service, address: service.issuer };
    for (const ended of [
      await app.open(proof, ""),
      await postForm(at, "/confirm", { next: `/oauth/authorize?${app.query()}` }),
    ]) {
      assert.equal(ended.headers.get("location"), "/sign-in");
      assert.match(ended.headers.get("set-cookie") ?? "", new RegExp(`^returns-target=${kept};`, "u"));
    }
  });

  test("is refused to a viewer, who is told whom to ask and can return to the app", async () => {
    const viewer = await createMember(service, [tenant], "viewer");
    const { status, text } = await app.ask(app.query(), viewer.cookie);
    assert.equal(status, 200);
    assert.match(text, /You are a viewer: ask an owner or admin/u);
    assert.doesNotMatch(text, /Allow access/u);
    const sent = await app.decide(viewer.cookie, { workspace: tenant.shopDomain });
    assert.equal(sent.status, 403);
    assert.equal(sent.location, "");
  });

  test("is denied by a redirect without a code", async () => {
    const { status, location } = await app.decide(owner.cookie, { decision: "deny" });
    const { origin, searchParams } = new URL(location);
    assert.deepEqual([status, origin], [303, new URL(CALLBACK).origin]);
    assert.deepEqual(Object.fromEntries(searchParams), {
      error: "access_denied",
      iss: service.issuer,
      state: "of the app",
    });
  });

  test("cannot be given by another site's form or in a frame", async () => {
    for (const headers of [{ origin: "https://evil.example" }, { origin: "null" }, {}])
      for (const decision of ["allow", "deny"]) {
        const { status, location } = await app.decide(owner.cookie, { decision }, headers);
        assert.deepEqual([status, location], [403, ""]);
      }
    const { headers } = await app.ask(app.query(), owner.cookie);
    const policy = headers.get("content-security-policy") ?? "";
    assert.match(policy, /frame-ancestors 'none'/u);
    assert.match(policy, /form-action 'self' https: http: cursor: vscode: vscode-insiders: windsurf:;/u);
    const at = `/w/${tenant.shopDomain}/settings/tokens`;
    for (const [address, opener] of [
      [`${at}/connect`, "unsafe-none"],
      [at, "same-origin"],
    ] as const) {
      const page = await app.open(address, owner.cookie);
      assert.equal(page.headers.get("cross-origin-opener-policy"), opener);
      assert.match(page.headers.get("content-security-policy") ?? "", /form-action 'self';/u, address);
    }
  });
});
