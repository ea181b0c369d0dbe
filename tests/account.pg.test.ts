import assert from "node:assert/strict";
import { test } from "node:test";
import { cookieOf, makeUserLink, openPage, postForm, signInAs } from "./support/console-person.ts";
import { startTestService } from "./support/service.ts";
import { createPasskey } from "./support/software-passkey.ts";
import { createTenant } from "./support/tenants.ts";
import { use } from "./support/use.ts";

/** The page of the own account, and confirmations of identity, over HTTP on this machine without a browser. */

const service = use(startTestService);

const WRITES = [
  "/me/name",
  "/me/passkeys",
  "/me/passkeys/remove",
  "/me/sessions/end",
  "/me/sessions/end-others",
];
const POSTS = [
  ...WRITES,
  "/me/passkeys/options",
  "/confirm",
  "/confirm/options",
  "/sign-in",
  "/sign-in/options",
];

const get = (path: string, cookie: string) => openPage(service, path, cookie);

const isSignedIn = async (cookie: string): Promise<boolean> => (await get("/w", cookie)).status === 200;

/** Makes the last confirmation older than ten minutes. */
async function forgetProofs(): Promise<void> {
  await service.database.query("update console_session set proved_at = now() - interval '601 s'");
}

async function auditOf(name: string, action: string): Promise<{ detail: unknown; before: unknown }[]> {
  const { rows } = await service.database.query<{ detail: unknown; before: unknown }>(
    `select detail - 'user_id' as detail, before
       from (select actor, action, detail, before, origin, happened_at from audit_event
             union all select actor, action, detail, before, origin, happened_at from identity_event) a
       join console_user on actor = 'user:' || user_id
      where name = $1 and action = $2 and origin = '127.0.0.1' order by happened_at`,
    [name, action],
  );
  return rows;
}

test("without a session, account pages redirect to the sign-in and back, and forms to the sign-in", async () => {
  const away = await get("/me", "");
  assert.deepEqual([away.status, away.headers.get("location")], [303, "/sign-in"]);
  const { secret } = await makeUserLink(service, { name: "Back" });
  const entered = await postForm(service, "/enter", { secret }, { cookie: cookieOf(away) });
  assert.equal(entered.headers.get("location"), "/me");
  for (const path of [...WRITES, "/confirm"]) {
    const posted = await postForm(service, path, { name: "x" });
    assert.deepEqual([posted.status, posted.headers.get("location")], [303, "/sign-in"], path);
  }
  for (const path of ["/me/passkeys/options", "/confirm/options"]) {
    assert.equal((await postForm(service, path, {})).status, 403, path);
  }
});

test("changes are accepted only as a POST from a page of the console", async () => {
  const cookie = await signInAs(service, { name: "Forged" });
  for (const path of POSTS) {
    for (const origin of ["null", "https://evil.example"]) {
      const forged = await postForm(service, path, { name: "Taken over" }, { cookie, origin });
      assert.equal(forged.status, 403, path);
      assert.match(forged.text, /Not sent from the console/u, path);
    }
    const bare = await fetch(`${service.address}${path}`, { method: "POST", headers: { cookie } });
    assert.equal(bare.status, 403, path);
  }
  for (const path of POSTS.filter((each) => each !== "/confirm" && each !== "/sign-in")) {
    const got = await get(path, cookie);
    assert.deepEqual([got.status, got.headers.get("allow")], [405, "POST"], path);
  }
  assert.match((await get("/me", cookie)).text, /value="Forged"/u);
});

test("without a recent confirmation the account is not changed, and the page links to the confirmation", async () => {
  const cookie = await signInAs(service, { name: "Stale" });
  await forgetProofs();
  assert.match((await get("/me", cookie)).text, /href="\/confirm\?next=%2Fme"/u);
  for (const path of WRITES) {
    const refused = await postForm(service, path, { name: "Changed", id: "x" }, { cookie });
    assert.equal(refused.status, 403, path);
    assert.match(refused.text, /role="alert"[^>]*>\s*Confirm your identity/u, path);
  }
  const localhost = { cookie, host: "localhost", origin: "http://localhost" };
  const options = await postForm(service, "/me/passkeys/options", { name: "x" }, localhost);
  assert.equal(options.status, 403);
  assert.match(options.text, /Confirm your identity/u);
  assert.deepEqual(await auditOf("Stale", "me.rename"), []);
});

test("on this machine a new link confirms the identity: the session gets a new id, and the old id is refused", async () => {
  const cookie = await signInAs(service, { name: "Proving" });
  await forgetProofs();
  const { link } = await makeUserLink(service, { name: "Proving" });
  const proved = await postForm(service, "/confirm", { secret: link, next: "/me" }, { cookie });
  assert.deepEqual([proved.status, proved.headers.get("location")], [303, "/me"]);
  const renewed = cookieOf(proved);
  assert.notEqual(renewed, cookie);
  assert.deepEqual([await isSignedIn(cookie), await isSignedIn(renewed)], [false, true]);
  const changed = await postForm(service, "/me/name", { name: "Proven" }, { cookie: renewed });
  assert.equal(changed.status, 303);
  assert.deepEqual(await auditOf("Proven", "session.prove"), [{ detail: { way: "link" }, before: null }]);
  assert.deepEqual(await auditOf("Proven", "me.rename"), [{ detail: {}, before: null }]);
  const { secret, user_id: userId } = await makeUserLink(service, { name: "Proven" });
  await createPasskey(service, userId);
  const refused = await postForm(service, "/confirm", { secret }, { cookie: renewed });
  assert.equal(refused.status, 403, "who has a passkey confirms with it");
});

test("if two people take the same name at the same moment, one gets it and the other is refused in one sentence", async () => {
  const { shopDomain } = await createTenant(service.database);
  const cookies = [
    await signInAs(service, { name: "First twin", shopDomain }),
    await signInAs(service, { name: "Second twin", shopDomain }),
  ];
  const answers = await Promise.all(
    cookies.map((cookie) => postForm(service, "/me/name", { name: "Twin" }, { cookie })),
  );
  const refused = answers.filter(({ status }) => status !== 303);
  assert.deepEqual(
    refused.map(({ status }) => status),
    [409],
  );
  assert.match(refused[0]?.text ?? "", /Somebody in shop-\d+\.example is called &quot;Twin&quot; already\./u);
});

test("a confirmation does not extend the seven days of a session", async () => {
  const cookie = await signInAs(service, { name: "Lasting" });
  const ends = async (): Promise<unknown> =>
    (
      await service.database.query(
        "select s.ends_at, s.created_at from console_session s join console_user u using (user_id) where u.name = 'Lasting'",
      )
    ).rows;
  const whole = await ends();
  const { secret } = await makeUserLink(service, { name: "Lasting" });
  await postForm(service, "/confirm", { secret }, { cookie });
  assert.deepEqual(await ends(), whole);
});

test("another person's link, a recovery link and a used link confirm nothing, and are not used up", async () => {
  const cookie = await signInAs(service, { name: "Sly" });
  await forgetProofs();
  const { secret: foreign } = await makeUserLink(service, { name: "Victim" });
  const { secret: recovery } = await makeUserLink(service, { name: "Sly", isRecovery: true });
  const { secret: used } = await makeUserLink(service, { name: "Sly" });
  await postForm(service, "/enter", { secret: used });
  for (const [secret, sentence] of [
    [foreign, /for another account/u],
    [recovery, /or another purpose/u],
    [used, /has been used already/u],
    ["", /This link is not valid/u],
  ] as const) {
    const refused = await postForm(service, "/confirm", { secret, next: "/me" }, { cookie });
    assert.equal(refused.status, 403);
    assert.equal(refused.headers.get("set-cookie"), null);
    assert.match(refused.text, sentence);
  }
  assert.equal((await postForm(service, "/enter", { secret: foreign })).status, 303);
  assert.equal(await isSignedIn(cookie), true);
});

test("a confirmation redirects only to pages of the console", async () => {
  const { shopDomain } = await createTenant(service.database);
  let cookie = await signInAs(service, { name: "Led", shopDomain });
  for (const [next, expected] of [
    [`/w/${shopDomain}/settings/watchlist`, `/w/${shopDomain}/settings/watchlist`],
    ["https://evil.example/w/", "/"],
    ["//evil.example/w/", "/"],
    ["/\\evil.example", "/"],
    ["/w/../sign-out", "/"],
    ["", "/"],
  ] as const) {
    const page = (await get(`/confirm?next=${encodeURIComponent(next)}`, cookie)).text;
    assert.ok(page.includes(`<a href="${expected}">Go back without confirming</a>`), next);
    const { secret } = await makeUserLink(service, { name: "Led" });
    const proved = await postForm(service, "/confirm", { secret, next }, { cookie });
    assert.deepEqual([proved.status, proved.headers.get("location")], [303, expected], next);
    cookie = cookieOf(proved);
  }
});

test("sessions are listed without a secret, and ended one by one or all but the current one", async () => {
  const cookies = [];
  for (let index = 0; index < 4; index++) cookies.push(await signInAs(service, { name: "Listed" }));
  const [own = "", ...others] = cookies;
  const page = (await get("/me", own)).text;
  const ids = [...page.matchAll(/name="id" value="(?<id>[0-9a-f]{16})"/gu)].map(
    (match) => match.groups?.["id"] ?? "",
  );
  assert.deepEqual([ids.length, page.match(/>this browser</gu)?.length], [3, 1]);
  for (const cookie of cookies) assert.ok(!page.includes(cookie.slice("returns=".length)));
  const stranger = await signInAs(service, { name: "Stranger" });
  const foreign = await postForm(service, "/me/sessions/end", { id: ids[0] ?? "" }, { cookie: stranger });
  assert.equal(foreign.status, 409);
  const alive = async (): Promise<number> =>
    (await Promise.all(others.map(isSignedIn))).filter(Boolean).length;
  assert.equal(await alive(), 3);
  const ended = await postForm(service, "/me/sessions/end", { id: ids[0] ?? "" }, { cookie: own });
  assert.equal(ended.status, 303);
  assert.equal(await alive(), 2);
  assert.equal((await postForm(service, "/me/sessions/end-others", {}, { cookie: own })).status, 303);
  assert.deepEqual([await alive(), await isSignedIn(own), await isSignedIn(stranger)], [0, true, true]);
  const recorded = (await auditOf("Listed", "session.end_other")).map((event) =>
    Object.keys(event.before as object),
  );
  assert.deepEqual(recorded, [["began"], ["sessions"]]);
});

/** Names that count as "Taken": other case, width and spaces. */
const LIKE_TAKEN = ["Taken name", "TAKEN  name", "\u00a0Taken\u3000name", "Ｔａｋｅｎ name"];
const NO_NAMES = [
  " ",
  "x".repeat(101),
  "a\u0007b",
  "Taken\u200b name",
  "\u202eeman nekaT",
  "a\ufeffb",
  "\u2800",
  "Taken name\u{1d159}",
  "Taken name\u{16fe4}",
  "Taken name\u0378",
  "00000000-0000-4000-8000-000000000001",
  "00000000\u20110000\u20114000\u20138000\u2010000000000001",
];

test("a name is changed; a refused one stays in the form; no two people of a workspace have the same", async () => {
  const { shopDomain } = await createTenant(service.database);
  const cookie = await signInAs(service, { name: "Plain", shopDomain });
  await makeUserLink(service, { name: "Taken name", shopDomain });
  for (const name of [...LIKE_TAKEN, ...NO_NAMES]) {
    const refused = await postForm(service, "/me/name", { name }, { cookie });
    assert.equal(refused.status, LIKE_TAKEN.includes(name) ? 409 : 400, name);
    assert.match(refused.text, /role="alert"/u);
  }
  assert.doesNotMatch(service.logs.join(""), /taken {1,2}name|eman/iu, "the log holds no name");
  const elsewhere = await signInAs(service, {
    name: "Elsewhere",
    shopDomain: (await createTenant(service.database)).shopDomain,
  });
  const told = await postForm(service, "/me/name", { name: "Taken name" }, { cookie: elsewhere });
  assert.equal(told.status, 303, "a name says nothing of other workspaces");
  const hostile = `<b>"O'Brien" & sons</b>`;
  const changed = await postForm(service, "/me/name", { name: hostile }, { cookie });
  const next = await get("/me", `${cookie}; ${cookieOf(changed)}`);
  const page = next.text;
  assert.match(page, /role="status"[^>]*>Your name is now &lt;b&gt;/u);
  assert.ok(!page.includes("<b>"));
});

test("a passkey is asked for only on localhost, and only of the person who is signed in", async () => {
  const cookie = await signInAs(service, { name: "Asking" });
  const refused = await postForm(service, "/me/passkeys/options", { name: "x" }, { cookie });
  assert.equal(refused.status, 403);
  assert.match(refused.text, /open the console as http:\/\/localhost/u);
  const localhost = { cookie, host: "localhost", origin: "http://localhost" };
  const asked = await postForm(service, "/me/passkeys/options", { name: "x" }, localhost);
  const options = JSON.parse(asked.text) as Record<string, Record<string, unknown>>;
  assert.deepEqual(
    [options["rp"]?.["id"], options["user"]?.["name"], options["attestation"]],
    ["localhost", "Asking", "none"],
  );
  assert.deepEqual(options["authenticatorSelection"], {
    residentKey: "required",
    userVerification: "required",
    requireResidentKey: true,
  });
  assert.deepEqual(
    (options["pubKeyCredParams"] as unknown as { alg: number }[]).map(({ alg }) => alg),
    [-8, -7, -257],
  );
});
