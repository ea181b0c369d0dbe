import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { cookieOf, makeUserLink, openPage, postForm, signInAs } from "./support/console-person.ts";
import { send, startTestService } from "./support/service.ts";
import { challengeOf, createPasskey, onLocalhost, PRESENT } from "./support/software-passkey.ts";
import { createTenant } from "./support/tenants.ts";
import { use } from "./support/use.ts";

const service = use(startTestService);

const get = (path: string, cookie?: string) => openPage(service, path, cookie);

const isSignedIn = async (cookie: string): Promise<boolean> => (await get("/w", cookie)).status === 200;

async function sessionsOf(name: string): Promise<number> {
  const { rows } = await service.database.query<{ count: number }>(
    `select count(*)::integer as count from console_session join console_user using (user_id) where name = $1`,
    [name],
  );
  return rows[0]?.count ?? 0;
}

test("a link signs in, and / redirects to the person's only workspace", async () => {
  const { shopDomain } = await createTenant(service.database);
  const { secret } = await makeUserLink(service, { name: "Ada", shopDomain });
  const entered = await postForm(service, "/enter", { secret });
  assert.deepEqual([entered.status, entered.headers.get("location")], [303, "/"]);
  // The second cookie holds the offer to create a passkey, which the next page shows.
  const [session = "", offer = ""] = entered.headers.getSetCookie();
  assert.match(offer, /^returns-done=[\w-]+; Path=\/; Max-Age=60; HttpOnly; SameSite=Lax$/u);
  assert.match(session, /^returns=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/u);
  const home = await get("/", cookieOf(entered));
  assert.deepEqual([home.status, home.headers.get("location")], [303, `/w/${shopDomain}`]);
  const { rows } = await service.database.query(
    "select action from identity_event where actor like 'user:%'",
  );
  assert.deepEqual(rows, [{ action: "session.begin" }]);
});

test("a person who was sent from a page to the sign-in returns to it afterwards, once", async () => {
  const { shopDomain } = await createTenant(service.database);
  const page = `/w/${shopDomain}/report?window=90d&sku=A%26B`;
  const stale = `returns=${"A".repeat(43)}`;
  for (const cookie of [undefined, stale]) {
    const away = await get(page, cookie);
    assert.deepEqual([away.status, away.headers.get("location")], [303, "/sign-in"]);
    const { secret } = await makeUserLink(service, { name: "Deep", shopDomain });
    const entered = await postForm(service, "/enter", { secret }, { cookie: cookieOf(away) });
    assert.deepEqual([entered.status, entered.headers.get("location")], [303, page]);
    const [session = "", cleared = ""] = entered.headers.getSetCookie();
    assert.match(session, /^returns=/u);
    assert.match(cleared, /^returns-target=; Path=\/; Max-Age=0; /u);
  }
});

test("only hashes are stored, and a session's secret differs from its link's", async () => {
  const { secret } = await makeUserLink(service, { name: "Hashed" });
  const cookie = cookieOf(await postForm(service, "/enter", { secret }));
  const session = cookie.slice("returns=".length);
  assert.notEqual(session, secret);
  const hashOf = (text: string): Buffer => createHash("sha256").update(text).digest();
  const { rows } = await service.database.query<{ hash: Buffer }>(
    "select link_hash as hash from console_link union all select session_hash from console_session",
  );
  const hashes = new Set(rows.map(({ hash }) => hash.toString("hex")));
  assert.ok(hashes.has(hashOf(secret).toString("hex")));
  assert.ok(hashes.has(hashOf(session).toString("hex")));
});

test("a used link is refused", async () => {
  const { secret } = await makeUserLink(service, { name: "Replay" });
  assert.equal((await postForm(service, "/enter", { secret })).status, 303);
  const again = await postForm(service, "/enter", { secret });
  assert.equal(again.status, 403);
  assert.equal(again.headers.get("set-cookie"), null);
  assert.match(again.text, /This link has been used already; it works once\./u);
});

test("an expired link and an unknown one are refused", async () => {
  const { secret } = await makeUserLink(service, { name: "Late", now: new Date(Date.now() - 600_001) });
  const late = await postForm(service, "/enter", { secret });
  assert.equal(late.status, 403);
  assert.match(late.text, /This link has expired\./u);
  for (const unknown of ["", "x", "A".repeat(43)]) {
    const response = await postForm(service, "/enter", { secret: unknown });
    assert.equal(response.status, 403);
    assert.match(
      response.text,
      /This link is not valid: it was withdrawn, has expired, or is not complete\./u,
    );
  }
});

test("signing in gives a browser a new id, and ends the session it had", async () => {
  const older = await signInAs(service, { name: "Fixed" });
  const { secret } = await makeUserLink(service, { name: "Fixed" });
  const newer = cookieOf(await postForm(service, "/enter", { secret }, { cookie: older }));
  assert.notEqual(newer, older);
  assert.equal(await isSignedIn(newer), true);
  assert.equal(await isSignedIn(older), false);
  const planted = `returns=${"A".repeat(43)}`;
  const { secret: another } = await makeUserLink(service, { name: "Fixed" });
  assert.notEqual(
    cookieOf(await postForm(service, "/enter", { secret: another }, { cookie: planted })),
    planted,
  );
  assert.equal(await isSignedIn(planted), false);
});

test("a copied cookie is useless after the sign-out", async () => {
  const cookie = await signInAs(service, { name: "Robbed" });
  const response = await postForm(service, "/sign-out", {}, { cookie });
  assert.deepEqual([response.status, response.headers.get("location")], [303, "/sign-in"]);
  assert.equal(response.headers.get("clear-site-data"), '"cache", "storage"');
  assert.match(response.headers.get("set-cookie") ?? "", /^returns=; Path=\/; Max-Age=0; /u);
  assert.equal(await isSignedIn(cookie), false);
  assert.equal(await sessionsOf("Robbed"), 0);
});

const signInBy = (credential: string) => postForm(service, "/sign-in", { credential }, onLocalhost(service));

test("what is refused of a passkey's answers, and not logged", async () => {
  const { user_id: userId } = await makeUserLink(service, { name: "Perseus" });
  const answerOf = await createPasskey(service, userId);
  const challenge = await challengeOf(service);
  const credential = answerOf(challenge, { counter: 7 });
  const entered = await signInBy(credential);
  assert.equal(entered.status, 303);
  const toConfirm = await challengeOf(service, { cookie: cookieOf(entered) }, "/confirm/options");
  const answer = async (change: Parameters<typeof answerOf>[1]) =>
    answerOf(await challengeOf(service), { counter: 8, ...change });
  const late = /That took too long, or was sent twice\./u;
  const refused: [what: string, credential: string, reason: string, sentence: RegExp][] = [
    ["sent twice", credential, "challenge", late],
    ["to another question", answerOf(toConfirm, { counter: 8 }), "challenge", late],
    ["to a question of nobody", answerOf("A".repeat(43), { counter: 8 }), "challenge", late],
    [
      "given to another origin, below ours",
      await answer({ origin: "http://evil.localhost" }),
      "rejected",
      /created for another address/u,
    ],
    [
      "without fingerprint, face or PIN",
      await answer({ flags: PRESENT }),
      "unverified",
      /must ask for a fingerprint/u,
    ],
    ["counted less than before", await answer({ counter: 6 }), "counter", /may have been copied/u],
    ["of another person", await answer({ userHandle: "AAAA" }), "stranger", /is not registered here/u],
  ];
  const log = service.logs.length;
  for (const [what, given, reason, sentence] of refused) {
    const { status, text } = await signInBy(given);
    assert.equal(status, 403, what);
    assert.match(text, sentence, what);
    assert.ok(
      service.logs.slice(log).some((line) => line.includes(`passkey: ${reason}`)),
      what,
    );
  }
  const { rows } = await service.database.query<{ reason: string }>(
    "select detail->>'reason' as reason from identity_event where action = 'session.refuse' and detail->>'user_id' = $1",
    [userId],
  );
  for (const reason of ["rejected", "unverified", "counter"])
    assert.equal(rows.filter((row) => row.reason === reason).length, 1, reason);
  const { id } = JSON.parse(credential) as { id: string };
  for (const text of [challenge, id, "Perseus"]) assert.ok(!service.logs.join("").includes(text), text);
});

test("a disabled person cannot sign in, and their sessions end at once", async () => {
  const cookie = await signInAs(service, { name: "Disabled" });
  const { secret, user_id: userId } = await makeUserLink(service, { name: "Disabled" });
  const answerOf = await createPasskey(service, userId);
  assert.equal(await isSignedIn(cookie), true);
  await service.database.query("update console_user set disabled_at = now() where name = 'Disabled'");
  assert.equal(await isSignedIn(cookie), false);
  for (const refused of [
    await postForm(service, "/enter", { secret }),
    await signInBy(answerOf(await challengeOf(service))),
  ]) {
    assert.equal(refused.status, 403);
    assert.match(refused.text, /can no longer sign in/u);
  }
  await assert.rejects(makeUserLink(service, { name: "Disabled" }), /is disabled/u);
});

test("a session opens no endpoint of the API, and a token no page of the console", async () => {
  const tenant = await createTenant(service.database);
  const cookie = await signInAs(service, { name: "Both", shopDomain: tenant.shopDomain });
  const api = await service.call("/api/v1/alerts", { headers: { cookie } });
  assert.equal(api.status, 401);
  const asToken = cookie.slice("returns=".length);
  assert.equal((await service.call("/api/v1/alerts", { token: asToken })).status, 401);
  const headers = { authorization: `Bearer ${tenant.token}`, cookie: `returns=${tenant.token}` };
  const page = await send(`${service.address}/w`, { headers });
  assert.deepEqual([page.status, page.headers.get("location")], [303, "/sign-in"]);
});
