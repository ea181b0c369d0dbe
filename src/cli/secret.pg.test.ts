import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { rowsIn } from "../../tests/support/backups.ts";
import { isCitus } from "../../tests/support/citus.ts";
import { createTestDatabase, FORGET_KEYS } from "../../tests/support/database.ts";
import type { TestDatabase } from "../../tests/support/database.ts";
import {
  CREATE_TOKEN,
  CREATE_WORKSPACE,
  createSecretCommands,
  DOMAIN,
} from "../../tests/support/secret-commands.ts";
import { execute } from "../../tests/support/server.ts";

/** The commands of root secrets, as operators type them. Every secret here is a canary: no output may hold one. */

const CANARIES = ["CANARY-one-qwrtzplkjhg-abcdefghijkl", "CANARY-two-qwrtzplkjhg-abcdefghijkl"] as const;
const [FIRST, SECOND] = CANARIES;
const MAIN = join(import.meta.dirname, "main.ts");
const OTHER = "CANARY-other-qwrtzplkjhg-abcdefghij";

let database: TestDatabase;
let folder: string;
let dataFolder: string;
before(async () => {
  database = await createTestDatabase();
  await execute(database.url, FORGET_KEYS);
  folder = mkdtempSync(join(tmpdir(), "returns-secret-"));
  dataFolder = join(folder, "data");
  for (const [name, secret] of Object.entries({ first: FIRST, second: SECOND, other: OTHER })) {
    writeFileSync(join(folder, name), `${secret}\n`, { mode: 0o600 });
  }
  assert.equal((await run(CREATE_WORKSPACE)).code, 0);
});
after(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

const environment = (own: Record<string, string>): Record<string, string> => ({
  DATABASE_URL: database.url,
  RETURNS_DATA_DIR: dataFolder,
  PORT: "0",
  ...own,
});
/** The environment of a process whose secret is in one of the files. */
const withFile = (name: string) => environment({ RETURNS_SECRET_FILE: join(folder, name) });

const commands = createSecretCommands();
const run = (words: readonly string[], of = withFile("first")) => commands.run(words, of);
const documentOf = (words: readonly string[], of = withFile("first")) => commands.documentOf(words, of);

async function refused(words: readonly string[], sentence: RegExp, of = withFile("first"), code = 1) {
  const outcome = await run(words, of);
  assert.deepEqual([outcome.code, outcome.stdout], [code, ""], `${words.join(" ")}: ${outcome.stderr}`);
  assert.match(outcome.stderr, sentence);
  assert.equal(outcome.stderr.trim().split("\n").length, 1);
}

const listed = (of = withFile("first")) => commands.listed(of);

async function secretCheck(
  of: Record<string, string>,
): Promise<{ ok: boolean; message: string } | undefined> {
  const { stdout } = await run(["doctor", "--json"], of);
  const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean; message: string }[] };
  return checks.find(({ name }) => name === "secret");
}

test("the first use makes version 1; looking makes nothing", async () => {
  assert.deepEqual(await listed(), []);
  assert.equal((await secretCheck(withFile("first")))?.message, "version 1 from its first use on");
  assert.deepEqual(await listed(environment({})), []);
  assert.equal(existsSync(dataFolder), false, "no secret was made");
  await documentOf(CREATE_TOKEN);
  assert.deepEqual(await listed(), [[1, "valid", true]]);
  assert.equal((await secretCheck(withFile("first")))?.message, "version 1, the only valid one");
});

test("without a secret a used database is refused, and no stray secret is made", async () => {
  const sentence =
    /^No secret is set, and this database has one: set RETURNS_SECRET, or use the data folder/u;
  await refused(CREATE_TOKEN, sentence, environment({}));
  await refused(["serve"], sentence, environment({}));
  await refused(
    ["backup", join(folder, "none"), "--with-secret"],
    /^No secret is set that the backup/u,
    environment({}),
  );
  assert.equal(existsSync(dataFolder), false);
});

test("another secret is refused by everything that needs the keys, and changes nothing", async () => {
  const other = withFile("other");
  const sentence = /^The secret is not one of this database's/u;
  const needing = [
    ["serve"],
    ["worker"],
    CREATE_TOKEN,
    [
      "notify",
      "add",
      "--workspace",
      DOMAIN,
      "--kind",
      "slack",
      "--name",
      "n",
      "--address",
      "https://a.example/",
    ],
    ["secret", "add", join(folder, "second")],
    ["secret", "add", join(folder, "never-made")],
    ["secret", "retire", "1", "--yes"],
    ["demo"],
  ];
  for (const words of needing) await refused(words, sentence, other);
  // A distributed database has no backup of its own.
  if (!isCitus()) await refused(["backup", join(folder, "wrong"), "--with-secret"], sentence, other);
  assert.equal(existsSync(join(folder, "wrong")), false);
  assert.equal(existsSync(join(folder, "never-made")), false);
  const check = await secretCheck(other);
  assert.ok(check?.ok === false);
  assert.match(check.message, sentence);
  assert.deepEqual(await listed(other), [[1, "valid", false]]);
});

test("what cannot be a new secret is refused with one sentence", async () => {
  const given = async (text: string, sentence: RegExp): Promise<void> => {
    writeFileSync(join(folder, "given"), text);
    await refused(["secret", "add", join(folder, "given")], sentence, withFile("first"), 2);
  };
  await given("CANARY-short", /^The new secret must have at least 32 characters\.$/mu);
  await given(
    "changeme".repeat(8),
    /^The new secret must be random, such as what openssl rand -hex 32 prints\.$/mu,
  );
  await given("", /^The new secret must have at least 32 characters\.$/mu);
  await refused(
    ["secret", "add", join(folder, "no", "file")],
    /cannot be written: the folder above it does not/u,
  );
  await refused(["secret", "add", folder], /cannot be written: it is a folder\.$/mu);
  await refused(
    ["secret", "add"],
    /^Name the file of the new secret: RETURNS_SECRET is set/u,
    withFile("first"),
    2,
  );
  assert.deepEqual(await listed(), [[1, "valid", true]]);
});

test("add, change over, retire: the output says what comes next, and each step may be repeated", async () => {
  const file = join(folder, "second");
  const added = await run(["secret", "add", file]);
  assert.equal(added.code, 0, added.stderr);
  assert.equal(added.stdout, `Version 2 is valid from now on. Its secret is in ${file}.\n`);
  assert.match(
    added.stderr,
    /Restart every server and worker with RETURNS_SECRET_FILE=\S+second, one after the other\./u,
  );
  assert.match(added.stderr, /Then, also with the new secret: \.\/returns secret retire 1\n$/u);
  const again = await documentOf(["secret", "add", file]);
  assert.deepEqual([again["version"], again["is_new"], again["is_made"]], [2, false, false]);
  assert.equal((await documentOf(["secret", "add", file], withFile("second")))["version_before"], 2);
  assert.deepEqual(await listed(withFile("second")), [
    [1, "valid", false],
    [2, "valid", true],
  ]);
  assert.equal(
    (await secretCheck(withFile("second")))?.message,
    "version 2; version 1 is valid too, until ./returns secret retire",
  );
  await documentOf(CREATE_TOKEN);
  await documentOf(CREATE_TOKEN, withFile("second"));

  await refused(["secret", "retire", "1"], /add --yes to confirm\.$/mu, withFile("second"), 2);
  await refused(["secret", "retire", "1", "--yes"], /^This command uses version 1 itself: run it with/u);
  await refused(
    ["secret", "retire", "7", "--yes"],
    /^There is no version 7: \.\/returns secret list shows them\.$/mu,
  );
  await refused(
    ["secret", "retire", "x", "--yes"],
    /^The version must be a whole number/u,
    withFile("first"),
    2,
  );
  const retired = await run(["secret", "retire", "1", "--yes"], withFile("second"));
  assert.match(retired.stdout, /^Version 1 was retired at \d{4}-\d\d-\d\dT/u);
  const twice = await documentOf(["secret", "retire", "1", "--yes"], withFile("second"));
  assert.deepEqual([twice["version"], twice["changed"]], [1, false]);
  await refused(
    ["secret", "retire", "2", "--yes"],
    /^Version 2 is the only valid secret: add another one first, by \.\/returns secret add\.$/mu,
    withFile("second"),
  );
  const sentence = /^The secret is version 1, which was retired on [\d-]{10}: start with version 2\.$/mu;
  for (const words of [CREATE_TOKEN, ["serve"], ["worker"], ["secret", "add", join(folder, "other")]]) {
    await refused(words, sentence);
  }
  assert.match((await secretCheck(withFile("first")))?.message ?? "", sentence);
  await refused(
    ["secret", "add", join(folder, "first")],
    /^That secret is version 1, which was retired: add one that was never used\.$/mu,
    withFile("second"),
  );
});

test("a file that is not there is made, for this user alone, and its secret is not printed", async () => {
  const file = join(folder, "made");
  const added = await documentOf(["secret", "add", file], withFile("second"));
  assert.deepEqual([added["version"], added["is_made"], added["file"]], [3, true, file]);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const secret = readFileSync(file, "utf8").trim();
  assert.match(secret, /^[A-Za-z0-9_-]{43}$/u);
  assert.ok(!commands.written().includes(secret));
  await documentOf(CREATE_TOKEN, withFile("made"));
  await documentOf(["secret", "retire", "3", "--yes"], withFile("second"));
});

test("a secret comes by a pipe, too", async () => {
  const line = `cat "$PIPED" | "$NODE" "$MAIN" secret add /dev/stdin --json`;
  const env = { ...withFile("second"), PIPED: join(folder, "other"), NODE: process.execPath, MAIN };
  const { status, stdout, stderr } = spawnSync("sh", ["-c", line], { env, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  assert.equal((JSON.parse(stdout) as { version: number }).version, 4);
  assert.ok(!(stdout + stderr).includes("CANARY"));
  await documentOf(["secret", "retire", "4", "--yes"], withFile("second"));
});

test("the audit has who added and retired what; no secret is in it, in the database or in any output", async () => {
  const events = await rowsIn<{ action: string; actor: string; version: number }>(
    database.url,
    `select action, actor, (detail ->> 'version')::integer as version from identity_event
      where action like 'secret.%' order by happened_at`,
  );
  assert.deepEqual(
    events.map(({ action, actor, version }) => [action, actor, version]),
    [
      ["secret.add", "operator", 2],
      ["secret.retire", "operator", 1],
      ["secret.add", "operator", 3],
      ["secret.retire", "operator", 3],
      ["secret.add", "operator", 4],
      ["secret.retire", "operator", 4],
    ],
  );
  const rows = await rowsIn<{ text: string }>(
    database.url,
    "select to_jsonb(s)::text as text from installation_secret s union all select to_jsonb(e)::text from identity_event e",
  );
  const hexes = [...CANARIES, OTHER].map((secret) => Buffer.from(secret).toString("hex"));
  for (const { text } of rows) {
    for (const hex of hexes) assert.ok(!text.includes(hex) && !text.includes("CANARY"), text);
  }
  assert.ok(!commands.written().includes("CANARY"));
});
