import assert from "node:assert/strict";
import { after, mock, test } from "node:test";
import { makeUserLink, postForm, signInAs } from "./support/console-person.ts";
import { startTestService } from "./support/service.ts";
import { challengeOf, createPasskey, onLocalhost } from "./support/software-passkey.ts";
import { use } from "./support/use.ts";

/** Failures of others at the same address, such as a proxy's, lock nobody out. */

const service = use(() => startTestService({ TRUSTED_PROXIES: "127.0.0.1" }));

// Limits count calendar minutes: here all tests are in one.
mock.timers.enable({ apis: ["Date"], now: Date.now() });
after(() => mock.timers.reset());

const by = (client: string) => ({ "x-forwarded-for": client });

async function statusesOf(
  count: number,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string>,
): Promise<number[]> {
  const answers = await Promise.all(
    Array.from({ length: count }, () => postForm(service, path, fields, headers)),
  );
  return [...new Set(answers.map(({ status }) => status))].toSorted((left, right) => left - right);
}

/** Sign-ins by link and passkey count together, thirty of them in a minute. */
async function exhaust(client: string): Promise<void> {
  assert.ok((await statusesOf(31, "/enter", { secret: "A".repeat(43) }, by(client))).includes(429));
}

const local = (client: string) => ({ ...by(client), ...onLocalhost(service) });
const challengeFor = (client: string): Promise<string> => challengeOf(service, by(client));

test("a valid link signs in from an address with too many failures, and a used one is refused without a record", async () => {
  const client = "203.0.113.1";
  await exhaust(client);
  const { secret, user_id: userId } = await makeUserLink(service, { name: "Late" });
  const answers = await statusesOf(50, "/enter", { secret }, by(client));
  assert.deepEqual(answers, [303, 429], "of fifty at once one signs in");
  const { rows } = await service.database.query(
    "select from identity_event where actor = 'unknown' and detail ->> 'user_id' = $1",
    [userId],
  );
  assert.ok(rows.length <= 50);
  const recorded = rows.length;
  assert.deepEqual(await statusesOf(20, "/enter", { secret }, by(client)), [429]);
  const again = await service.database.query(
    "select from identity_event where actor = 'unknown' and detail ->> 'user_id' = $1",
    [userId],
  );
  assert.equal(again.rows.length, recorded, "beyond the limit no refusal is written down");
});

test("a known passkey signs in from an address with too many failures, once for each challenge", async () => {
  const client = "203.0.113.2";
  const { user_id: userId } = await makeUserLink(service, { name: "Key" });
  const answerOf = await createPasskey(service, userId);
  await exhaust(client);
  const credential = answerOf(await challengeFor(client));
  const once = await Promise.all(
    Array.from({ length: 50 }, () => postForm(service, "/sign-in", { credential }, local(client))),
  );
  assert.equal(once.filter(({ status }) => status === 303).length, 1);
  assert.ok(once.every(({ status }) => status === 303 || status === 429));
});

test("fifty known passkeys at once are all checked, one after another beyond the limit", async () => {
  const { user_id: userId } = await makeUserLink(service, { name: "Many" });
  const answerOf = await createPasskey(service, userId);
  const credentials = await Promise.all(
    Array.from({ length: 50 }, async () => answerOf(await challengeFor("203.0.113.3"))),
  );
  const answers = await Promise.all(
    credentials.map((credential) => postForm(service, "/sign-in", { credential }, local("203.0.113.3"))),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([303]));
});

test("requesting a passkey challenge writes nothing and has no limit", async () => {
  const rows = async () => (await service.database.query("select from console_challenge")).rows.length;
  const earlier = await rows();
  assert.deepEqual(await statusesOf(100, "/sign-in/options", {}, local("203.0.113.4")), [200]);
  assert.equal(await rows(), earlier);
});

test("a person has sixty forms a minute outside workspaces", async () => {
  const headers = { ...local("203.0.113.8"), cookie: await signInAs(service, { name: "Hasty" }) };
  assert.deepEqual(await statusesOf(61, "/me/sessions/end", { id: "none" }, headers), [409, 429]);
  assert.equal((await challengeFor("203.0.113.8")).length > 0, true, "others at the address go on");
});

test("behind a trusted proxy clients are distinguished in limits, audit and log", async () => {
  const bad = { secret: "B".repeat(43) };
  assert.ok((await statusesOf(31, "/enter", bad, by("203.0.113.5"))).includes(429));
  assert.deepEqual(await statusesOf(5, "/enter", bad, by("203.0.113.6")), [403]);
  assert.deepEqual(await statusesOf(5, "/enter", bad, by("203.0.113.5, 203.0.113.7")), [403]);
  assert.ok(service.logs.some((line) => line.includes('"remote_address":"203.0.113.6"')));
  const { secret, user_id: userId } = await makeUserLink(service, { name: "Far" });
  assert.equal((await postForm(service, "/enter", { secret }, by("9.9.9.9, 2001:db8::7"))).status, 303);
  const { rows } = await service.database.query<{ origin: string }>(
    "select origin from identity_event where actor = $1 and action = 'session.begin'",
    [`user:${userId}`],
  );
  assert.deepEqual(rows, [{ origin: "2001:db8::7" }]);
});

test("a client without a proxy is counted by its own address, whatever it sends in headers", async () => {
  const direct = await startTestService();
  try {
    const posts = Array.from({ length: 31 }, (_, index) =>
      postForm(direct, "/enter", { secret: "C".repeat(43) }, by(`198.51.100.${index}`)),
    );
    assert.ok((await Promise.all(posts)).some(({ status }) => status === 429));
  } finally {
    await direct.stop();
  }
});
