import assert from "node:assert/strict";
import { createHmac, hkdfSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openKeys } from "../src/control/installation-secret.ts";
import { deriveKeys } from "../src/lib/keys.ts";
import type { Keys } from "../src/lib/keys.ts";
import type { Database, Statement } from "../src/store/database.ts";
import { rowsIn } from "./support/backups.ts";
import { createTestDatabase, FORGET_KEYS, openConnections } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { TEST_SECRET } from "./support/secret.ts";
import { createSecretCommands } from "./support/secret-commands.ts";
import { execute } from "./support/server.ts";
import { serviceEnvironment } from "./support/service.ts";

/** Root secrets: whose keys a database has, also where several processes start at once. */

const SECOND_SECRET = "the second secret of tests, of 32 characters or more";
const OTHER_SECRET = "the secret of some other database than these";

const folder = mkdtempSync(join(tmpdir(), "returns-root-secrets-"));
const secondFile = join(folder, "second");
writeFileSync(secondFile, `${SECOND_SECRET}\n`, { mode: 0o600 });
const opened: Database[] = [];
const made: TestDatabase[] = [];
after(async () => {
  await Promise.all(opened.map((database) => database.close()));
  await Promise.all(made.map((database) => database.drop()));
  rmSync(folder, { recursive: true });
});

async function newDatabase(isFresh: boolean): Promise<string> {
  const database = await createTestDatabase();
  made.push(database);
  if (isFresh) await execute(database.url, FORGET_KEYS);
  return database.url;
}

/** The keys as a process of its own opens them. */
async function keysOf(url: string, secret: string | null, dataFolder = "/nowhere"): Promise<Keys> {
  const database = openConnections(url);
  opened.push(database);
  return openKeys({ database, dataFolder, secret });
}

const { documentOf } = createSecretCommands();
const command = (url: string, words: readonly string[], secret = TEST_SECRET) =>
  documentOf(words, { ...serviceEnvironment(url), RETURNS_SECRET: secret });

const versionsIn = (url: string) =>
  rowsIn<{ version: number; isValid: boolean }>(
    url,
    'select version, sealed_keys is not null as "isValid" from installation_secret order by version',
  );

/** What a version before root secrets looks at when it starts with a secret. */
async function earlierVersionAccepts(url: string, secret: string): Promise<boolean> {
  const pepper = Buffer.from(hkdfSync("sha256", secret, "returns-analytics", "token pepper", 32));
  const own = createHmac("sha256", pepper).update("fingerprint of the installation").digest("hex");
  await execute(
    url,
    `insert into installation (secret_fingerprint) values ('\\x${own}') on conflict (is_only_row) do nothing`,
  );
  const [kept] = await rowsIn<{ fingerprint: string }>(
    url,
    "select encode(secret_fingerprint, 'hex') as fingerprint from installation",
  );
  return kept?.fingerprint === own;
}

test("a database of an earlier version keeps the keys of tokens, cursors and credentials", async () => {
  const url = await newDatabase(false);
  assert.ok(await earlierVersionAccepts(url, TEST_SECRET));
  const derive = (purpose: string): Buffer =>
    Buffer.from(hkdfSync("sha256", TEST_SECRET, "returns-analytics", purpose, 32));
  const keys = await keysOf(url, TEST_SECRET);
  assert.deepEqual(keys, {
    tokenPepper: derive("token pepper"),
    cursorKey: derive("cursor"),
    sealingKey: derive("sealing"),
  });
  assert.deepEqual(await versionsIn(url), [{ version: 1, isValid: true }]);
  assert.ok(await earlierVersionAccepts(url, TEST_SECRET), "its servers go on during a rolling upgrade");

  await command(url, ["secret", "add", secondFile]);
  assert.deepEqual(await keysOf(url, SECOND_SECRET), keys);
  assert.ok(!(await earlierVersionAccepts(url, SECOND_SECRET)), "it would derive other keys");
  await command(url, ["secret", "retire", "1", "--yes"], SECOND_SECRET);
  assert.ok(!(await earlierVersionAccepts(url, TEST_SECRET)), "retired for every version");
  assert.deepEqual(await keysOf(url, SECOND_SECRET), keys);
});

test("a database of an earlier version refuses another secret, and stays as it is", async () => {
  const url = await newDatabase(false);
  await assert.rejects(keysOf(url, OTHER_SECRET), {
    name: "Refusal",
    message: /^The secret is not one of this database's/u,
  });
  assert.deepEqual(await versionsIn(url), []);
  assert.ok(await earlierVersionAccepts(url, TEST_SECRET));
});

test("a new installation has random keys: its secret alone tells nobody which", async () => {
  const [url, same] = [await newDatabase(true), await newDatabase(true)];
  const keys = await keysOf(url, TEST_SECRET);
  assert.deepEqual(await keysOf(url, TEST_SECRET), keys);
  for (const others of [deriveKeys(TEST_SECRET), await keysOf(same, TEST_SECRET)]) {
    for (const name of ["tokenPepper", "cursorKey", "sealingKey"] as const) {
      assert.notDeepEqual(keys[name], others[name]);
    }
  }
  assert.ok(!(await earlierVersionAccepts(url, TEST_SECRET)), "an earlier version would derive other keys");
});

for (const isFresh of [true, false]) {
  const kind = isFresh ? "a new database" : "one of an earlier version";
  test(`processes that start on ${kind} at once agree on its keys; those of another secret are refused`, async () => {
    const url = await newDatabase(isFresh);
    const secrets = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? TEST_SECRET : SECOND_SECRET));
    const outcomes = await Promise.allSettled(secrets.map((secret) => keysOf(url, secret)));
    const keys = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    assert.equal(keys.length, 4);
    for (const each of keys) assert.deepEqual(each, keys[0]);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected")
        assert.match(outcome.reason.message, /^The secret is not one of this/u);
    }
    assert.deepEqual(await versionsIn(url), [{ version: 1, isValid: true }]);
  });
}

test("a first start that ends between two statements of another is not taken for another secret", async () => {
  const url = await newDatabase(true);
  const database = openConnections(url);
  opened.push(database);
  let asked = 0;
  const interrupted: Database = {
    ...database,
    rows: async <Row>(statement: Statement, values: readonly unknown[]): Promise<Row[]> => {
      const found = await database.rows<Row>(statement, values);
      asked += 1;
      if (asked === 1) await keysOf(url, TEST_SECRET);
      return found;
    },
  };
  const keys = await openKeys({ database: interrupted, dataFolder: "/nowhere", secret: TEST_SECRET });
  assert.deepEqual(keys, await keysOf(url, TEST_SECRET));
});

test("processes that start at once with one new data folder agree on its secret", async () => {
  const url = await newDatabase(true);
  const dataFolder = join(folder, "shared");
  const keys = await Promise.all([1, 2, 3, 4].map(() => keysOf(url, null, dataFolder)));
  for (const each of keys) assert.deepEqual(each, keys[0]);
  assert.deepEqual(await versionsIn(url), [{ version: 1, isValid: true }]);
});

test("keys that were changed in the database, or moved to another version, are not opened", async () => {
  const url = await newDatabase(true);
  await keysOf(url, TEST_SECRET);
  await execute(url, "update installation_secret set version = 2");
  const damaged = { name: "Refusal", message: /^The keys that version 2 of the secret opens are damaged/u };
  await assert.rejects(keysOf(url, TEST_SECRET), damaged);
  await execute(url, "update installation_secret set version = 1");
  await keysOf(url, TEST_SECRET);
  await execute(url, "update installation_secret set sealed_keys = sealed_keys || '\\x00'");
  await assert.rejects(keysOf(url, TEST_SECRET), /are damaged in the database: restore a backup/u);
});
