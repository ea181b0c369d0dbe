import assert from "node:assert/strict";
import { createHmac, hkdfSync } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type pg from "pg";
import { secretForRestore } from "../src/actions/installation/actions.ts";
import { readBackup, writeManifest, type Manifest } from "../src/actions/installation/backup-folder.ts";
import { openKeys } from "../src/actions/installation/secrets.ts";
import { deriveKeys, rootFingerprint, type Keys } from "../src/lib/keys.ts";
import type { Database, Statement } from "../src/store/database.ts";
import { backUp, createPlainDatabase, openDatabaseOf, restoreInto } from "./support/backups.ts";
import {
  createTestDatabase,
  FORGET_KEYS,
  KEEP_TEST_KEYS,
  openConnections,
  type TestDatabase,
} from "./support/database.ts";
import { TEST_SECRET } from "./support/secret.ts";
import { execute } from "./support/server.ts";
import { openTestPool } from "./support/service.ts";
import { makeFolder } from "./support/folder.ts";

/** Root secrets: which of them open the keys of a database and of its backups, even if several processes start at once. */

const SECOND_SECRET = "the second secret of tests of 32 characters or more";
const THIRD_SECRET = "the third secret of tests of 32 characters or more";
/** Earlier versions allowed commas, which now separate secrets. */
const COMMAS = "a secret, of before, that holds commas";
const OTHER_SECRET = "the secret of some other database than these";

const folder = makeFolder();
/** More than open its keys at once. */
const CONNECTIONS = 10;
let made: TestDatabase;
let pool: pg.Pool;
let shared: Database;
before(async () => {
  made = await createTestDatabase();
  pool = openTestPool(made.url);
  shared = openConnections(made.url, { maxConnections: CONNECTIONS });
});
after(async () => {
  await Promise.all([shared.close(), pool.end()]);
  await made.drop();
});

/** Makes the database that of a new installation, or of an earlier version's. */
async function newDatabase(isFresh: boolean): Promise<void> {
  await pool.query(`${FORGET_KEYS}; delete from installation_secret; delete from identity_event`);
  if (!isFresh) await pool.query(KEEP_TEST_KEYS);
}

/** The keys as a process opens them. */
const keysOf = (secret: string | null, dataFolder = "/nowhere"): Promise<Keys> =>
  openKeys({ database: shared, dataFolder, secret });

/** Which of the secrets of these tests open the keys, oldest first. */
async function openersNow(): Promise<string[]> {
  const { rows } = await pool.query<{ fingerprint: Buffer }>(
    "select fingerprint from installation_secret where sealed_keys is not null order by version",
  );
  const secrets = [TEST_SECRET, SECOND_SECRET, THIRD_SECRET, OTHER_SECRET, COMMAS];
  return rows.map(
    ({ fingerprint }) => secrets.find((each) => fingerprint.equals(rootFingerprint(each))) ?? "?",
  );
}

const listOf = (...secrets: string[]): string => secrets.join(",");

/** Whether a version before root secrets starts with this secret. */
async function earlierVersionAccepts(secret: string): Promise<boolean> {
  const pepper = Buffer.from(hkdfSync("sha256", secret, "returns-analytics", "token pepper", 32));
  const own = createHmac("sha256", pepper).update("fingerprint of the installation").digest("hex");
  await pool.query(
    `insert into installation (secret_fingerprint) values ('\\x${own}') on conflict (is_only_row) do nothing`,
  );
  const { rows } = await pool.query<{ fingerprint: string }>(
    "select encode(secret_fingerprint, 'hex') as fingerprint from installation",
  );
  return rows[0]?.fingerprint === own;
}

test("a database of an earlier version keeps the keys of tokens, cursors and credentials", async () => {
  await newDatabase(false);
  assert.ok(await earlierVersionAccepts(TEST_SECRET));
  const derive = (purpose: string): Buffer =>
    Buffer.from(hkdfSync("sha256", TEST_SECRET, "returns-analytics", purpose, 32));
  const keys = await keysOf(TEST_SECRET);
  assert.deepEqual(keys, {
    tokenPepper: derive("token pepper"),
    cursorKey: derive("cursor"),
    sealingKey: derive("sealing"),
  });
  assert.deepEqual(await openersNow(), [TEST_SECRET]);
  assert.ok(await earlierVersionAccepts(TEST_SECRET), "its servers go on during a rolling upgrade");

  assert.deepEqual(await keysOf(listOf(SECOND_SECRET, TEST_SECRET)), keys);
  assert.deepEqual(await keysOf(SECOND_SECRET), keys);
  assert.ok(!(await earlierVersionAccepts(SECOND_SECRET)), "it would derive other keys");
});

test("a database of an earlier version refuses another secret, and is unchanged", async () => {
  await newDatabase(false);
  await assert.rejects(keysOf(OTHER_SECRET), {
    name: "Refusal",
    message: /^The secret is not one of this database's/u,
  });
  assert.deepEqual(await openersNow(), []);
  assert.ok(await earlierVersionAccepts(TEST_SECRET));
});

test("a new installation has random keys, which cannot be derived from its secret", async () => {
  await newDatabase(true);
  const keys = await keysOf(TEST_SECRET);
  assert.deepEqual(await keysOf(TEST_SECRET), keys);
  assert.ok(!(await earlierVersionAccepts(TEST_SECRET)), "an earlier version would derive other keys");
  await newDatabase(true);
  const another = await keysOf(TEST_SECRET);
  for (const others of [deriveKeys(TEST_SECRET), another]) {
    for (const name of ["tokenPepper", "cursorKey", "sealingKey"] as const) {
      assert.notDeepEqual(keys[name], others[name]);
    }
  }
});

for (const isFresh of [true, false]) {
  const kind = isFresh ? "a new database" : "one of an earlier version";
  test(`processes that start on ${kind} at once agree on its keys; those of another secret are refused`, async () => {
    await newDatabase(isFresh);
    const secrets = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? TEST_SECRET : SECOND_SECRET));
    const outcomes = await Promise.allSettled(secrets.map((secret) => keysOf(secret)));
    const keys = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    assert.equal(keys.length, 4);
    for (const each of keys) assert.deepEqual(each, keys[0]);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected")
        assert.match(outcome.reason.message, /^The secret is not one of this/u);
    }
    const openers = await openersNow();
    assert.equal(openers.length, 1);
    assert.ok(isFresh || openers[0] === TEST_SECRET);
  });
}

test("a first start that completes between two statements of another does not count as another secret", async () => {
  await newDatabase(true);
  let asked = 0;
  const interrupted: Database = {
    ...shared,
    rows: async <Row>(statement: Statement, values: readonly unknown[]): Promise<Row[]> => {
      const found = await shared.rows<Row>(statement, values);
      asked += 1;
      if (asked === 1) await keysOf(TEST_SECRET);
      return found;
    },
  };
  const keys = await openKeys({ database: interrupted, dataFolder: "/nowhere", secret: TEST_SECRET });
  assert.deepEqual(keys, await keysOf(TEST_SECRET));
});

test("processes that start at once with one new data folder agree on its secret", async () => {
  await newDatabase(true);
  const dataFolder = join(folder, "shared");
  const keys = await Promise.all([1, 2, 3, 4].map(() => keysOf(null, dataFolder)));
  for (const each of keys) assert.deepEqual(each, keys[0]);
  assert.equal((await openersNow()).length, 1);
});

test("keys that were changed in the database, or moved to another key version, are rejected", async () => {
  await newDatabase(true);
  await keysOf(TEST_SECRET);
  await pool.query("update installation_secret set version = 2");
  const damaged = { name: "Refusal", message: /^The keys that version 2 of the secret opens are damaged/u };
  await assert.rejects(keysOf(TEST_SECRET), damaged);
  await pool.query("update installation_secret set version = 1");
  await keysOf(TEST_SECRET);
  await pool.query("update installation_secret set sealed_keys = sealed_keys || '\\x00'");
  await assert.rejects(keysOf(TEST_SECRET), /are damaged in the database: restore a backup/u);
});

const WRONG = /^Refusal: The secret is not one of this database's/u;

test("servers start in any order: an older list removes nothing, and a list without a secret removes it", async () => {
  await newDatabase(true);
  const keys = await keysOf(TEST_SECRET);
  const startWith = async (secrets: string[], openers: string[]): Promise<void> => {
    assert.deepEqual(await keysOf(listOf(...secrets)), keys);
    assert.deepEqual(await openersNow(), openers);
  };
  await startWith([SECOND_SECRET, TEST_SECRET], [TEST_SECRET, SECOND_SECRET]);
  await startWith([TEST_SECRET], [TEST_SECRET, SECOND_SECRET]);
  await startWith([SECOND_SECRET, TEST_SECRET], [TEST_SECRET, SECOND_SECRET]);
  await startWith([SECOND_SECRET], [SECOND_SECRET]);
  await assert.rejects(keysOf(TEST_SECRET), WRONG);
  await startWith([SECOND_SECRET, TEST_SECRET], [SECOND_SECRET]);
  await startWith([THIRD_SECRET, SECOND_SECRET], [SECOND_SECRET, THIRD_SECRET]);
  await startWith([SECOND_SECRET, TEST_SECRET], [SECOND_SECRET, THIRD_SECRET]);
  await startWith([SECOND_SECRET, THIRD_SECRET], [THIRD_SECRET, SECOND_SECRET]);
  await startWith([SECOND_SECRET], [SECOND_SECRET]);
});

test("replacing a secret without a start with both is refused, and the old secret stays valid", async () => {
  await newDatabase(true);
  const keys = await keysOf(TEST_SECRET);
  await assert.rejects(keysOf(SECOND_SECRET), WRONG);
  assert.deepEqual(await keysOf(TEST_SECRET), keys);
  assert.deepEqual(await keysOf(listOf(SECOND_SECRET, TEST_SECRET)), keys);
});

test("two rotations at once, and older lists: each start opens the same keys, and so does the next", async () => {
  await newDatabase(true);
  const keys = await keysOf(TEST_SECRET);
  const lists = [[SECOND_SECRET, TEST_SECRET], [TEST_SECRET], [THIRD_SECRET, TEST_SECRET]];
  for (const round of [1, 2]) {
    const starts = [...lists, ...lists, ...lists].map((secrets) => keysOf(listOf(...secrets)));
    for (const started of await Promise.all(starts)) assert.deepEqual(started, keys, `round ${round}`);
    assert.ok((await openersNow()).includes(TEST_SECRET));
  }
});

test("servers that re-encrypt the keys at the same time do it once", async () => {
  await newDatabase(true);
  await keysOf(TEST_SECRET);
  await Promise.all([1, 2, 3, 4].map(() => keysOf(listOf(SECOND_SECRET, TEST_SECRET))));
  await Promise.all([1, 2, 3, 4].map(() => keysOf(SECOND_SECRET)));
  const { rows: events } = await pool.query<{ action: string; detail: unknown }>(
    "select action, detail from identity_event where action like 'secret.%' order by happened_at",
  );
  assert.deepEqual(events, [
    { action: "secret.add", detail: { version: 2 } },
    { action: "secret.retire", detail: { versions: [1] } },
  ]);
});

test("a wrong list is refused in one sentence, and changes nothing", async () => {
  await newDatabase(true);
  await keysOf(TEST_SECRET);
  const refused: [string, RegExp][] = [
    [listOf(OTHER_SECRET, THIRD_SECRET), WRONG],
    [listOf("", TEST_SECRET), /^Refusal: The list of secrets has an empty entry: put one comma between two/u],
    [listOf(SECOND_SECRET, "", TEST_SECRET), /^Refusal: The list of secrets has an empty entry/u],
    [listOf(TEST_SECRET, " "), /^Refusal: The list of secrets has an empty entry/u],
    [listOf("short", TEST_SECRET), /^Refusal: The new secret must have at least 32 characters\.$/u],
    [
      listOf("changeme".repeat(8), TEST_SECRET),
      /^Refusal: The new secret must be random, such as what openssl/u,
    ],
  ];
  for (const [list, sentence] of refused) {
    await assert.rejects(keysOf(list), sentence);
    assert.deepEqual(await openersNow(), [TEST_SECRET]);
  }
  await newDatabase(true);
  await assert.rejects(keysOf(listOf("short", OTHER_SECRET)), /must have at least 32 characters/u);
  await assert.rejects(keysOf(""), /has an empty entry/u);
  assert.deepEqual(await openersNow(), []);
});

test("a secret that is listed twice counts once", async () => {
  await newDatabase(true);
  const keys = await keysOf(listOf(TEST_SECRET, TEST_SECRET));
  assert.deepEqual(await keysOf(listOf(SECOND_SECRET, TEST_SECRET, SECOND_SECRET)), keys);
  assert.deepEqual(await openersNow(), [TEST_SECRET, SECOND_SECRET]);
});

test("a secret with commas that is in use stays valid, and can be rotated", async () => {
  await newDatabase(true);
  await pool.query(`insert into installation values (true, '\\x${rootFingerprint(COMMAS).toString("hex")}')`);
  const keys = await keysOf(COMMAS);
  assert.deepEqual(keys, deriveKeys(COMMAS));
  assert.deepEqual(await openersNow(), [COMMAS]);
  assert.deepEqual(await keysOf(listOf(SECOND_SECRET, COMMAS)), keys);
  assert.deepEqual(await keysOf(SECOND_SECRET), keys);
});

test("an installation that was rotated by earlier commands keeps its secret, and a retired one stays refused", async () => {
  const retire = (version: number): string =>
    `update installation_secret set sealed_keys = null, retired_at = now() where version = ${version}`;
  for (const [retired, kept] of [
    [1, SECOND_SECRET],
    [2, TEST_SECRET],
  ] as const) {
    await newDatabase(true);
    const keys = await keysOf(TEST_SECRET);
    await keysOf(listOf(SECOND_SECRET, TEST_SECRET));
    await pool.query(retire(retired));
    assert.deepEqual(await keysOf(kept), keys);
    await assert.rejects(keysOf(kept === TEST_SECRET ? SECOND_SECRET : TEST_SECRET), WRONG);
    assert.deepEqual(await keysOf(listOf(THIRD_SECRET, kept)), keys);
    assert.deepEqual(await keysOf(THIRD_SECRET), keys);
    assert.deepEqual(await openersNow(), [THIRD_SECRET]);
  }
});

describe("A backup is restored with any root secret that was valid in it, and with no other:", () => {
  let source: TestDatabase;
  let database: Database;
  let keys: Keys;
  before(async () => {
    source = await createPlainDatabase();
    await execute(source.url, FORGET_KEYS);
    database = openConnections(source.url, { maxConnections: 2 });
    keys = await openKeys(placeOf(TEST_SECRET));
    await openKeys(placeOf(listOf(SECOND_SECRET, TEST_SECRET)));
  });
  after(async () => {
    await database.close();
    await source.drop();
  });

  const placeOf = (secret: string, of = database) => ({ database: of, dataFolder: "/nowhere", secret });

  const REFUSED = {
    name: "Refusal",
    message:
      /^The secret is not one of those that were valid in the installation when it was backed up.+ Nothing was restored\.$/u,
  };

  test("a backup made under two secrets is restored with either, and its database opens with either", async (context) => {
    const backupFolder = join(folder, "both");
    await backUp(database, backupFolder, SECOND_SECRET);
    const backup = await readBackup(backupFolder);
    assert.deepEqual(
      backup.manifest.secret_fingerprints,
      [TEST_SECRET, SECOND_SECRET].map((secret) => rootFingerprint(secret).toString("hex")),
    );
    for (const secret of [TEST_SECRET, SECOND_SECRET])
      assert.equal(await secretForRestore(backup, secret), secret);
    const list = `${OTHER_SECRET},${TEST_SECRET}`;
    assert.equal(await secretForRestore(backup, list), list);
    assert.equal(await secretForRestore(backup, null), SECOND_SECRET, "the one that it holds");
    await assert.rejects(secretForRestore(backup, OTHER_SECRET), REFUSED);
    await assert.rejects(secretForRestore(backup, `${OTHER_SECRET},,`), REFUSED);
    const { url, database: restored } = await openDatabaseOf(context);
    await restoreInto(url, backupFolder);
    for (const secret of [TEST_SECRET, SECOND_SECRET])
      assert.deepEqual(await openKeys(placeOf(secret, restored)), keys);
    await assert.rejects(
      openKeys(placeOf(OTHER_SECRET, restored)),
      /^Refusal: The secret is not one of this/u,
    );
    // The secret of an older backup is listed after the current one.
    for (const secret of [`${OTHER_SECRET},${SECOND_SECRET}`, OTHER_SECRET])
      assert.deepEqual(await openKeys(placeOf(secret, restored)), keys);
  });

  /** Changes a backup to the form of versions before root secrets. */
  async function asEarlier(backupFolder: string): Promise<void> {
    const text = await readFile(join(backupFolder, "manifest.json"), "utf8");
    const { sha256: _, ...manifest } = JSON.parse(text) as Manifest & { sha256: string };
    const [fingerprint = null, ...others] = manifest.secret_fingerprints ?? [];
    assert.deepEqual(others, []);
    delete manifest.secret_fingerprints;
    await writeManifest(backupFolder, { ...manifest, secret_fingerprint: fingerprint }, null);
  }

  test("a backup of an earlier version is restored with its one secret", async (context) => {
    const { url, database: earlier } = await openDatabaseOf(context, createPlainDatabase);
    await execute(url, KEEP_TEST_KEYS);
    const backupFolder = join(folder, "earlier");
    await backUp(earlier, backupFolder, TEST_SECRET);
    await asEarlier(backupFolder);
    const backup = await readBackup(backupFolder);
    assert.equal(await secretForRestore(backup, TEST_SECRET), TEST_SECRET);
    await assert.rejects(secretForRestore(backup, SECOND_SECRET), REFUSED);
    await execute(url, FORGET_KEYS);
    const unused = join(folder, "unused");
    await backUp(earlier, unused);
    await asEarlier(unused);
    assert.equal(await secretForRestore(await readBackup(unused), OTHER_SECRET), OTHER_SECRET);
  });

  test("a removed secret is neither written into a backup nor accepted for one made later", async () => {
    await openKeys(placeOf(SECOND_SECRET));
    const message = "The secret is not one of this database's valid ones: no backup was made.";
    const backupFolder = join(folder, "dropped");
    await assert.rejects(backUp(database, backupFolder, TEST_SECRET), { name: "Refusal", message });
    assert.equal(existsSync(backupFolder), false);
    await backUp(database, backupFolder, `${TEST_SECRET},${SECOND_SECRET}`);
    const backup = await readBackup(backupFolder);
    await assert.rejects(secretForRestore(backup, TEST_SECRET), REFUSED);
    assert.equal(await secretForRestore(backup, null), SECOND_SECRET, "the one that opens it");
  });

  test("deleting the row of the installation forgets every secret, and the next start creates new keys", async () => {
    await execute(source.url, FORGET_KEYS);
    const renewed = await openKeys(placeOf(OTHER_SECRET));
    for (const name of ["tokenPepper", "cursorKey", "sealingKey"] as const) {
      assert.notDeepEqual(renewed[name], keys[name]);
    }
    await assert.rejects(
      openKeys(placeOf(SECOND_SECRET)),
      /^Refusal: The secret is not one of this database's/u,
    );
  });
});
