import assert from "node:assert/strict";
import { cp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { FORMAT, readBackup, writeManifest } from "../src/actions/installation/backup-folder.ts";
import type { Manifest } from "../src/actions/installation/backup-folder.ts";
import { restoreBackup, secretForRestore } from "../src/actions/installation/actions.ts";
import type { Database } from "../src/store/database.ts";
import {
  backUp,
  createEmptyDatabase,
  createPlainDatabase,
  openDatabaseOf,
  hashesOf,
  restoreInto,
  rowsIn,
} from "./support/backups.ts";
import { createTestDatabase, openConnections, type TestDatabase } from "./support/database.ts";
import { startFaultProxy } from "./support/fault-proxy.ts";
import { openTestKeys, TEST_SECRET } from "./support/secret.ts";
import { openTestPool } from "./support/service.ts";
import { seedSmallStore } from "./support/small-store.ts";
import { createTenant } from "./support/tenants.ts";
import { makeFolder } from "./support/folder.ts";

/** Whatever is wrong with a backup or its place is one sentence, and changes nothing. */

const parent = makeFolder();
let source: TestDatabase;
let database: Database;
let whole: string;
before(async () => {
  source = await createPlainDatabase();
  database = openConnections(source.url, { maxConnections: 2 });
  const pool = openTestPool(source.url);
  const { shopKey } = await createTenant(pool);
  await seedSmallStore(pool, shopKey);
  await pool.end();
  await openTestKeys(database);
  whole = join(parent, "whole");
  await backUp(database, whole, TEST_SECRET);
});
after(async () => {
  await database.close();
  await source.drop();
});

let copies = 0;
/** A copy of the whole backup, harmed. */
async function harmed(harm: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(parent, `harmed-${(copies += 1)}`);
  await cp(whole, folder, { recursive: true });
  await harm(folder);
  return folder;
}

async function flipByte(file: string): Promise<void> {
  const bytes = await readFile(file);
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  await writeFile(file, bytes);
}

async function tablesIn(url: string): Promise<number> {
  const [row] = await rowsIn<{ count: number }>(
    url,
    "select count(*)::integer as count from pg_class where relnamespace = 'public'::regnamespace",
  );
  return row?.count ?? -1;
}

const TABLE = "order_document.copy.zst";

/** With the manifest's own checksum right again. */
async function changeManifest(folder: string, change: Partial<Manifest>): Promise<void> {
  const { sha256: _, ...manifest } = JSON.parse(
    await readFile(join(folder, "manifest.json"), "utf8"),
  ) as Manifest & { sha256: string };
  await writeManifest(folder, { ...manifest, ...change }, null);
}

const HARMS: Readonly<Record<string, [harm: (folder: string) => Promise<void>, sentence: RegExp]>> = {
  "a flipped byte of a table": [
    (folder) => flipByte(join(folder, TABLE)),
    /order_document\.copy\.zst is damaged: it has changed since the backup was made\. Nothing was restored\.$/u,
  ],
  "a truncated table": [
    (folder) => truncate(join(folder, TABLE), 40),
    /order_document\.copy\.zst has 40 bytes instead of \d+: the backup is incomplete\. Nothing was restored\.$/u,
  ],
  "a missing table": [
    (folder) => rm(join(folder, TABLE)),
    /order_document\.copy\.zst is missing: the backup is incomplete\. Nothing was restored\.$/u,
  ],
  "a flipped byte of the manifest": [
    (folder) => flipByte(join(folder, "manifest.json")),
    /manifest\.json is damaged: it has changed since the backup was made\. Nothing was restored\.$/u,
  ],
  "a truncated manifest": [
    (folder) => truncate(join(folder, "manifest.json"), 1000),
    /manifest\.json is damaged/u,
  ],
  "no manifest": [
    (folder) => rm(join(folder, "manifest.json")),
    /is not a backup that can be restored: it has no manifest\.json\.$/u,
  ],
  "a newer format": [
    (folder) => changeManifest(folder, { format: FORMAT + 1, version: "9.0.0" }),
    /^The backup was made by a newer version of the service \(9\.0\.0\): install that version, and restore with it\./u,
  ],
  "a newer schema": [
    async (folder) => {
      const { manifest } = await readBackup(folder);
      const migrations = [...manifest.migrations, "9999_later"];
      await changeManifest(folder, { migrations, version: "9.0.0" });
    },
    /^The backup was made by a newer version of the service \(9\.0\.0\)/u,
  ],
  "fewer rows than the manifest says": [
    async (folder) => {
      const { manifest } = await readBackup(folder);
      const tables = manifest.tables.map((table) => (table.name === "plan" ? { ...table, rows: 99 } : table));
      await changeManifest(folder, { tables });
    },
    /^The backup of plan has \d+ rows instead of 99\. Nothing was restored\.$/u,
  ],
  "a table left out": [
    async (folder) => {
      const { manifest } = await readBackup(folder);
      await changeManifest(folder, { tables: manifest.tables.filter(({ name }) => name !== "plan") });
    },
    /^The backup has no table plan, which its version has\. Nothing was restored\.$/u,
  ],
};

for (const [title, [harm, sentence]] of Object.entries(HARMS)) {
  test(`${title}: refused, and the database stays empty`, async (context) => {
    const folder = await harmed(harm);
    const { url } = await openDatabaseOf(context);
    await assert.rejects(restoreInto(url, folder), { name: "Refusal", message: sentence });
    assert.equal(await tablesIn(url), 0);
    await restoreInto(url, whole);
  });
}

test("every byte of a table and of the manifest counts", async () => {
  const { manifest } = await readBackup(whole);
  const text = await readFile(join(whole, "manifest.json"), "utf8");
  for (const table of manifest.tables) assert.ok(text.includes(table.sha256), table.name);
  assert.deepEqual(
    (await readdir(whole)).toSorted(),
    ["manifest.json", "secret", ...manifest.tables.map(({ file }) => file)].toSorted(),
  );
});

test("a database that holds anything is refused, and stays as it is", async () => {
  const target = await createTestDatabase();
  const pool = openTestPool(target.url);
  const hashes = await hashesOf(pool);
  const message = /^The database is not empty: restore into a new one, with another DATABASE_URL or another/u;
  await assert.rejects(restoreInto(target.url, whole), { name: "Refusal", message });
  assert.deepEqual(await hashesOf(pool), hashes);
  await pool.end();
  await target.drop();
});

test("the secret is the one that is set, else the backup's; another one is refused", async () => {
  const backup = await readBackup(whole);
  assert.equal(await secretForRestore(backup, null), TEST_SECRET);
  assert.equal(await secretForRestore(backup, TEST_SECRET), TEST_SECRET);
  const other = "another secret of at least 32 characters";
  const refused = {
    name: "Refusal",
    message: /^The secret is not one of those that were valid in the installation when it was backed up/u,
  };
  await assert.rejects(secretForRestore(backup, other), refused);
  const bare = join(parent, "bare");
  await backUp(database, bare);
  assert.ok(!(await readdir(bare)).includes("secret"));
  const none = {
    name: "Refusal",
    message: /^The backup holds no secret, and none is set: set RETURNS_SECRET/u,
  };
  await assert.rejects(async () => secretForRestore(await readBackup(bare), null), none);
  const exchanged = await harmed((folder) => writeFile(join(folder, "secret"), `${other}\n`));
  await assert.rejects(async () => secretForRestore(await readBackup(exchanged), null), /secret is damaged/u);
  const missing = await harmed((folder) => rm(join(folder, "secret")));
  await assert.rejects(async () => secretForRestore(await readBackup(missing), null), /secret is missing/u);
});

test("a restore whose database dies leaves it empty", async () => {
  const target = await createEmptyDatabase();
  const url = new URL(target.url);
  const proxy = await startFaultProxy(Number(url.port || 5432));
  url.port = String(proxy.port);
  const connections = openConnections(url.href, { maxConnections: 2 });
  try {
    let isCut = false;
    const restoring = restoreBackup(await readBackup(whole), {
      database: connections,
      signal: new AbortController().signal,
      onProgress: (label) => {
        if (isCut || !label.startsWith("Restoring order")) return;
        isCut = true;
        void proxy.set("refuse");
      },
    });
    await assert.rejects(restoring);
    assert.ok(isCut);
    assert.equal(await tablesIn(target.url), 0);
  } finally {
    await connections.close();
    await proxy.close();
    await target.drop();
  }
});
