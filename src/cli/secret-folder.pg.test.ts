import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import pg from "pg";
import { rowsIn } from "../../tests/support/backups.ts";
import { startCommand } from "../../tests/support/command.ts";
import { createTestDatabase, FORGET_KEYS } from "../../tests/support/database.ts";
import { countLockWaits } from "../../tests/support/locks.ts";
import { CREATE_TOKEN, CREATE_WORKSPACE, createSecretCommands } from "../../tests/support/secret-commands.ts";
import { execute } from "../../tests/support/server.ts";
import { openTestPool } from "../../tests/support/service.ts";
import { eventually } from "../../tests/support/worker.ts";

/** Root secrets of a data folder: a rotation that is cut off anywhere leaves a secret that works. */

const folder = mkdtempSync(join(tmpdir(), "returns-secret-folder-"));
after(() => rmSync(folder, { recursive: true }));
const { run, documentOf, listed, written } = createSecretCommands();

/** One machine whose secret is in its data folder. */
async function ownFolder(
  name: string,
): Promise<{ place: string; of: Record<string, string>; drop: () => Promise<void> }> {
  const own = await createTestDatabase();
  await execute(own.url, FORGET_KEYS);
  const place = join(folder, name);
  const of = { DATABASE_URL: own.url, RETURNS_DATA_DIR: place, PORT: "0" };
  assert.equal((await run(CREATE_WORKSPACE, of)).code, 0);
  assert.equal((await run(CREATE_TOKEN, of)).code, 0);
  return { place, of, drop: () => own.drop() };
}

const secretIn = (place: string, name = "secret"): string => readFileSync(join(place, name), "utf8").trim();

test("with a data folder two commands rotate; a running server goes on", async (context) => {
  const { place, of, drop } = await ownFolder("one-machine");
  context.after(drop);
  const first = secretIn(place);
  const serving = startCommand(["serve", "--no-worker", "--json"], { ...of, LOG_LEVEL: "trace" });
  context.after(() => serving.child.kill("SIGKILL"));
  const { address } = JSON.parse(await serving.printed(/\}\n$/u)) as { address: string };
  const added = await run(["secret", "add"], of);
  assert.equal(added.stdout, `Version 2 is valid from now on. Its secret is in ${join(place, "secret")}.\n`);
  assert.match(
    added.stderr,
    /Version 1 is kept in \S+secret\.1, for backups made before\.\nThen: .+ retire 1\n$/u,
  );
  const second = secretIn(place);
  assert.notEqual(second, first);
  assert.equal(secretIn(place, "secret.1"), first);
  assert.deepEqual(readdirSync(place).toSorted(), ["secret", "secret.1"]);
  for (const name of ["secret", "secret.1"]) assert.equal(statSync(join(place, name)).mode & 0o777, 0o600);
  await documentOf(["secret", "retire", "1", "--yes"], of);
  const { token } = (await documentOf(CREATE_TOKEN, of)) as { token: string };
  const answer = await fetch(`${address}/api/v1/entities`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(answer.status, 409, "the token is known, though the workspace has no data yet");
  serving.child.kill("SIGTERM");
  const { code, stdout, stderr } = await serving.outcome;
  assert.equal(code, 0);
  for (const secret of [first, second]) assert.ok(!(written() + stdout + stderr).includes(secret));
});

test("a rotation that is killed leaves a secret that works, and is finished by the next one", async (context) => {
  const { place, of, drop } = await ownFolder("killed");
  const first = secretIn(place);
  const url = of["DATABASE_URL"] ?? "";
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const pool = openTestPool(url);
  context.after(async () => {
    await client.end();
    await pool.end();
    await drop();
  });
  await client.query("begin; lock table identity_event in access exclusive mode");
  const adding = startCommand(["secret", "add"], of);
  await eventually(async () => (await countLockWaits(pool)) > 0, "the command writes its audit event", 60);
  adding.child.kill("SIGKILL");
  await adding.outcome;
  await client.query("rollback");
  assert.deepEqual([secretIn(place), await listed(of)], [first, [[1, "valid", true]]], "nothing has changed");
  const next = secretIn(place, "secret.next");

  // The state of a process that was killed between the database and the file.
  await documentOf(["secret", "add", join(place, "secret.next")], of);
  await documentOf(CREATE_TOKEN, of);
  assert.equal(secretIn(place), first);
  const finished = await documentOf(["secret", "add"], of);
  assert.deepEqual([finished["version"], finished["is_new"]], [2, false]);
  assert.deepEqual([secretIn(place), secretIn(place, "secret.1")], [next, first]);
  assert.deepEqual(await listed(of), [
    [1, "valid", false],
    [2, "valid", true],
  ]);
  assert.deepEqual(readdirSync(place).toSorted(), ["secret", "secret.1"]);
});

test("two operators who retire each other's secret leave one", async (context) => {
  const { place, of, drop } = await ownFolder("two-operators");
  context.after(drop);
  const file = join(place, "second");
  await documentOf(["secret", "add", file], of);
  const second = { ...of, RETURNS_SECRET_FILE: file };
  const outcomes = await Promise.all([
    run(["secret", "retire", "1", "--yes"], second),
    run(["secret", "retire", "2", "--yes"], of),
  ]);
  assert.deepEqual(new Set(outcomes.map(({ code }) => code)), new Set([0, 1]));
  const [row] = await rowsIn<{ valid: number }>(
    of["DATABASE_URL"] ?? "",
    "select count(sealed_keys)::integer as valid from installation_secret",
  );
  assert.equal(row?.valid, 1);
});
