import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test, type TestContext } from "node:test";
import { runAction } from "../src/actions/action.ts";
import { OPERATOR } from "../src/actions/actor.ts";
import { textInput } from "../src/actions/field.ts";
import { linkUser } from "../src/actions/people/actions.ts";
import { openPage, postForm, signInAs } from "./support/console-person.ts";
import {
  beginAt,
  claimsOf,
  CLIENT,
  comeBackTo,
  inviteAt,
  OTHER_KEYS,
  providerOptions,
  sentenceOf,
  sessionOf,
  startStubProvider,
} from "./support/stub-provider.ts";
import type { Answer, Claims, Started, StubProvider } from "./support/stub-provider.ts";
import { startBeside, startTestService, type TestService, type WireAnswer } from "./support/service.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";

/** Single sign-on over HTTP, against a provider with answers set by the test (decision 0075). */

let provider: StubProvider;
let issuer = "";
let service: TestService;
let tenant: Tenant;

before(async () => {
  provider = await startStubProvider();
  ({ issuer } = provider);
  service = await startTestService(await providerOptions(issuer));
  tenant = await createTenant(service.database);
});
after(async () => {
  await service.stop();
  provider.stop();
});

const begin = (path?: string, cookie?: string, fields?: Record<string, string>): Promise<Started> =>
  beginAt(service, path, cookie, fields);
const comeBack = (started: Started, change?: Record<string, string | null>): Promise<WireAnswer> =>
  comeBackTo(service, issuer, started, change);
const claimsFor = (started: Started, change?: Claims): Claims => claimsOf(issuer, started, change);
const now = (): number => Math.floor(Date.now() / 1000);

/** A whole sign-in with an account. */
async function signIn(account: Claims): Promise<WireAnswer> {
  const started = await begin();
  provider.next = { claims: claimsFor(started, account) };
  return comeBack(started);
}

const invite = (name: string, email: string, workspace = tenant): Promise<string> =>
  inviteAt(service, workspace, { name, email });

const get = (path: string, cookie: string): Promise<WireAnswer> => openPage(service, path, cookie);

test("an invitation with a verified address links the account at its first sign-in; afterwards only the account counts", async () => {
  const id = await invite("Ada", "Ada@Acme.example");
  const account = { sub: "ada", email: "ada@acme.example" };
  const first = await signIn(account);
  assert.deepEqual([first.status, first.headers.get("location")], [303, "/"]);
  assert.equal((await get(`/w/${tenant.shopDomain}`, sessionOf(first))).status, 200);
  const { rows } = await service.database.query(
    "select subject, issuer, email from provider_account where user_id = $1",
    [id],
  );
  assert.deepEqual(rows, [{ subject: "ada", issuer, email: "ada@acme.example" }]);
  const again = await signIn({ ...account, email: "ada.lovelace@acme.example", email_verified: false });
  assert.equal(again.status, 303, "the address has changed, the account has not");
  assert.match((await get("/me", sessionOf(again))).text, /ada\.lovelace@acme\.example/u);
  const request = provider.asked.at(-1);
  assert.equal(request?.form.get("client_secret"), null);
  const basic = Buffer.from(request?.authorization.split(" ")[1] ?? "", "base64").toString();
  assert.equal(decodeURIComponent(basic.split(":")[1]?.replaceAll("+", " ") ?? ""), CLIENT.secret);
  const { rows: events } = await service.database.query(
    "select action, detail ->> 'way' as way from identity_event where actor = $1 order by happened_at, action",
    [`user:${id}`],
  );
  assert.deepEqual(events, [
    { action: "account.link", way: null },
    { action: "session.begin", way: "provider" },
    { action: "session.begin", way: "provider" },
  ]);
});

test("the request to the provider has code flow, PKCE, state, nonce and the registered address", async () => {
  const { url, state, nonce } = await begin();
  const { searchParams: query } = url;
  assert.equal(url.origin + url.pathname, `${issuer}/authorize`);
  assert.deepEqual(
    ["response_type", "client_id", "scope", "code_challenge_method", "redirect_uri", "prompt", "max_age"].map(
      (name) => query.get(name),
    ),
    [
      "code",
      CLIENT.id,
      "openid email",
      "S256",
      `http://localhost:${new URL(service.address).port}/sign-in/provider/callback`,
      null,
      null,
    ],
  );
  assert.ok(state.length >= 43 && nonce.length >= 43 && state !== nonce);
  const started = await begin();
  provider.next = { claims: claimsFor(started) };
  await comeBack(started);
  const challenge = createHash("sha256")
    .update(provider.asked.at(-1)?.form.get("code_verifier") ?? "")
    .digest("base64url");
  assert.equal(challenge, started.url.searchParams.get("code_challenge"));
});

const REFUSED: Record<
  string,
  {
    answer?: (started: Started) => Answer;
    change?: Record<string, string | null>;
    isOther?: true;
    sentence: RegExp;
    /** The cause, for the operator. */
    logged?: RegExp;
  }
> = {
  "an account that nobody invited": { sentence: /no open invitation is for its address/u },
  "an address that is not verified": {
    answer: (started) => ({
      claims: claimsFor(started, { email: "open@acme.example", email_verified: "true" }),
    }),
    sentence: /has not verified its address/u,
  },
  "no address": {
    answer: (started) => ({ claims: claimsFor(started, { email: undefined }) }),
    sentence: /has not verified its address/u,
  },
  "an address of letters that look like another": {
    answer: (started) => ({ claims: claimsFor(started, { email: "open@ac\u{1d5c6}e.example" }) }),
    sentence: /has not verified its address/u,
  },
  "another nonce": {
    answer: (started) => ({ claims: claimsFor(started, { nonce: "other" }) }),
    sentence: /is not valid/u,
    logged: /\\"nonce\\"/u,
  },
  "no nonce": {
    answer: (started) => ({ claims: claimsFor(started, { nonce: undefined }) }),
    sentence: /is not valid/u,
    logged: /\\"nonce\\"/u,
  },
  "another audience": {
    answer: (started) => ({ claims: claimsFor(started, { aud: "other" }) }),
    sentence: /is not valid/u,
    logged: /\\"aud\\"/u,
  },
  "another issuer in the token": {
    answer: (started) => ({ claims: claimsFor(started, { iss: "https://evil.example" }) }),
    sentence: /is not valid/u,
    logged: /\\"iss\\"/u,
  },
  "another issuer in the answer (mix-up)": {
    change: { iss: "https://evil.example" },
    sentence: /is not valid/u,
    logged: /\\"iss\\"/u,
  },
  "no issuer in the answer": { change: { iss: null }, sentence: /is not valid/u, logged: /\\"iss\\"/u },
  "an expired token": {
    answer: (started) => ({ claims: claimsFor(started, { iat: now() - 400, exp: now() - 31 }) }),
    sentence: /is not valid/u,
    logged: /\\"exp\\"/u,
  },
  "a token of the future": {
    answer: (started) => ({ claims: claimsFor(started, { nbf: now() + 60 }) }),
    sentence: /is not valid/u,
    logged: /\\"nbf\\"/u,
  },
  "no signature": {
    answer: (started) => ({ claims: claimsFor(started), alg: "none" }),
    sentence: /is not valid/u,
    logged: /\\"alg\\"/u,
  },
  "another algorithm": {
    answer: (started) => ({ claims: claimsFor(started), alg: "RS384" }),
    sentence: /is not valid/u,
    logged: /\\"alg\\"/u,
  },
  "another key": {
    answer: (started) => ({ claims: claimsFor(started), key: OTHER_KEYS }),
    sentence: /is not valid/u,
    logged: /JWT signature verification failed/u,
  },
  "no token": { answer: () => ({ hasToken: false }), sentence: /is not valid/u },
  "another state": { change: { state: "other" }, sentence: /not for a sign-in that this browser began/u },
  "no cookie": { isOther: true, sentence: /not for a sign-in that this browser began/u },
  "a person who says no": {
    change: { code: null, error: "access_denied" },
    sentence: /did not sign you in/u,
  },
  "an error of the provider": { change: { code: null, error: "server_error" }, sentence: /does not answer/u },
  "a wrong secret": {
    answer: () => ({ error: [401, "invalid_client"] }),
    sentence: /client id or secret is wrong/u,
  },
  "a refused code": {
    answer: () => ({ error: [400, "invalid_grant"] }),
    sentence: /is not valid/u,
    logged: /"error":"invalid_grant"/u,
  },
};

for (const [name, { answer, change, isOther, sentence, logged }] of Object.entries(REFUSED)) {
  test(`refused in one sentence: ${name}`, async () => {
    const started = await begin();
    provider.next = answer?.(started) ?? { claims: claimsFor(started) };
    const response = await comeBack({ ...started, ...(isOther ? { cookie: "" } : {}) }, change);
    assert.equal(response.status, 403);
    assert.match(response.headers.getSetCookie().join(), /returns-provider=; .*Max-Age=0/u);
    assert.equal(sessionOf(response), "");
    assert.match(sentenceOf(response), sentence);
    const line = service.logs.findLast((each) => each.includes('"problem":')) ?? "";
    if (logged !== undefined) assert.match(line, logged);
  });
}

test("a subject that the database would change or confuse with another is refused", async () => {
  for (const sub of ["a\0", "\ud800", "x".repeat(256)])
    assert.match(sentenceOf(await signIn({ sub })), /is not valid/u);
});

test("a clock that is 25 seconds off is accepted", async () => {
  await invite("Skew", "skew@acme.example");
  const late = { iat: now() - 325, exp: now() - 25, auth_time: now() + 25 };
  assert.equal((await signIn({ sub: "skew", email: "skew@acme.example", ...late })).status, 303);
});

test("a code works once, and the browser that began the sign-in has one try", async () => {
  await invite("Twice", "twice@acme.example");
  const account = { sub: "twice", email: "twice@acme.example" };
  const started = await begin();
  provider.next = { claims: claimsFor(started, account) };
  assert.equal((await comeBack(started, { code: "replayed" })).status, 303);
  const replayed = await comeBack(started, { code: "replayed" });
  assert.match(sentenceOf(replayed), /is not valid/u);
});

test("another browser, another sign-in of the same browser, and a changed cookie are refused", async () => {
  const [one, other] = [await begin(), await begin()];
  provider.next = { claims: claimsFor(one) };
  const changed = one.cookie.replace(/=./u, (first) => (first === "=A" ? "=B" : "=A"));
  for (const cookie of [other.cookie, one.cookie.slice(0, -4), changed]) {
    assert.match(sentenceOf(await comeBack({ ...one, cookie })), /this browser began/u);
  }
});

test("claims may come from the UserInfo endpoint, if for the same subject", async () => {
  await invite("Info", "info@acme.example");
  const token = { sub: "info", email: undefined, email_verified: undefined };
  const other = await begin();
  provider.next = {
    claims: claimsFor(other, token),
    userInfo: { sub: "other", email: "info@acme.example", email_verified: true },
  };
  assert.match(sentenceOf(await comeBack(other)), /is not valid/u);
  const started = await begin();
  provider.next = {
    claims: claimsFor(started, token),
    userInfo: { sub: "info", email: "info@acme.example", email_verified: true },
  };
  assert.equal((await comeBack(started)).status, 303);
});

test("an invitation for two people, one that is used or canceled, and somebody disabled or deleted, sign nobody in", async () => {
  const other = await createTenant(service.database);
  const enter = async (account: Claims) => assert.equal((await signIn(account)).status, 303);
  const change = (id: string, text: string) => service.database.query(`${text} where user_id = $1`, [id]);
  const cases: [name: string, end: (id: string, account: Claims) => Promise<unknown>, sentence: RegExp][] = [
    ["both", () => invite("both", "both@acme.example", other), /Several invitations/u],
    ["used", () => enter({ sub: "first", email: "used@acme.example" }), /no open invitation/u],
    ["gone", (id) => change(id, "delete from console_user"), /no open invitation/u],
    ["late", (id) => change(id, "update console_link set expires_at = now()"), /no open invitation/u],
    ["promoted", (id) => change(id, "update workspace_member set role = 'owner'"), /rights .* have changed/u],
    [
      "disabled",
      async (id, account) => {
        await enter(account);
        await change(id, "update console_user set disabled_at = now()");
      },
      /can no longer sign in/u,
    ],
    [
      "deleted",
      async (id, account) => {
        await enter(account);
        await change(id, "delete from console_user");
      },
      /not linked to anybody/u,
    ],
  ];
  for (const [name, end, sentence] of cases) {
    const account = { sub: name, email: `${name}@acme.example` };
    await end(await invite(name, account.email), account);
    assert.match(sentenceOf(await signIn(account)), sentence, name);
  }
});

async function linkAccount(cookie: string, account: Claims): Promise<WireAnswer> {
  const started = await begin("/sign-in/provider", cookie, { next: "/me" });
  provider.next = { claims: claimsFor(started, account) };
  return comeBack(started);
}

test("a signed-in person links and unlinks an account; an account has one person, and a person one account", async () => {
  const cookie = await signInAs(service, { name: "Linker" });
  const account = { sub: "linker", email: "linker@acme.example" };
  assert.equal((await linkAccount(cookie, account)).headers.get("location"), "/me");
  assert.equal((await signIn(account)).status, 303);
  assert.match(
    sentenceOf(await linkAccount(cookie, { sub: "another" })),
    /not the account that you have linked/u,
  );
  const second = await signInAs(service, { name: "Second linker" });
  assert.match(sentenceOf(await linkAccount(second, account)), /Another person has this account/u);
  assert.equal((await linkAccount(second, { sub: "second linker" })).status, 303);
  assert.match(
    sentenceOf(await linkAccount(second, account)),
    /not the account that you have linked/u,
    "the account of another person confirms nobody else",
  );

  const { rows } = await service.database.query(
    "select from provider_account where subject in ('another', 'linker')",
  );
  assert.equal(rows.length, 1);
  const unlinked = await postForm(service, "/me/account/unlink", {}, { cookie });
  assert.equal(unlinked.headers.get("location"), "/me");
  assert.match(sentenceOf(await signIn(account)), /not linked to anybody/u);
});

test("linking needs a recent confirmation, and must be completed by the person who began it", async () => {
  const cookie = await signInAs(service, { name: "Stale" });
  const started = await begin("/sign-in/provider", cookie, { next: "/me" });
  const age =
    "update console_session set proved_at = now() - interval '601 s' where user_id = (select user_id from console_user where name = 'Stale')";
  await service.database.query(age);
  provider.next = { claims: claimsFor(started, { sub: "stale" }) };
  const refused = await comeBack(started);
  assert.deepEqual(
    [refused.status, sentenceOf(refused)],
    [403, "Confirm your identity: this needs a sign-in within the last ten minutes."],
  );
  const { rows } = await service.database.query("select from provider_account where subject = 'stale'");
  assert.deepEqual(rows, []);
  const early = await postForm(service, "/sign-in/provider", { next: "/me" }, { cookie });
  assert.equal(early.headers.get("location"), "/confirm?next=%2Fme");

  const [one, other] = [await signInAs(service, { name: "One" }), await signInAs(service, { name: "Other" })];
  const begun = await begin("/sign-in/provider", one, { next: "/me" });
  provider.next = { claims: claimsFor(begun, { sub: "stolen" }) };
  const swapped = await comeBack({ ...begun, cookie: begun.cookie.replace(one, other) });
  assert.match(sentenceOf(swapped), /this browser began/u);
});

test("a confirmation needs a new sign-in at the provider, with the person's own account", async () => {
  const cookie = await signInAs(service, { name: "Confirmer" });
  await linkAccount(cookie, { sub: "confirmer" });
  const confirmed = async (claims: Claims): Promise<WireAnswer> => {
    const started = await begin("/sign-in/provider", cookie, { next: "/me" });
    assert.deepEqual(
      [started.url.searchParams.get("prompt"), started.url.searchParams.get("max_age")],
      ["login", "0"],
    );
    provider.next = { claims: claimsFor(started, claims) };
    return comeBack(started);
  };
  const refusals: [Claims, RegExp][] = [
    [{ sub: "confirmer", auth_time: now() - 60 }, /did not sign in again/u],
    [{ sub: "confirmer", auth_time: undefined }, /did not say when/u],
    [{ sub: "linker" }, /not the account that you have linked/u],
  ];
  for (const [claims, sentence] of refusals) {
    const response = await confirmed(claims);
    assert.deepEqual([response.status, sessionOf(response)], [403, ""]);
    assert.match(sentenceOf(response), sentence);
  }
  const long = await begin("/sign-in/provider", cookie, { next: `/w/${"x".repeat(12_000)}` });
  assert.ok(long.cookie.length < 4096);
  const response = await confirmed({ sub: "confirmer" });
  assert.equal(response.headers.get("location"), "/me");
  assert.equal((await get("/me", cookie)).status, 303, "the session has a new id");
  assert.doesNotMatch((await get("/me", sessionOf(response))).text, /Confirm your identity/u);
});

test("an old session at the provider, or one of unknown age, does not count as a confirmation", async () => {
  await invite("Old", "old@acme.example");
  const account = { sub: "old", email: "old@acme.example" };
  for (const [authTime, isFresh] of [
    [now(), true],
    [now() - 601, false],
    [undefined, false],
    [now() * 1000, false],
  ] as const) {
    const session = sessionOf(await signIn({ ...account, auth_time: authTime }));
    const page = (await get("/me", session)).text;
    assert.equal(!page.includes("Confirm your identity"), isFresh, String(authTime));
  }
});

test("membership in the operators' group makes only the session an operator's", async () => {
  const id = await invite("Group", "group@acme.example");
  const account = { sub: "group", email: "group@acme.example" };
  const isOperator = async (groups: unknown): Promise<boolean> => {
    const session = sessionOf(await signIn({ ...account, groups }));
    return (await get("/w", session)).text.includes("The shop’s domain");
  };
  assert.deepEqual(
    [
      await isOperator(["ops"]),
      await isOperator(["dev"]),
      await isOperator("ops"),
      await isOperator(undefined),
    ],
    [true, false, false, false],
  );
  const { rows } = await service.database.query("select is_operator from console_user where user_id = $1", [
    id,
  ]);
  assert.deepEqual(rows, [{ is_operator: false }]);
});

test("a person who left the group is no operator after a confirmation, and a confirmation makes nobody an operator", async () => {
  await invite("Left", "left@acme.example");
  const account = { sub: "left", email: "left@acme.example" };
  const confirm = async (session: string, groups: string[]): Promise<string> => {
    const started = await begin("/sign-in/provider", session, { next: "/operator" });
    provider.next = { claims: claimsFor(started, { ...account, groups }) };
    return sessionOf(await comeBack(started));
  };
  const statusOf = async (session: string): Promise<number> => (await get("/operator", session)).status;
  const first = sessionOf(await signIn({ ...account, groups: ["ops"] }));
  const stays = await confirm(first, ["ops"]);
  const left = await confirm(stays, ["dev"]);
  const back = await confirm(left, ["ops"]);
  assert.deepEqual(
    [await statusOf(stays), await statusOf(left), await statusOf(back)],
    [303, 303, 403],
    "the first two have new ids",
  );
  const again = sessionOf(await signIn({ ...account, groups: ["ops"] }));
  assert.equal(await statusOf(again), 200);
  assert.equal(await statusOf(await confirm(again, ["ops"])), 200);
});

test("a recovery link unlinks the account; an operator's link may name the address of an existing person", async () => {
  const cookie = await signInAs(service, { name: "Recovered" });
  await linkAccount(cookie, { sub: "recovered" });
  const { database } = service.installation;
  const { rows } = await service.database.query<{ user_id: string }>(
    "select user_id from console_user where name = 'Recovered'",
  );
  const person = rows[0]?.user_id ?? "";
  const make = (input: Record<string, string>) =>
    runAction(
      linkUser,
      { database, actor: OPERATOR, now: new Date(), consoleOrigin: () => service.address },
      textInput({ person, ...input }),
    );
  await make({ email: "mistaken@acme.example" });
  const { result } = await make({ recover: "yes" });
  await postForm(service, "/enter", { secret: result.link.reveal().split("#")[1] ?? "" });
  assert.match(sentenceOf(await signIn({ sub: "recovered" })), /not linked to anybody/u);
  assert.match(
    sentenceOf(await signIn({ sub: "mistaken", email: "mistaken@acme.example" })),
    /no open invitation/u,
    "a link that was sent to a wrong address",
  );
  await assert.rejects(make({ recover: "yes", email: "r@acme.example" }), /cannot have an address/u);
  // The second link follows a change of rights, after which the first one no longer works.
  for (const { shopDomain } of [tenant, await createTenant(service.database)])
    await make({ email: "r@acme.example", workspace: shopDomain });
  assert.equal((await signIn({ sub: "recovered", email: "r@acme.example" })).status, 303);
});

test("signing out of a session that began at the provider also redirects to the provider's sign-out", async () => {
  await invite("Leaver", "leaver@acme.example");
  const session = sessionOf(await signIn({ sub: "leaver", email: "leaver@acme.example" }));
  const left = await postForm(service, "/sign-out", {}, { cookie: session });
  const url = new URL((left.headers.get("refresh") ?? "").split("url=")[1] ?? "");
  assert.equal(url.origin + url.pathname, `${issuer}/end`);
  assert.match(url.searchParams.get("id_token_hint") ?? "", /^ey/u);
  assert.equal(
    url.searchParams.get("post_logout_redirect_uri"),
    `http://localhost:${new URL(service.address).port}/sign-in`,
  );
  assert.equal((await get("/me", session)).status, 303);
  const byLink = await postForm(
    service,
    "/sign-out",
    {},
    { cookie: await signInAs(service, { name: "By link" }) },
  );
  assert.equal(byLink.headers.get("location"), "/sign-in");
});

/** Runs a test on another server of the database, whose provider has other metadata or is named otherwise. */
async function elsewhere(
  context: TestContext,
  { named, ...change }: Claims & { named?: string },
  act: () => Promise<void>,
): Promise<void> {
  const [own, first] = [provider.metadata, service];
  provider.metadata = { ...own, ...change };
  try {
    service = await startBeside(context, first, await providerOptions(named ?? issuer));
    await act();
  } finally {
    await service.stop();
    provider.metadata = own;
    service = first;
  }
}

test("a service starts while its provider is down, says so at the sign-in, and shows its page without a request to it", async (context) => {
  provider.isDown = true;
  await elsewhere(context, {}, async () => {
    assert.match((await get("/sign-in", "")).text, /Sign in with Acme/u);
    const { status, text } = await postForm(service, "/sign-in/provider", {});
    assert.equal(status, 403);
    assert.match(text, /<h1>Single sign-on did not work<\/h1>/u);
    assert.match(text, /The identity provider does not answer\. Try again in a minute/u);
  }).finally(() => (provider.isDown = false));
  await begin();
});

test("the account of an issuer that the option names with another slash is shown, confirms and is unlinked", async (context) => {
  await elsewhere(context, { named: `${issuer}/` }, async () => {
    const cookie = await signInAs(service, { name: "Slash" });
    assert.equal((await linkAccount(cookie, { sub: "slash" })).headers.get("location"), "/me");
    assert.match((await get("/me", cookie)).text, /Linked at Acme/u);
    assert.match((await get("/confirm?next=%2Fme", cookie)).text, /Confirm with Acme/u);
    await postForm(service, "/me/account/unlink", {}, { cookie });
    assert.match(sentenceOf(await signIn({ sub: "slash" })), /not linked to anybody/u);
  });
});

test("a provider that accepts the secret only in the form gets it there", async (context) => {
  await elsewhere(context, { token_endpoint_auth_methods_supported: ["client_secret_post"] }, async () => {
    const started = await begin();
    provider.next = { claims: claimsFor(started) };
    assert.match(sentenceOf(await comeBack(started)), /no open invitation/u);
    const { authorization, form } = provider.asked.at(-1) ?? {};
    assert.deepEqual([authorization, form?.get("client_secret")], ["", CLIENT.secret]);
  });
});

test("metadata for many tenants, of another issuer, or without an address for browsers is refused", async (context) => {
  for (const change of [
    { issuer: `${issuer}/{tenantid}` },
    { issuer: "https://evil.example" },
    { authorization_endpoint: "javascript:alert(1)" },
    { end_session_endpoint: "data:text/html,x" },
  ]) {
    await elsewhere(context, change, async () => {
      const refused = sentenceOf(await postForm(service, "/sign-in/provider", {}));
      assert.match(refused, /The identity provider does not answer/u, JSON.stringify(change));
    });
  }
});
