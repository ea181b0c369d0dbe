import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { openPage, postForm, signInAs } from "./support/console-person.ts";
import { startBeside, startTestService, type TestService, type WireAnswer } from "./support/service.ts";
import {
  beginAt,
  claimsOf,
  comeBackTo,
  inviteAt,
  providerOptions,
  sentenceOf,
  sessionOf,
  startStubProvider,
} from "./support/stub-provider.ts";
import type { Claims, Started, StubProvider } from "./support/stub-provider.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { before, use } from "./support/use.ts";

/** Single sign-on at a provider that answers late, endlessly, or for an earlier sign-in; single-sign-on.pg.test.ts tests wrong answers. */

let provider: StubProvider;
let tenant: Tenant;
before(async () => {
  provider = await startStubProvider();
});
const service = use(async () => startTestService(await providerOptions(provider.issuer)));
before(async () => {
  tenant = await createTenant(service.database);
});
after(() => provider.stop());

const now = (): number => Math.floor(Date.now() / 1000);
const invite = (name: string, email: string): Promise<string> => inviteAt(service, tenant, { name, email });

/** The answer to a sign-in, or a confirmation, of an account. */
async function comeBack(started: Started, account: Claims): Promise<WireAnswer> {
  provider.next = { claims: claimsOf(provider.issuer, started, account) };
  return comeBackTo(service, provider.issuer, started);
}

const signIn = async (account: Claims): Promise<WireAnswer> => comeBack(await beginAt(service), account);

test("an answer of more than a megabyte is refused, and the rest is not read", async () => {
  await invite("Large", "large@acme.example");
  const account = { sub: "large", email: "large@acme.example" };
  assert.match(sentenceOf(await signIn({ ...account, more: "x".repeat(1_000_000) })), /is not valid/u);
  assert.equal((await signIn({ ...account, more: "x".repeat(100_000) })).status, 303);
});

test("a confirmation counts from the sign-in at the provider, not from its answer", async () => {
  await invite("Late answer", "late.answer@acme.example");
  const account = { sub: "late answer", email: "late.answer@acme.example" };
  const session = sessionOf(await signIn(account));
  const started = await beginAt(service, "/sign-in/provider", session, { next: "/me" });
  const signedInAt = now() - 20;
  assert.equal((await comeBack(started, { ...account, auth_time: signedInAt })).status, 303);
  const { rows } = await service.database.query<{ proved_at: Date }>(
    "select proved_at from console_session join console_user using (user_id) where name = 'Late answer'",
  );
  assert.deepEqual(
    rows.map(({ proved_at: at }) => at.getTime()),
    [signedInAt * 1000],
  );
});

test("a provider's redirect is not followed, and its text is not shown", async (context) => {
  const other = await startStubProvider();
  const { token_endpoint: own } = provider.metadata;
  const leading = createServer((_request, response) => {
    response.writeHead(307, { location: `${other.issuer}/token` }).end("<b>Go on</b>");
  });
  leading.listen(0, "127.0.0.1");
  await once(leading, "listening");
  provider.metadata["token_endpoint"] = `http://127.0.0.1:${(leading.address() as AddressInfo).port}/token`;
  const later = await startBeside(context, service, await providerOptions(provider.issuer));
  try {
    const started = await beginAt(later);
    provider.next = { claims: claimsOf(provider.issuer, started) };
    const refused = await comeBackTo(later, provider.issuer, started);
    assert.match(sentenceOf(refused), /is not valid/u);
    assert.deepEqual(other.asked, []);
    const told = { error: "<b>Pay</b> now", error_description: "<b>Pay</b> now", code: null };
    const again = await comeBackTo(later, provider.issuer, await beginAt(later), told);
    assert.doesNotMatch(again.text, /Pay/u);
  } finally {
    provider.metadata["token_endpoint"] = own;
    leading.close();
    other.stop();
  }
});

test("once another group makes operators, or none, its members are none, although their sessions go on", async (context) => {
  await invite("Group", "group@acme.example");
  const account = { sub: "group", email: "group@acme.example" };
  const own = await providerOptions(provider.issuer);
  for (const [what, options, status] of [
    ["the same group", own, 200],
    ["of the same provider with a slash", { ...own, OIDC_ISSUER: `${provider.issuer}/` }, 200],
    ["another group", { ...own, OIDC_OPERATOR_GROUP: "admins" }, 403],
    ["of another provider", { ...own, OIDC_ISSUER: "https://login.example" }, 403],
    ["none", {}, 403],
  ] as const) {
    const cookie = sessionOf(await signIn({ ...account, groups: ["ops"] }));
    const statusOf = async (server: TestService, path: string): Promise<number> =>
      (await openPage(server, path, cookie)).status;
    assert.equal(await statusOf(service, "/operator"), 200);
    const later = await startBeside(context, service, options);
    assert.deepEqual([await statusOf(later, "/operator"), await statusOf(later, "/me")], [status, 200], what);
    await later.stop();
  }
});

test("a sign-out at another provider than the one of the session takes no token there", async (context) => {
  await invite("Moved", "moved@acme.example");
  const other = await startStubProvider();
  context.after(() => other.stop());
  const later = await startBeside(context, service, await providerOptions(other.issuer));
  for (const [at, { issuer }, hasToken] of [
    [later, other, false],
    [service, provider, true],
  ] as const) {
    const cookie = sessionOf(await signIn({ sub: "moved", email: "moved@acme.example" }));
    const left = await postForm(at, "/sign-out", {}, { cookie });
    const url = new URL((left.headers.get("refresh") ?? "").split("url=")[1] ?? "");
    assert.equal(url.origin + url.pathname, `${issuer}/end`);
    assert.equal(url.searchParams.has("id_token_hint"), hasToken);
  }
});

const linkedSubjects = async (subject: string): Promise<number> =>
  (await service.database.query("select from provider_account where subject = $1", [subject])).rows.length;

test("linking needs a new sign-in at the provider, if it states the time, however the browser was sent there", async () => {
  const cookie = await signInAs(service, { name: "Lingering" });
  const link = async (account: Claims): Promise<WireAnswer> =>
    comeBack(await beginAt(service, "/sign-in/provider", cookie, { next: "/me" }), account);
  const old = await link({ sub: "lingering", auth_time: now() - 60 });
  assert.equal(old.status, 403);
  assert.match(sentenceOf(old), /did not sign in again/u);
  assert.equal(await linkedSubjects("lingering"), 0);
  const untimed = await link({ sub: "lingering", auth_time: undefined });
  assert.equal(untimed.headers.get("location"), "/me");
  assert.equal(await linkedSubjects("lingering"), 1);
});

test("an account that was unlinked during a confirmation is not linked again without a new one", async () => {
  const cookie = await signInAs(service, { name: "Unlinked" });
  const begin = (next: string): Promise<Started> => beginAt(service, "/sign-in/provider", cookie, { next });
  await comeBack(await begin("/me"), { sub: "unlinked" });
  const started = await begin("/operator");
  await postForm(service, "/me/account/unlink", {}, { cookie });
  await service.database.query(
    "update console_session set proved_at = now() - interval '601 s' where user_id = (select user_id from console_user where name = 'Unlinked')",
  );
  const refused = await comeBack(started, { sub: "unlinked" });
  assert.deepEqual([refused.status, sessionOf(refused)], [403, ""]);
  assert.equal(await linkedSubjects("unlinked"), 0);
});
