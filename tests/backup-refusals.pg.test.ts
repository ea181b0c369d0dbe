import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { chmod, copyFile, link, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { zstdCompressSync } from "node:zlib";
import { restoreBackup, restoreRows, secretForRestore } from "../src/actions/installation/actions.ts";
import { FORMAT, readBackup, writeManifest } from "../src/actions/installation/backup-folder.ts";
import type { BackupTable, Manifest } from "../src/actions/installation/backup-folder.ts";
import type { Database, DatabasePool } from "../src/store/database.ts";
import {
  backUp,
  createEmptyDatabase,
  createPlainDatabase,
  hashesOf,
  restoreInto,
} from "./support/backups.ts";
import { createTestDatabase, openConnections, type TestDatabase } from "./support/database.ts";
import { startFaultProxy } from "./support/fault-proxy.ts";
import { makeFolder } from "./support/folder.ts";
import { openTestKeys, TEST_SECRET } from "./support/secret.ts";
import { openTestPool } from "./support/service.ts";
import { seedSmallStore } from "./support/small-store.ts";
import { createTenant } from "./support/tenants.ts";

/** Anything wrong with a backup or its folder, even by intent, is refused in one sentence; nothing is executed or changed. */

const parent = makeFolder();
let source: TestDatabase;
let database: Database;
let whole: string;
let manifest: Manifest;
let marker: string;
let target: TestDatabase;
let restoring: DatabasePool;
before(async () => {
  // Under root the database runs as another user, who must be able to write the marker.
  await chmod(parent, 0o777);
  marker = join(parent, "marker");
  whole = join(parent, "whole");
  source = await createPlainDatabase();
  database = openConnections(source.url, { maxConnections: 2 });
  const pool = openTestPool(source.url);
  const { shopKey } = await createTenant(pool);
  await seedSmallStore(pool, shopKey);
  await pool.end();
  await openTestKeys(database);
  await backUp(database, whole, TEST_SECRET);
  manifest = JSON.parse(await readFile(join(whole, "manifest.json"), "utf8")) as Manifest;
  Reflect.deleteProperty(manifest, "sha256");
  target = await createEmptyDatabase();
  restoring = openConnections(target.url, { maxConnections: 2 });
});

after(async () => {
  await Promise.all([database.close(), restoring.close()]);
  await source.drop();
  await target.drop();
});

type Harm = { manifest?: object; text?: string; files?: (folder: string) => Promise<unknown> };

let copies = 0;
/** A copy of the whole backup with a valid checksum of the manifest, or with any text as manifest. */
async function harmed({ manifest: changed, text, files }: Harm): Promise<string> {
  const folder = join(parent, `harmed-${(copies += 1)}`);
  await mkdir(folder);
  for (const name of await readdir(whole)) {
    const add = files === undefined && name !== "manifest.json" ? link : copyFile;
    await add(join(whole, name), join(folder, name));
  }
  if (changed !== undefined) await writeManifest(folder, { ...manifest, ...changed }, null);
  if (text !== undefined) await writeFile(join(folder, "manifest.json"), text);
  await files?.(folder);
  return folder;
}

/** The manifest with its table `plan` changed. */
const plan = (change: object): Harm => ({
  manifest: {
    tables: manifest.tables.map((table) => (table.name === "plan" ? { ...table, ...change } : table)),
  },
});
const planTable = (): BackupTable => manifest.tables.find(({ name }) => name === "plan") ?? assert.fail();
const columnsWith = (column: string): Harm => plan({ columns: [column, ...planTable().columns.slice(1)] });
const sequence = (row: object): Harm => ({ manifest: { sequences: [row] } });
const program = () => `copy t from program 'touch ${marker}'`;

/** The backup with these rows of a table, in COPY's text format and with a correct manifest. */
function planRows(bytes: Buffer, rows: number): Harm {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return {
    ...plan({ bytes: bytes.length, sha256, rows }),
    files: (folder) => writeFile(join(folder, planTable().file), bytes),
  };
}

const replaced = (name: string, by: (path: string) => Promise<unknown> | Buffer) => ({
  files: async (folder: string) => {
    await rm(join(folder, name));
    await by(join(folder, name));
  },
});
const pipe = (path: string) => Promise.resolve(execFileSync("mkfifo", [path]));

const TABLE = "order_document.copy.zst";
const inFolder = (file: string, harm: (path: string) => Promise<void>): Harm => ({
  files: (folder) => harm(join(folder, file)),
});
async function flipByte(file: string): Promise<void> {
  const bytes = await readFile(file);
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  await writeFile(file, bytes);
}

const restore = async (folder: string) =>
  restoreBackup(await readBackup(folder), {
    database: restoring,
    signal: new AbortController().signal,
    onProgress: () => {},
  });

async function assertEmpty(): Promise<void> {
  const text = "select relname from pg_class where relnamespace = 'public'::regnamespace";
  assert.deepEqual(await restoring.rows({ name: "test_tables", text }, []), []);
}

const SHAPE = /manifest\.json is not a valid manifest \(see \/[\w/]*\)\. Nothing was restored\.$/u;
const COLUMNS =
  /^The columns of plan in the backup differ from those of its version \(.+\)\. Nothing was restored\.$/u;
const DAMAGED =
  /manifest\.json is damaged: it has changed since the backup was made\. Nothing was restored\.$/u;
const NO_MANIFEST = /is not a backup that can be restored: it has no manifest\.json\.$/u;
const REFUSED = /^The backup cannot be restored \(".+"\)\. Nothing was restored\.$/u;

const HARMS: Readonly<Record<string, [harm: () => Harm, sentence: RegExp]>> = {
  "a flipped byte of a table": [
    () => inFolder(TABLE, flipByte),
    /order_document\.copy\.zst is damaged: it has changed since the backup was made\. Nothing was restored\.$/u,
  ],
  "a truncated table": [
    () => inFolder(TABLE, (path) => truncate(path, 40)),
    /order_document\.copy\.zst has 40 bytes instead of \d+: the backup is incomplete\. Nothing was restored\.$/u,
  ],
  "a missing table": [
    () => inFolder(TABLE, rm),
    /order_document\.copy\.zst is missing: the backup is incomplete\. Nothing was restored\.$/u,
  ],
  "a flipped byte of the manifest": [() => inFolder("manifest.json", flipByte), DAMAGED],
  "a truncated manifest": [
    () => inFolder("manifest.json", (path) => truncate(path, 1000)),
    /manifest\.json is damaged/u,
  ],
  "no manifest": [() => inFolder("manifest.json", rm), NO_MANIFEST],
  "a newer format": [
    () => ({ manifest: { format: FORMAT + 1, version: "9.0.0" } }),
    /^The backup was made by a newer version of the service \(9\.0\.0\): install that version, and restore with it\./u,
  ],
  "a newer schema": [
    () => ({ manifest: { migrations: [...manifest.migrations, "9999_later"], version: "9.0.0" } }),
    /^The backup was made by a newer version of the service \(9\.0\.0\)/u,
  ],
  "fewer rows than the manifest says": [
    () => plan({ rows: 99 }),
    /^The backup of plan has \d+ rows instead of 99\. Nothing was restored\.$/u,
  ],
  "a column that ends the statement and runs a program": [
    () => columnsWith(`${planTable().columns[0]}) from program 'touch ${marker}' --`),
    SHAPE,
  ],
  "a column that begins another statement": [
    () => columnsWith(`${planTable().columns[0]}) from stdin; ${program()}; --`),
    SHAPE,
  ],
  "a column twice": [() => plan({ columns: [...planTable().columns, planTable().columns[0]] }), SHAPE],
  "no columns": [() => plan({ columns: [] }), SHAPE],
  "columns that are no list": [() => plan({ columns: "key) from program 'x' --" }), SHAPE],
  "a column that is an object": [() => plan({ columns: [{ toString: "key" }] }), SHAPE],
  "a table whose name is a statement": [
    () => ({
      manifest: {
        tables: [...manifest.tables, { ...planTable(), name: `plan; ${program()}`, file: "x.copy.zst" }],
      },
    }),
    SHAPE,
  ],
  "a table of the system": [() => plan({ name: "pg_catalog.pg_authid" }), SHAPE],
  "a table that paints the terminal": [() => plan({ name: '"\u001b[2J"' }), SHAPE],
  "a table twice": [
    () => ({ manifest: { tables: [...manifest.tables, { ...planTable(), file: "x.copy.zst" }] } }),
    SHAPE,
  ],
  "a file twice": [
    () => ({ manifest: { tables: [...manifest.tables, { ...planTable(), name: "x" }] } }),
    SHAPE,
  ],
  "tables that are no list": [() => ({ manifest: { tables: { length: 1 } } }), SHAPE],
  "a file in another folder": [() => plan({ file: "../whole/plan.copy.zst" }), SHAPE],
  "a file by its full path": [() => plan({ file: "/etc/passwd" }), SHAPE],
  "the folder above as a file": [() => plan({ file: ".." }), SHAPE],
  "a file with a zero byte": [() => plan({ file: "plan\u0000.copy.zst" }), SHAPE],
  "a file of Windows": [() => plan({ file: "..\\plan.copy.zst" }), SHAPE],
  "a negative size": [() => plan({ bytes: -1 }), SHAPE],
  "a size that is text": [() => plan({ bytes: "12" }), SHAPE],
  "rows beyond all numbers": [() => plan({ rows: 1e300 }), SHAPE],
  "a checksum that is none": [() => plan({ sha256: "" }), SHAPE],
  "a sequence whose name is a statement": [
    () => sequence({ name: "x'); drop table plan; --", last_value: 1 }),
    SHAPE,
  ],
  "a sequence of another schema": [() => sequence({ name: "pg_catalog.x", last_value: 1 }), SHAPE],
  "a sequence out of its bounds": [
    () => sequence({ name: "shop_directory_shop_key_seq", last_value: 0 }),
    REFUSED,
  ],
  "a sequence at a text": [() => sequence({ name: "x", last_value: "1); drop table plan" }), SHAPE],
  "migrations that are paths": [() => ({ manifest: { migrations: ["../../etc/passwd"] } }), SHAPE],
  "migrations twice": [
    () => ({ manifest: { migrations: [manifest.migrations[0], ...manifest.migrations] } }),
    REFUSED,
  ],
  "migrations named as what every object has": [
    () => ({ manifest: { migrations: [...manifest.migrations, "__proto__", "constructor"] } }),
    /^The backup (?:was made by a newer version|cannot be restored)/u,
  ],
  "no migrations": [() => ({ manifest: { migrations: [] } }), SHAPE],
  "a version that paints the terminal": [() => ({ manifest: { version: "\u001b]0;x\u0007" } }), SHAPE],
  "a newer format whose version paints the terminal": [
    () => ({ manifest: { format: 99, version: "\u001b]0;x\u0007" } }),
    /^The backup was made by a newer version of the service: install that version, and restore with it\. Nothing/u,
  ],
  "a time that is none": [() => ({ manifest: { made_at: "yesterday\u001b[2J" } }), SHAPE],
  "a format that is text": [() => ({ manifest: { format: "1" } }), SHAPE],
  "fingerprints that are no list": [() => ({ manifest: { secret_fingerprints: { length: 0 } } }), SHAPE],
  "a manifest that is a list": [() => ({ text: "[]" }), DAMAGED],
  "a manifest that is null": [() => ({ text: "null" }), DAMAGED],
  "a manifest nested without end": [
    () => ({ text: `{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}` }),
    DAMAGED,
  ],
  "a manifest without end": [
    () => replaced("manifest.json", (path) => symlink("/dev/zero", path)),
    NO_MANIFEST,
  ],
  "a manifest that is a pipe": [() => replaced("manifest.json", pipe), NO_MANIFEST],
  "a table's file that is a link": [
    () => replaced("plan.copy.zst", (path) => symlink(join(whole, "plan.copy.zst"), path)),
    /plan\.copy\.zst is missing: the backup is incomplete\./u,
  ],
  "an empty table whose file is a pipe": [
    () => ({ ...plan({ bytes: 0 }), ...replaced("plan.copy.zst", pipe) }),
    /plan\.copy\.zst is missing: the backup is incomplete\./u,
  ],
  "rows that are not compressed": [() => planRows(Buffer.from("\\.\n"), 0), REFUSED],
  "rows that the table refuses": [
    () => planRows(zstdCompressSync(Buffer.from("1\t2\u001b[2J\n")), 1),
    REFUSED,
  ],
  "rows that end COPY and go on with a statement": [
    () => planRows(zstdCompressSync(Buffer.from(`\\.\n${program()};\n`)), 1),
    /^The backup of plan has 0 rows instead of 1\. Nothing was restored\.$/u,
  ],
};

function isRefusal(sentence: RegExp): (error: Error) => true {
  return ({ name, message }) => {
    assert.deepEqual([name, sentence.test(message)], ["Refusal", true], message);
    assert.doesNotMatch(message, /\p{Cc}/u);
    return true;
  };
}

for (const [title, [harm, sentence]] of Object.entries(HARMS)) {
  test(`${title}: refused, nothing runs, and the database stays empty`, { timeout: 60_000 }, async () => {
    await assert.rejects(async () => restore(await harmed(harm())), isRefusal(sentence));
    await assertEmpty();
    assert.equal(existsSync(marker), false);
  });
}

/** Backups whose tables differ from those of the version. */
const UNLIKE: Readonly<Record<string, [harm: () => Harm, sentence: RegExp]>> = {
  "a table left out": [
    () => ({ manifest: { tables: manifest.tables.filter(({ name }) => name !== "plan") } }),
    /^The backup has no table plan, which its version has\. Nothing was restored\.$/u,
  ],
  "a quoted column that runs a program": [
    () => columnsWith(`"a) from program 'touch ${marker}' --"`),
    COLUMNS,
  ],
  "a column of another table": [() => columnsWith("shop_domain"), COLUMNS],
  "a column of the system": [() => columnsWith("ctid"), COLUMNS],
  "a column left out": [() => plan({ columns: planTable().columns.slice(1) }), COLUMNS],
  "no tables": [
    () => ({ manifest: { tables: [] } }),
    /^The backup has no table \w+, which its version has\./u,
  ],
};

test("tables and columns that are not those of the version: refused before a row is read, and nothing runs", async () => {
  await database.transaction(async (connection) => {
    const hashes = await hashesOf(connection.client);
    for (const [title, [harm, sentence]] of Object.entries(UNLIKE)) {
      const backup = await readBackup(await harmed(harm()));
      const rows = restoreRows(connection, backup, () => assert.fail("it reads rows"));
      await assert.rejects(rows, isRefusal(sentence), title);
    }
    assert.deepEqual(await hashesOf(connection.client), hashes);
  });
  assert.equal(existsSync(marker), false);
});

test("a file that was replaced between two reads is refused, and so is a link in its place", async () => {
  const file = planTable().file;
  const bytes = await readFile(join(whole, file));
  // Bytes between two frames are skipped: the rows are the same.
  const withNote = (note: string) =>
    Buffer.concat([bytes, Buffer.from("502a4d1804000000", "hex"), Buffer.from(note)]);
  const honest = planRows(withNote("same"), planTable().rows);
  const swaps: [swap: (path: string) => void, sentence: RegExp][] = [
    [(path) => writeFileSync(path, withNote("else")), /plan\.copy\.zst is damaged/u],
    [(path) => symlinkSync(join(whole, file), path), /plan\.copy\.zst is missing/u],
  ];
  for (const [swap, sentence] of swaps) {
    const folder = await harmed(honest);
    let isSwapped = false;
    const onProgress = (label: string): void => {
      if (isSwapped || !label.startsWith("Restoring")) return;
      isSwapped = true;
      rmSync(join(folder, file));
      swap(join(folder, file));
    };
    const { signal } = new AbortController();
    const from = await readBackup(folder);
    await assert.rejects(restoreBackup(from, { database: restoring, signal, onProgress }), sentence);
    assert.equal(isSwapped, true);
  }
});

test("a change of any byte of a table or of the manifest is refused", async () => {
  const text = await readFile(join(whole, "manifest.json"), "utf8");
  for (const table of manifest.tables) assert.ok(text.includes(table.sha256), table.name);
  assert.deepEqual(
    (await readdir(whole)).toSorted(),
    ["manifest.json", "secret", ...manifest.tables.map(({ file }) => file)].toSorted(),
  );
});

test("a database that holds anything is refused, and stays as it is", async () => {
  const full = await createTestDatabase();
  const pool = openTestPool(full.url);
  const hashes = await hashesOf(pool);
  const message = /^The database is not empty: restore into a new one, with another DATABASE_URL or another/u;
  await assert.rejects(restoreInto(full.url, whole), { name: "Refusal", message });
  assert.deepEqual(await hashesOf(pool), hashes);
  await pool.end();
  await full.drop();
});

test("a secret in the folder that was exchanged or removed is refused", async () => {
  const other = "another secret of at least 32 characters";
  const exchanged = await harmed(inFolder("secret", (path) => writeFile(path, `${other}\n`)));
  await assert.rejects(async () => secretForRestore(await readBackup(exchanged), null), /secret is damaged/u);
  const missing = await harmed(inFolder("secret", rm));
  await assert.rejects(async () => secretForRestore(await readBackup(missing), null), /secret is missing/u);
});

test("a restore whose database dies leaves it empty", async () => {
  const url = new URL(target.url);
  const proxy = await startFaultProxy(Number(url.port || 5432));
  url.port = String(proxy.port);
  const connections = openConnections(url.href, { maxConnections: 2 });
  try {
    let isCut = false;
    const cut = restoreBackup(await readBackup(whole), {
      database: connections,
      signal: new AbortController().signal,
      onProgress: (label) => {
        if (isCut || !label.startsWith("Restoring order")) return;
        isCut = true;
        void proxy.set("refuse");
      },
    });
    await assert.rejects(cut);
    assert.ok(isCut);
    await assertEmpty();
  } finally {
    await connections.close();
    await proxy.close();
  }
});

test("after a refused restore the intact backup is restored into the same database", async () => {
  await restore(whole);
});
