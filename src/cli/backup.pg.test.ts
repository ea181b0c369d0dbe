import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { zstdCompressSync } from "node:zlib";
import pg from "pg";
import pino from "pino";
import { readBackup, writeManifest, type Manifest } from "../actions/installation/backup-folder.ts";
import { startService } from "../app.ts";
import { readConfig } from "../config.ts";
import { openInstallation } from "../installation.ts";
import {
  createEmptyDatabase,
  createPlainDatabase,
  HOLD_MIGRATION_LOCK,
  rowsIn,
} from "../../tests/support/backups.ts";
import { runCommand, startCommand, type CommandOutcome } from "../../tests/support/command.ts";
import { before, useDatabase } from "../../tests/support/use.ts";
import { csv, withFolder } from "../../tests/support/import-workspace.ts";
import { execute } from "../../tests/support/server.ts";
import { TEST_SECRET } from "../../tests/support/secret.ts";
import { serviceEnvironment } from "../../tests/support/service.ts";
import { makeFolder } from "../../tests/support/folder.ts";

const MAIN = join(import.meta.dirname, "main.ts");
const DOMAIN = "backup.example";
const FILES = {
  "order_lines.csv": csv(
    "order_id,line_id,ordered_at,product_id,sku,units",
    "o1,l1,2025-01-05T10:00:00Z,p1,HAT,3",
  ),
};
const QUESTION = "/api/v1/summary?start_month=2025-01&end_month=2025-01&include_incomplete=true";

const source = useDatabase(createPlainDatabase);
let environment: Record<string, string>;
const parent = makeFolder();
let token: string;
before(async () => {
  environment = serviceEnvironment(source.url);
  // As root the embedded database runs as another user, who passes through.
  await chmod(parent, 0o755);
  await run(["workspace", "create", "--domain", DOMAIN, "--currency", "EUR", "--plan", "scale"]);
  await withFolder(FILES, (folder) =>
    run(["import", folder, "--workspace", DOMAIN, "--as-of", "2026-01-01"]),
  );
  const created = ["token", "create", "--workspace", DOMAIN, "--name", "n", "--scopes", "read:dashboard"];
  token = (await run(created)).stdout.trim();
});

async function run(words: readonly string[], of = environment): Promise<CommandOutcome> {
  const outcome = await runCommand(words, of);
  assert.equal(outcome.code, 0, `${words.join(" ")}: ${outcome.stderr}`);
  return outcome;
}

async function documentOf(words: readonly string[], of = environment): Promise<Record<string, unknown>> {
  return JSON.parse((await run([...words, "--json"], of)).stdout) as Record<string, unknown>;
}

/** What a server on an installation answers to the token. */
async function answerOf(of: Record<string, string>): Promise<unknown> {
  const config = readConfig({ ...of, PORT: "0" });
  const installation = await openInstallation(config, () => {});
  const service = await startService(config, installation, pino({ level: "silent" }));
  try {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${service.address}${QUESTION}`, { headers });
    assert.equal(answer.status, 200);
    return ((await answer.json()) as { data: unknown }).data;
  } finally {
    await service.stop();
    await installation.close();
  }
}

test("a backup goes to an embedded database and from there to another server: tokens and answers stay", async () => {
  const folder = join(parent, "first");
  const { stdout } = await run(["backup", folder, "--with-secret"]);
  assert.match(stdout, /^Backed up [\d,]+ rows of \d+ tables to .*first \([\d.]+ MB\)\.\n$/u);
  const [noted] = await rowsIn<{ at: Date }>(source.url, "select backed_up_at as at from installation");
  const { manifest } = await readBackup(folder);
  assert.equal(noted?.at.toISOString(), manifest.made_at);

  const dataFolder = join(parent, "embedded");
  const embedded = { RETURNS_DATA_DIR: dataFolder };
  const isRunning = (): boolean => existsSync(join(dataFolder, "postgresql/data/postmaster.pid"));
  const refused = await runCommand(["restore", await withUnusableRow(folder, manifest)], embedded);
  assert.match(refused.stderr, /^The backup cannot be restored \(".+"\)\. Nothing was restored\.\n$/u);
  assert.deepEqual([refused.code, isRunning(), existsSync(join(dataFolder, "secret"))], [1, false, false]);
  const restored = await documentOf(["restore", folder], embedded);
  assert.deepEqual([restored["made_at"], isRunning()], [manifest.made_at, false]);
  assert.equal((await readFile(join(dataFolder, "secret"), "utf8")).trim(), TEST_SECRET);
  const expected = await answerOf(environment);
  assert.deepEqual(await answerOf(embedded), expected);

  const again = join(parent, "second");
  const made = await documentOf(["backup", again, "--with-secret"], embedded);
  assert.deepEqual([made["folder"], made["has_secret"]], [again, true]);
  const target = await createEmptyDatabase();
  try {
    // No secret is set there: the backup's becomes that of the data folder.
    const elsewhere = { DATABASE_URL: target.url, RETURNS_DATA_DIR: join(parent, "elsewhere") };
    assert.match(
      (await run(["restore", again], elsewhere)).stdout,
      /^Restored [\d,]+ rows of \d+ tables, as of /u,
    );
    assert.equal((await readFile(join(parent, "elsewhere", "secret"), "utf8")).trim(), TEST_SECRET);
    assert.deepEqual(await answerOf(elsewhere), expected);
    const actions = await rowsIn<{ action: string }>(
      target.url,
      "select action from identity_event where action in ('backup', 'restore') order by happened_at",
    );
    assert.deepEqual(
      actions.map(({ action }) => action),
      ["restore", "restore"],
      "a backup is recorded after its snapshot",
    );
    const full = await runCommand(["restore", again], elsewhere);
    assert.match(full.stderr, /^The database is not empty/u);
  } finally {
    await target.drop();
  }
});

/** A copy of a backup, in whose table of plans is a row that the database refuses. */
async function withUnusableRow(folder: string, manifest: Manifest): Promise<string> {
  const copy = join(parent, "unusable");
  await cp(folder, copy, { recursive: true });
  const bytes = zstdCompressSync(Buffer.from("1\t2\n"));
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const tables = manifest.tables.map((table) =>
    table.name === "plan" ? { ...table, bytes: bytes.length, sha256, rows: 1 } : table,
  );
  await writeFile(join(copy, "plan.copy.zst"), bytes);
  await writeManifest(copy, { ...manifest, tables }, null);
  return copy;
}

test("--keep adds a backup to a folder of backups, and removes only the oldest of them", async () => {
  const folder = join(parent, "kept");
  for (const name of ["returns-2020-01-01T00-00-00Z", "returns-2020-01-02T00-00-00Z", "before-upgrade"])
    await mkdir(join(folder, name), { recursive: true });
  const made = await documentOf(["backup", folder, "--keep", "2"]);
  assert.deepEqual(made["removed"], ["returns-2020-01-01T00-00-00Z"]);
  const names = (await readdir(folder)).toSorted();
  assert.deepEqual(names.slice(0, 2), ["before-upgrade", "returns-2020-01-02T00-00-00Z"]);
  assert.equal(join(folder, names[2] ?? ""), made["folder"]);
  await documentOf(["backup", "verify", join(folder, names[2] ?? "")]);
  const none = await runCommand(["backup", folder, "--keep", "0"], environment);
  assert.deepEqual([none.code, (await readdir(folder)).length], [2, 3]);
});

test("a backup is kept, and noted, though earlier ones are of a clock that was ahead", async () => {
  const folder = join(parent, "ahead");
  for (const day of ["01", "02"])
    await mkdir(join(folder, `returns-2999-01-${day}T00-00-00Z`), { recursive: true });
  await execute(source.url, "update installation set backed_up_at = '2999-01-02'");
  const made = await documentOf(["backup", folder, "--keep", "2"]);
  assert.deepEqual(made["removed"], ["returns-2999-01-01T00-00-00Z"]);
  await documentOf(["backup", "verify", String(made["folder"])]);
  const [noted] = await rowsIn<{ at: Date }>(source.url, "select backed_up_at as at from installation");
  assert.equal(noted?.at.toISOString(), made["made_at"]);
});

test("verify reads all of a backup without a database, and says whether the secret that is set opens it", async () => {
  const folder = join(parent, "verified");
  await run(["backup", folder, "--with-secret"]);
  const verify = (secret: string): Promise<CommandOutcome> =>
    runCommand(["backup", "verify", folder], { RETURNS_DATA_DIR: "/nowhere", RETURNS_SECRET: secret });
  const right = await verify(TEST_SECRET);
  assert.match(
    right.stdout,
    /^The backup is complete: [\d,]+ rows of \d+ tables \([\d.]+ MB\), as of \S+Z, by version \S+\.\n$/u,
  );
  assert.equal(right.stderr, "");
  assert.match(
    (await verify("another secret of at least 32 characters")).stderr,
    /^The secret set here does not open it/u,
  );
  const file = join(folder, "order_document.copy.zst");
  await writeFile(file, (await readFile(file)).fill(0, 8));
  const damaged = await verify(TEST_SECRET);
  assert.equal(damaged.code, 1);
  assert.match(damaged.stderr, /order_document\.copy\.zst is damaged/u);
});

test("only this user can read a backup, and a folder that holds anything is refused", async () => {
  const folder = join(parent, "private");
  await run(["backup", folder, "--with-secret"]);
  for (const name of ["", ...(await readdir(folder))]) {
    assert.equal((await stat(join(folder, name))).mode & 0o777, name === "" ? 0o700 : 0o600, name);
  }
  const refused = await runCommand(["backup", folder, "--json"], environment);
  const message = `${folder} is not empty: name a folder that does not exist yet, or an empty one.`;
  assert.deepEqual([refused.code, JSON.parse(refused.stderr)], [1, { error: { message } }]);
});

test("another secret is refused before anything is opened, and none is made", async () => {
  const folder = join(parent, "bare");
  const { stderr } = await run(["backup", folder]);
  assert.match(stderr, /holds no secret/u);
  const dataFolder = join(parent, "untouched");
  const none = await runCommand(["restore", folder], { RETURNS_DATA_DIR: dataFolder });
  assert.match(none.stderr, /^The backup holds no secret, and none is set: [^\n]*\n$/u);
  const wrong = { RETURNS_DATA_DIR: dataFolder, RETURNS_SECRET: "another secret of at least 32 characters" };
  const other = await runCommand(["restore", folder], wrong);
  assert.match(
    other.stderr,
    /^The secret is not one of those that were valid in the installation when it was backed up[^\n]*\n$/u,
  );
  assert.deepEqual([none.code, other.code], [1, 1]);
  await assert.rejects(stat(dataFolder), { code: "ENOENT" });
});

/** Runs a command that waits for a lock of `locking`, ends it by the signal, and lets the lock go. */
async function endWaiting(
  words: readonly string[],
  of: Record<string, string>,
  { url, locking, signal }: { url: string; locking: string; signal: NodeJS.Signals },
): Promise<CommandOutcome> {
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  try {
    await holder.query("begin");
    await holder.query(locking);
    const running = startCommand(words, of);
    // A migration asks for its lock again and again instead.
    const waiting = `select from pg_stat_activity where datname = current_database()
                        and (wait_event_type = 'Lock' or query like 'select pg_try_advisory%')`;
    // On another connection: a transaction sees the activity of its beginning.
    while ((await rowsIn(url, waiting)).length === 0) {
      assert.equal(running.child.exitCode, null);
      await sleep(20);
    }
    running.child.kill(signal);
    const killedAtMs = Date.now();
    const outcome = await running.outcome;
    assert.ok(Date.now() - killedAtMs < 10_000, "it ends at once, not when its time to clean up is over");
    return outcome;
  } finally {
    await holder.end();
  }
}

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  test(`${signal} leaves no half backup`, async () => {
    const folder = join(parent, signal);
    const locking = "lock table order_document in access exclusive mode";
    await endWaiting(["backup", folder], environment, { url: source.url, locking, signal });
    const names = await readdir(parent);
    assert.equal(names.includes(signal), false);
    // Nobody is left to remove it after a SIGKILL.
    const partials = names.filter((name) => name.startsWith(`.${signal}.partial-`));
    assert.equal(partials.length, signal === "SIGKILL" ? 1 : 0);
    await run(["backup", folder]);
    assert.deepEqual(
      (await readdir(parent)).filter((name) => name.includes(".partial-")),
      [],
      "the next backup removes what the killed one left",
    );
  });
}

test("a restore that SIGTERM ends leaves its database empty", async () => {
  const target = await createEmptyDatabase();
  try {
    const elsewhere = serviceEnvironment(target.url);
    const [url, locking] = [target.url, HOLD_MIGRATION_LOCK];
    await endWaiting(["restore", join(parent, "SIGTERM")], elsewhere, { url, locking, signal: "SIGTERM" });
    await run(["restore", join(parent, "SIGTERM")], elsewhere);
  } finally {
    await target.drop();
  }
});

test("a backup that cannot be completed leaves no files, and does not hang", async () => {
  await execute(
    source.url,
    `insert into order_document (shop_key, order_id, document)
     select shop_key, 'long', to_jsonb(array(select md5(n::text) from generate_series(1, 20000) n))
       from shop_directory where shop_domain = '${DOMAIN}'`,
  );
  const folder = join(parent, "cut");
  // No file may be larger than 128 blocks.
  const limited = spawnSync(
    "sh",
    ["-c", 'ulimit -f 128; exec "$@"', "sh", process.execPath, MAIN, "backup", folder],
    { env: { PATH: process.env["PATH"], ...environment }, encoding: "utf8" },
  );
  const message = `${folder} cannot be written: a file there may not be that large.\n`;
  assert.deepEqual([limited.status, limited.stderr], [1, message]);
  assert.deepEqual(
    (await readdir(parent)).filter((name) => name.includes("cut")),
    [],
  );
});
