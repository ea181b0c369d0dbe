import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { runCommand, runHere, startCommand, type CommandOutcome } from "../../tests/support/command.ts";
import { isCitus } from "../../tests/support/citus.ts";
import { before, useDatabase } from "../../tests/support/use.ts";
import { execute, urlOfDatabase } from "../../tests/support/server.ts";
import { serviceEnvironment } from "../../tests/support/service.ts";
import { withStoreFolder } from "../../tests/support/store-folder.ts";

const database = useDatabase();
let environment: Record<string, string>;
before(() => {
  environment = serviceEnvironment(database.url);
});

/** Words are separated by single blanks. */
const run = (line: string): Promise<CommandOutcome> => runCommand(line.split(" "), environment);

async function runJson<Document>(line: string): Promise<Document> {
  const { code, stdout, stderr } = await run(`${line} --json`);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, "");
  return JSON.parse(stdout) as Document;
}

test("a row that cannot be used keeps everything out and is named; --skip-invalid imports the rest", async () => {
  await runJson("workspace create --domain bad.example --currency EUR");
  const [line] = smallStore().order_lines;
  const bad = { order_lines: [line, { ...line, line_id: "2", units: -1 }] };
  await withStoreFolder(bad, async (folder) => {
    const refused = await run(`import ${folder} --workspace bad.example`);
    assert.equal(refused.code, 1);
    assert.equal(refused.stdout, "");
    assert.match(
      refused.stderr,
      /^order_lines\.csv:3 units: .+\nNothing was imported: 1 row cannot be used/mu,
    );
    const shown = await runJson<{ readiness: string }>("workspace show --workspace bad.example");
    assert.equal(shown.readiness, "installing");

    const asJson = await run(`import ${folder} --workspace bad.example --json`);
    assert.equal(asJson.code, 1);
    const summary = JSON.parse(asJson.stdout) as { imported: boolean; invalid: { line: number }[] };
    assert.deepEqual([summary.imported, summary.invalid[0]?.line], [false, 3]);
    assert.match(asJson.stderr, /^\{"error":\{"message":"Nothing was imported/u);

    const skipped = await run(`import ${folder} --workspace bad.example --skip-invalid`);
    assert.equal(skipped.code, 0, skipped.stderr);
    assert.match(skipped.stdout, /^orders +1$/mu);
  });
});

test("RETURNS_WORKSPACE replaces --workspace, which takes precedence", async () => {
  for (const domain of ["one.example", "two.example"]) {
    await runJson(`workspace create --domain ${domain} --currency EUR`);
  }
  const chosen = { ...environment, RETURNS_WORKSPACE: "one.example" };
  const shown = async (line: string): Promise<string> => {
    const { stdout } = await runCommand(`${line} --json`.split(" "), chosen);
    return (JSON.parse(stdout) as { shop_domain: string }).shop_domain;
  };
  assert.equal(await shown("workspace show"), "one.example");
  assert.equal(await shown("workspace show --workspace two.example"), "two.example");
  assert.equal((await run("workspace show")).code, 2);
});

test("an empty database is migrated by serve, not by other commands", async () => {
  const url = urlOfDatabase(database.url, `${new URL(database.url).pathname.slice(1)}_new`);
  const name = new URL(url).pathname.slice(1);
  await execute(database.url, `create database ${name}`);
  try {
    const onNew = serviceEnvironment(url);
    const behind = await runCommand(["workspace", "list"], onNew);
    assert.equal(behind.code, 1);
    assert.match(behind.stderr, /behind this version of the service: run "\.\/returns migrate"/u);
    assert.equal((await runHere(["serve", "--no-migrate"], onNew)).code, 1);
    const serving = startCommand(["serve", "--no-worker"], onNew);
    await serving.printed(/There is no workspace yet/u);
    const { stdout: examined } = await runCommand(["doctor", "--json"], onNew);
    assert.match(examined, /"No worker is running: /u);
    serving.child.kill("SIGINT");
    assert.equal((await serving.outcome).code, 0);
    assert.equal((await runCommand(["migrate", "--json"], onNew)).stdout.includes('"migrated": false'), true);
    await execute(url, "insert into schema_migration (name, run_on) values ('9999_later', now())");
    const newer = await runHere(["serve"], onNew);
    assert.equal(newer.code, 1);
    assert.match(newer.stderr, /newer than this version of the service: install/u);
  } finally {
    await execute(database.url, `drop database ${name} with (force)`);
  }
});

test("migrate needs no secret, and creates none", async () => {
  const folder = join(mkdtempSync(join(tmpdir(), "returns-migrate-")), "data");
  try {
    const onUrl = { DATABASE_URL: database.url, RETURNS_DATA_DIR: folder };
    assert.equal((await runCommand(["migrate", "--json"], onUrl)).code, 0);
    const distributing = await runCommand(["migrate", "--distribute"], onUrl);
    assert.ok(isCitus() ? distributing.code === 0 : /has no Citus/u.test(distributing.stderr));
    assert.equal(existsSync(folder), false);
  } finally {
    rmSync(dirname(folder), { recursive: true });
  }
});

test("a port in use and a database away are one sentence each", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const port = String((other.address() as AddressInfo).port);
  const second = await runHere(["serve"], { ...environment, PORT: port });
  other.close();
  assert.equal(second.code, 1);
  assert.equal(
    second.stderr,
    `Port ${port} of 127.0.0.1 is in use: stop the process that uses it, or set PORT to another port.\n`,
  );
  const away = await runCommand(["plan", "list"], {
    ...environment,
    DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/returns`,
  });
  assert.equal(away.code, 1);
  assert.match(
    away.stderr,
    /^The database does not answer \(.+\): check DATABASE_URL or, without it, the file postgresql\/server\.log in the data folder\.\n$/u,
  );
});

type OrderLine = { order_id: string; line_id: string; ordered_at: string; sku: string; units: number };

function smallStore(): { order_lines: [OrderLine] } {
  const line = { order_id: "1", line_id: "1", ordered_at: "2026-05-03T10:00:00Z", sku: "LAMP-01", units: 3 };
  return { order_lines: [line] };
}
