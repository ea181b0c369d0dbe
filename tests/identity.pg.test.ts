import assert from "node:assert/strict";
import { after, test } from "node:test";
import { isoCBOR } from "@simplewebauthn/server/helpers";
import { createIdentity, type Identity } from "../src/access/identity.ts";
import { makeLink, makePerson } from "../src/access/link.ts";
import { makeChallenge, readChallenge, type ChallengeRequest } from "../src/access/passkey.ts";
import { hashSecret } from "../src/access/secret.ts";
import type { SignIn } from "../src/access/sign-in.ts";
import type { Database } from "../src/store/database.ts";
import { findFirstOperator, type LinkPurpose } from "../src/store/queries/console-user.ts";
import { findPeople } from "../src/actions/people/queries.ts";
import { openControlDatabase } from "./support/control.ts";
import { openConnections } from "./support/database.ts";
import { before, use } from "./support/use.ts";
import { DEFAULT_RETENTION, keepAllInOrder } from "./support/worker.ts";

const START_MS = Date.parse("2026-11-01T08:00:00Z");
const MINUTE_MS = 60_000;
const CHALLENGE_KEY = Buffer.alloc(32, 1);
const HOUR_MS = 60 * MINUTE_MS;

const control = use(openControlDatabase);
let database: Database;
let identity: Identity;
/** The clock of these tests. */
let nowMs = START_MS;
const now = (): Date => new Date(nowMs);

before(async () => {
  database = openConnections(control.url, { maxConnections: 12 });
  identity = createIdentity(database, now, CHALLENGE_KEY);
});
after(() => database.close());

async function linkFor(name: string, purpose: LinkPurpose = "enter"): Promise<string> {
  return database.transaction(async (connection) => {
    const [known] = await findPeople(connection, name);
    const { user_id: userId } = known ?? (await makePerson(connection, name, now()));
    return (await makeLink(connection, { userId, purpose, now: now() })).secret;
  });
}

const enter = (secret: string, oldSessionHash: Buffer | null = null): Promise<SignIn> =>
  identity.signIn({ way: "link", secret, oldSessionHash, origin: null });

async function signIn(name: string, oldSession: string | null = null): Promise<string> {
  const oldHash = oldSession === null ? null : hashSecret(oldSession);
  const result = await enter(await linkFor(name), oldHash);
  assert.equal(result.outcome, "signed_in");
  return result.outcome === "signed_in" ? result.session : "";
}

const nameOf = async (session: string): Promise<string | null> =>
  (await identity.readSession(hashSecret(session) as Buffer))?.name ?? null;

const silentLog = {
  info: () => {},
  warn: () => {},
  error: (_fields: object, message: string) => assert.fail(message),
};

let asked = 0;
const ask = <Row>(text: string, values: unknown[] = []): Promise<Row[]> =>
  database.rows<Row>({ name: `session_test_${(asked += 1)}`, text }, values);

test("if fifty use one link at once, one is signed in", async () => {
  const secret = await linkFor("raced");
  const results = await Promise.all(Array.from({ length: 50 }, () => enter(secret)));
  const outcomes = results.map(({ outcome }) => outcome);
  assert.equal(outcomes.filter((outcome) => outcome === "signed_in").length, 1);
  assert.equal(outcomes.filter((outcome) => outcome === "used").length, 49);
});

test("a link works until its ten minutes are over", async () => {
  const [used, late] = [await linkFor("in time"), await linkFor("in time")];
  nowMs += 10 * MINUTE_MS - 1;
  assert.equal((await enter(used)).outcome, "signed_in");
  nowMs += 1;
  assert.equal((await enter(late)).outcome, "expired");
});

test("an invitation works for 72 hours, and a recovery link for ten minutes", async () => {
  const [invited, lateInvited] = [await linkFor("invited", "invite"), await linkFor("invited", "invite")];
  const recovering = await linkFor("invited", "recover");
  nowMs += 10 * MINUTE_MS;
  assert.equal((await enter(recovering)).outcome, "expired");
  nowMs += 72 * HOUR_MS - 10 * MINUTE_MS - 1;
  assert.equal((await enter(invited)).outcome, "signed_in");
  nowMs += 1;
  assert.equal((await enter(lateInvited)).outcome, "expired");
});

test("a recovery link ends passkeys and sessions when it is used, and those of nobody else", async () => {
  const [lost, other] = [await signIn("lost"), await signIn("not lost")];
  for (const name of ["lost", "not lost"]) {
    await ask(
      `insert into console_passkey (credential_id, user_id, rp_id, public_key, counter, transports, name, created_at)
       select convert_to($1, 'UTF8'), user_id, 'localhost', 'key', 0, '{}', 'laptop', now() from console_user where name = $1`,
      [name],
    );
  }
  const holders = (): Promise<{ name: string }[]> =>
    ask("select u.name from console_passkey join console_user u using (user_id)");
  const secret = await linkFor("lost", "recover");
  assert.equal(await nameOf(lost), "lost");
  assert.equal((await holders()).length, 2);
  const recovered = await enter(secret);
  assert.equal(recovered.outcome, "signed_in");
  assert.deepEqual([await nameOf(lost), await nameOf(other)], [null, "not lost"]);
  assert.deepEqual(await holders(), [{ name: "not lost" }]);
});

test("a session ends after twelve hours without use", async () => {
  const session = await signIn("idle");
  nowMs += 12 * HOUR_MS - 1;
  assert.equal(await nameOf(session), "idle");
  nowMs += 12 * HOUR_MS - 1;
  assert.equal(await nameOf(session), "idle");
  nowMs += 12 * HOUR_MS;
  assert.equal(await nameOf(session), null);
});

test("a session ends after seven days, however much it is used", async () => {
  const session = await signIn("busy");
  const endMs = nowMs + 7 * 24 * HOUR_MS;
  while (nowMs + 6 * HOUR_MS < endMs) {
    nowMs += 6 * HOUR_MS;
    assert.equal(await nameOf(session), "busy");
  }
  nowMs = endMs - 1;
  assert.equal(await nameOf(session), "busy");
  nowMs = endMs;
  assert.equal(await nameOf(session), null);
});

test("the last use of a session is written at most every five minutes", async () => {
  const session = await signIn("seen");
  const seenMs = async (): Promise<number> => {
    const [row] = await ask<{ last_seen_at: Date }>(
      "select last_seen_at from console_session where session_hash = $1",
      [hashSecret(session)],
    );
    return row?.last_seen_at.getTime() ?? 0;
  };
  const beganMs = nowMs;
  nowMs += 5 * MINUTE_MS - 1;
  await nameOf(session);
  assert.equal(await seenMs(), beganMs);
  nowMs += 1;
  await nameOf(session);
  assert.equal(await seenMs(), nowMs);
});

test("a person's eleventh session ends the oldest, and nobody else's", async () => {
  const other = await signIn("other");
  const sessions: string[] = [];
  for (let index = 0; index < 11; index++) {
    sessions.push(await signIn("many"));
    nowMs += 1000;
  }
  const names = await Promise.all(sessions.map(nameOf));
  assert.deepEqual(names, [null, ...Array.from({ length: 10 }, () => "many")]);
  assert.equal(await nameOf(other), "other");
});

test("after many sign-ins at once ten sessions remain", async () => {
  const links = [];
  for (let index = 0; index < 24; index++) links.push(await linkFor("crowd"));
  await Promise.all(links.map((secret) => enter(secret)));
  const rows = await ask(
    "select from console_session join console_user using (user_id) where name = 'crowd'",
  );
  assert.equal(rows.length, 10);
});

test("a new session ends the browser's previous one, even another person's", async () => {
  const older = await signIn("one of two");
  const session = await signIn("two of two", older);
  assert.deepEqual([await nameOf(older), await nameOf(session)], [null, "two of two"]);
});

test("the worker's upkeep deletes expired links and ended sessions", async () => {
  const session = await signIn("kept");
  await linkFor("kept");
  nowMs += 12 * HOUR_MS;
  const kept = await signIn("kept");
  const keptLink = hashSecret(await linkFor("kept"));
  assert.deepEqual(await keepAllInOrder({ database, now, log: silentLog, retention: DEFAULT_RETENTION }), []);
  const sessions = await ask<{ session_hash: Buffer }>("select session_hash from console_session");
  assert.deepEqual(
    sessions.map(({ session_hash: hash }) => hash),
    [hashSecret(kept)],
  );
  assert.notEqual(kept, session);
  const links = await ask<{ link_hash: Buffer; used_at: Date | null }>(
    "select link_hash, used_at from console_link where used_at is null",
  );
  assert.deepEqual(
    links.map(({ link_hash: hash }) => hash),
    [keptLink],
  );
});

test("the first person is the only operator, and the default when no name is given", async () => {
  const people = await ask<{ name: string }>("select name from console_user where is_operator");
  assert.deepEqual(people, [{ name: "raced" }]);
  assert.equal((await findFirstOperator(database))?.name, "raced");
});

test("anything but a browser's answer is refused", async () => {
  const site = { rpId: "localhost", origin: "http://localhost" };
  const { challenge } = await identity.signatureFor(null, site);
  const withChallenge = (text: string): string =>
    Buffer.from(JSON.stringify({ type: "webauthn.get", challenge: text, origin: site.origin })).toString(
      "base64url",
    );
  // From another installation, or from this one for a confirmation.
  const elsewhere = createIdentity(database, now, Buffer.alloc(32, 2));
  const { challenge: forged } = await elsewhere.signatureFor(null, site);
  const whole = {
    id: "AAAA",
    rawId: "AAAA",
    type: "public-key",
    response: { clientDataJSON: withChallenge(challenge) },
  };
  for (const [credential, expected] of [
    ["", "malformed"],
    ["null", "malformed"],
    ["[]", "malformed"],
    ['{"id":"AAAA"}', "malformed"],
    ['{"id":"AAAA","response":{"clientDataJSON":"bm8"}}', "malformed"],
    ['{"id":{},"response":{"clientDataJSON":"e30"}}', "malformed"],
    [JSON.stringify({ ...whole, id: "A".repeat(5000) }), "malformed"],
    [JSON.stringify(whole), "stranger"],
    [JSON.stringify({ ...whole, response: { clientDataJSON: withChallenge(`${challenge}A`) } }), "challenge"],
    [JSON.stringify({ ...whole, response: { clientDataJSON: withChallenge(forged) } }), "challenge"],
  ] as const) {
    const result = await identity.signIn({
      way: "passkey",
      credential,
      site,
      oldSessionHash: null,
      origin: null,
    });
    assert.equal(result.outcome, expected, credential.slice(0, 80));
  }
});

test("a challenge is good for five minutes, for its purpose and its person", async () => {
  const userId = "00000000-0000-4000-8000-000000000000";
  const request = { key: CHALLENGE_KEY, purpose: "prove", userId, now: now() } as const;
  const challenge = Buffer.from(makeChallenge(request)).toString("base64url");
  const at = (given: Partial<ChallengeRequest>) =>
    readChallenge(challenge, { ...request, ...given }) !== null;
  assert.deepEqual(
    [
      at({}),
      at({ now: new Date(nowMs + 5 * MINUTE_MS - 1) }),
      at({ now: new Date(nowMs + 5 * MINUTE_MS) }),
      at({ purpose: "enrol" }),
      at({ userId: null }),
      at({ key: Buffer.alloc(32, 2) }),
    ],
    [true, true, false, false, false, false],
  );
  for (let index = 0; index < challenge.length; index++) {
    const flipped = challenge[index] === "A" ? "B" : "A";
    const changed = `${challenge.slice(0, index)}${flipped}${challenge.slice(index + 1)}`;
    assert.equal(readChallenge(changed, request), null, String(index));
  }
});

test("a passkey with an attestation statement is refused before any certificate in it is parsed", async (context) => {
  const fetched = context.mock.method(globalThis, "fetch");
  const site = { rpId: "localhost", origin: "http://localhost" };
  const secret = await linkFor("attested");
  const options = await identity.enrolmentByLink(secret, site);
  assert.ok("challenge" in options);
  const clientData = { type: "webauthn.create", challenge: options.challenge, origin: site.origin };
  const statement = new Map<string, unknown>([
    ["fmt", "android-key"],
    ["attStmt", new Map([["x5c", [new Uint8Array(8)]]])],
    ["authData", new Uint8Array(40)],
  ]);
  const credential = JSON.stringify({
    id: "AAAA",
    rawId: "AAAA",
    type: "public-key",
    response: {
      clientDataJSON: Buffer.from(JSON.stringify(clientData)).toString("base64url"),
      attestationObject: Buffer.from(isoCBOR.encode(statement as never)).toString("base64url"),
    },
  });
  const refused = await identity.signIn({
    way: "enrolment",
    secret,
    credential,
    site,
    oldSessionHash: null,
    origin: null,
  });
  assert.equal(refused.outcome, "rejected");
  assert.equal(fetched.mock.callCount(), 0);
  assert.equal((await enter(secret)).outcome, "signed_in", "the link was not used up");
});
