import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readBackup, writeManifest, type Manifest } from "../src/actions/installation/backup-folder.ts";
import { openKeys } from "../src/actions/installation/secrets.ts";
import { secretForRestore } from "../src/actions/installation/actions.ts";
import { rootFingerprint, type Keys } from "../src/lib/keys.ts";
import type { Database } from "../src/store/database.ts";
import { backUp, createPlainDatabase, openDatabaseOf, restoreInto } from "./support/backups.ts";
import { FORGET_KEYS, KEEP_TEST_KEYS, openConnections, type TestDatabase } from "./support/database.ts";
import { TEST_SECRET } from "./support/secret.ts";
import { execute } from "./support/server.ts";
import { makeFolder } from "./support/folder.ts";

/** A backup is restored with any root secret that was valid in it, and with no other. */

const SECOND_SECRET = "the second secret of tests of 32 characters or more";
const BOTH = `${SECOND_SECRET},${TEST_SECRET}`;
const OTHER_SECRET = "the secret of some other database than these";

let source: TestDatabase;
let database: Database;
const parent = makeFolder();
let keys: Keys;
before(async () => {
  source = await createPlainDatabase();
  await execute(source.url, FORGET_KEYS);
  database = openConnections(source.url, { maxConnections: 2 });
  keys = await openKeys(placeOf(TEST_SECRET));
  await openKeys(placeOf(BOTH));
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
  const folder = join(parent, "both");
  await backUp(database, folder, SECOND_SECRET);
  const backup = await readBackup(folder);
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
  await restoreInto(url, folder);
  for (const secret of [TEST_SECRET, SECOND_SECRET])
    assert.deepEqual(await openKeys(placeOf(secret, restored)), keys);
  await assert.rejects(openKeys(placeOf(OTHER_SECRET, restored)), /^Refusal: The secret is not one of this/u);
});

/** As versions before root secrets wrote it. */
async function asEarlier(folder: string): Promise<void> {
  const text = await readFile(join(folder, "manifest.json"), "utf8");
  const { sha256: _, ...manifest } = JSON.parse(text) as Manifest & { sha256: string };
  const [fingerprint = null, ...others] = manifest.secret_fingerprints ?? [];
  assert.deepEqual(others, []);
  delete manifest.secret_fingerprints;
  await writeManifest(folder, { ...manifest, secret_fingerprint: fingerprint }, null);
}

test("a backup of an earlier version is restored with its one secret", async (context) => {
  const { url, database: earlier } = await openDatabaseOf(context, createPlainDatabase);
  await execute(url, KEEP_TEST_KEYS);
  const folder = join(parent, "earlier");
  await backUp(earlier, folder, TEST_SECRET);
  await asEarlier(folder);
  const backup = await readBackup(folder);
  assert.equal(await secretForRestore(backup, TEST_SECRET), TEST_SECRET);
  await assert.rejects(secretForRestore(backup, SECOND_SECRET), REFUSED);
  await execute(url, FORGET_KEYS);
  const unused = join(parent, "unused");
  await backUp(earlier, unused);
  await asEarlier(unused);
  assert.equal(await secretForRestore(await readBackup(unused), OTHER_SECRET), OTHER_SECRET);
});

test("an older backup is restored with the secret of then, behind that of now", async (context) => {
  const folder = join(parent, "older");
  await backUp(database, folder);
  const { url, database: restored } = await openDatabaseOf(context);
  await restoreInto(url, folder);
  assert.deepEqual(await openKeys(placeOf(`${OTHER_SECRET},${TEST_SECRET}`, restored)), keys);
  assert.deepEqual(await openKeys(placeOf(OTHER_SECRET, restored)), keys);
});

test("a dropped secret is neither written into a backup nor accepted for one made since", async () => {
  await openKeys(placeOf(SECOND_SECRET));
  const message = "The secret is not one of this database's valid ones: no backup was made.";
  const folder = join(parent, "dropped");
  await assert.rejects(backUp(database, folder, TEST_SECRET), { name: "Refusal", message });
  assert.equal(existsSync(folder), false);
  await backUp(database, folder, `${TEST_SECRET},${SECOND_SECRET}`);
  const backup = await readBackup(folder);
  await assert.rejects(secretForRestore(backup, TEST_SECRET), REFUSED);
  assert.equal(await secretForRestore(backup, null), SECOND_SECRET, "the one that opens it");
});

test("deleting the row of the installation forgets every secret, and the next start makes new keys", async () => {
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
