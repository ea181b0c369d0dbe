import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { rowsIn } from "./support/backups.ts";
import { isCitus } from "./support/citus.ts";
import { runCommand } from "./support/command.ts";
import { FORGET_KEYS } from "./support/database.ts";
import { execute } from "./support/server.ts";
import { makeFolder } from "./support/folder.ts";
import { before, useDatabase } from "./support/use.ts";

/** Root secrets and commands, as operators type them. Every secret here is a canary: no output may contain one. */

const CANARIES = ["CANARY-one-qwrtzplkjhg-abcdefghijkl", "CANARY-two-qwrtzplkjhg-abcdefghijkl"] as const;
const [FIRST, SECOND] = CANARIES;
const OTHER = "CANARY-other-qwrtzplkjhg-abcdefghij";
const DOMAIN = "secrets.example";
const CREATE_WORKSPACE = ["workspace", "create", "--domain", DOMAIN, "--currency", "EUR", "--plan", "scale"];
/** A command that needs the keys. */
const CREATE_TOKEN = ["token", "create", "--workspace", DOMAIN, "--name", "n", "--scopes", "read:dashboard"];

const database = useDatabase();
const folder = makeFolder();
let dataFolder: string;
before(async () => {
  await execute(database.url, FORGET_KEYS);
  dataFolder = join(folder, "data");
  for (const [name, secret] of Object.entries({ first: FIRST, second: SECOND, other: OTHER })) {
    writeFileSync(join(folder, name), `${secret}\n`, { mode: 0o600 });
  }
  assert.equal((await run(CREATE_WORKSPACE)).code, 0);
});

const environment = (own: Record<string, string>): Record<string, string> => ({
  DATABASE_URL: database.url,
  RETURNS_DATA_DIR: dataFolder,
  PORT: "0",
  ...own,
});
/** The environment of a process that reads its secret from one of the files. */
const withFile = (name: string) => environment({ RETURNS_SECRET_FILE: join(folder, name) });

let written = "";
async function run(words: readonly string[], of = withFile("first")) {
  const outcome = await runCommand(words, of);
  written += outcome.stdout + outcome.stderr;
  return outcome;
}

async function succeed(words: readonly string[], of = withFile("first")): Promise<void> {
  const { code, stderr } = await run([...words, "--json"], of);
  assert.equal(code, 0, `${words.join(" ")}: ${stderr}`);
}

async function refused(words: readonly string[], sentence: RegExp, of = withFile("first"), code = 1) {
  const outcome = await run(words, of);
  assert.deepEqual([outcome.code, outcome.stdout], [code, ""], `${words.join(" ")}: ${outcome.stderr}`);
  assert.match(outcome.stderr, sentence);
  assert.equal(outcome.stderr.trim().split("\n").length, 1);
}

async function countSecrets(): Promise<number> {
  return (await rowsIn(database.url, "select 1 from installation_secret")).length;
}

async function secretCheck(
  of: Record<string, string>,
): Promise<{ ok: boolean; message: string } | undefined> {
  const { stdout } = await run(["doctor", "--json"], of);
  const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean; message: string }[] };
  return checks.find(({ name }) => name === "secret");
}

test("commands that only read create nothing; the first use creates the keys", async () => {
  assert.equal((await secretCheck(withFile("first")))?.message, "in use from the first start on");
  assert.equal(await countSecrets(), 0);
  assert.equal(existsSync(dataFolder), false, "no secret was made");
  await succeed(CREATE_TOKEN);
  assert.equal(await countSecrets(), 1);
  assert.equal((await secretCheck(withFile("first")))?.message, "the only one that opens the keys");
});

test("without a secret a used database is refused, and no secret is created", async () => {
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
    ["demo"],
  ];
  for (const words of needing) await refused(words, sentence, other);
  // The service cannot back up a distributed database.
  if (!isCitus()) await refused(["backup", join(folder, "wrong"), "--with-secret"], sentence, other);
  assert.equal(existsSync(join(folder, "wrong")), false);
  const check = await secretCheck(other);
  assert.ok(check?.ok === false);
  assert.match(check.message, sentence);
  assert.equal(await countSecrets(), 1);
});

test("a list of secrets rotates the secret, and doctor says what is left to do", async () => {
  writeFileSync(join(folder, "both"), `${SECOND},\n${FIRST}\n`, { mode: 0o600 });
  writeFileSync(join(folder, "weak"), `${"changeme".repeat(8)},${FIRST}\n`, { mode: 0o600 });
  await refused(CREATE_TOKEN, /^The new secret must be random, such as/u, withFile("weak"), 2);
  assert.equal((await secretCheck(withFile("both")))?.message, "the only one that opens the keys");
  await succeed(CREATE_TOKEN, withFile("both"));
  assert.equal(
    (await secretCheck(withFile("both")))?.message,
    "one of 2 that open the keys, until a start without the older",
  );
  await succeed(CREATE_TOKEN);
  assert.equal(
    (await secretCheck(withFile("first")))?.message,
    "opens the keys, but a newer one does too: put that first in the list",
  );
  await succeed(CREATE_TOKEN, withFile("second"));
  assert.equal((await secretCheck(withFile("second")))?.message, "the only one that opens the keys");
  for (const words of [CREATE_TOKEN, ["serve"], ["worker"]]) {
    await refused(words, /^The secret is not one of this database's/u);
  }
});

test("the secret file of a data folder may also be a list", async () => {
  mkdirSync(dataFolder);
  const file = join(dataFolder, "secret");
  writeFileSync(file, `${OTHER},${SECOND}\n`, { mode: 0o600 });
  await succeed(CREATE_TOKEN, environment({}));
  writeFileSync(file, `${OTHER}\n`);
  await succeed(CREATE_TOKEN, environment({}));
  await refused(CREATE_TOKEN, /^The secret is not one of this database's/u, withFile("second"));
});

test("the audit has additions and removals; no secret is in it, in the database or in any output", async () => {
  const events = await rowsIn<{ action: string; actor: string; detail: unknown }>(
    database.url,
    "select action, actor, detail from identity_event where action like 'secret.%' order by happened_at",
  );
  assert.deepEqual(
    events.map(({ action, actor, detail }) => [action, actor, detail]),
    [
      ["secret.add", "operator", { version: 2 }],
      ["secret.retire", "operator", { versions: [1] }],
      ["secret.add", "operator", { version: 3 }],
      ["secret.retire", "operator", { versions: [2] }],
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
  assert.ok(!written.includes("CANARY"));
});
