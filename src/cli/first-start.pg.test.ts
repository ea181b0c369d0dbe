import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runCommand, runHere, startCommand } from "../../tests/support/command.ts";
import { createTestDatabase, FORGET_KEYS } from "../../tests/support/database.ts";
import { execute } from "../../tests/support/server.ts";

const dataFolder = mkdtempSync(join(tmpdir(), "returns-first-start-"));
const environment = { RETURNS_DATA_DIR: dataFolder, PORT: "0" };
after(() => rmSync(dataFolder, { recursive: true, force: true }));

test("the first start makes a demo store, also after it was cut off, and its three requests work when pasted", async () => {
  const cutOff = startCommand(["serve"], environment);
  // The folder of a store that is generated.
  await waitForFile(/^tmp$/u);
  cutOff.child.kill("SIGINT");
  assert.equal((await cutOff.outcome).code, 130);
  assert.deepEqual(readdirSync(join(dataFolder, "tmp")), []);

  const serving = startCommand(["serve"], environment);
  const text = await serving.printed(/reportSection=reasons'\n/u);
  const lines = text.split("\n").filter((line) => line.startsWith("curl "));
  assert.equal(lines.length, 3);
  const answers = lines.map((line) => JSON.parse(execFileSync("sh", ["-c", line], { encoding: "utf8" })));
  const [summary, leaderboard, report] = answers;
  assert.ok(summary.data.return_rate > 0.4);
  assert.equal(leaderboard.data.rows[0].sku, summary.meta.selector.primarySku);
  assert.equal(report.data.return_reasons[0].reason, "defective");

  assert.ok(text.indexOf("/enter#") < text.indexOf("curl "), "the link stands above the requests");
  assert.equal(await openLink(text), "/w/demo-store.example");
  const { stdout: link } = await runCommand(["user", "link"], environment);
  assert.equal(await openLink(link), "/w/demo-store.example");

  const token = readFileSync(join(dataFolder, "demo-token"), "utf8").trim();
  assert.ok(text.includes(token));
  assert.equal(statSync(join(dataFolder, "demo-token")).mode & 0o777, 0o600);

  const second = await runHere(["serve"], environment);
  assert.equal(second.code, 1);
  assert.match(
    second.stderr,
    /^The service is already running at http:\/\/127\.0\.0\.1:\d+ \(process \d+, .+\)\.\n$/u,
  );
  assert.match((await runCommand(["workspace", "list"], environment)).stdout, /^demo-store\.example /mu);

  serving.child.kill("SIGTERM");
  const { code, stderr } = await serving.outcome;
  assert.equal(code, 0);
  assert.ok(!stderr.includes(token));
  assert.ok(!stderr.includes(secretOf(text)) && !stderr.includes(secretOf(link)));
  assert.deepEqual(readdirSync(dataFolder).toSorted(), ["demo-token", "postgresql", "secret", "tmp"]);
  const log = readFileSync(join(dataFolder, "postgresql", "server.log"), "utf8");
  assert.doesNotMatch(log, /does not exist/u);
});

test("a later start has the same data and says where the token is kept; with CONSOLE=off there is no link", async () => {
  const without = { ...environment, CONSOLE: "off" };
  const serving = startCommand(["serve"], without);
  const text = await serving.printed(/curl .*\n/u);
  const line = text.split("\n").find((candidate) => candidate.startsWith("curl "));
  const token = readFileSync(join(dataFolder, "demo-token"), "utf8").trim();
  assert.ok(!text.includes(token));
  assert.doesNotMatch(text, /enter#|Console/u);
  const answer = JSON.parse(execFileSync("sh", ["-c", line ?? ""], { encoding: "utf8" }));
  assert.equal(answer.data.rows.length, 3);
  const { code, stdout, stderr } = await runCommand(["user", "link"], without);
  assert.deepEqual([code, stdout, stderr], [1, "", "The console is off: CONSOLE is set to off.\n"]);
  serving.child.kill("SIGINT");
  assert.equal((await serving.outcome).code, 0);
});

test("a demo store on a database of one's own leaves the embedded one's token alone", async () => {
  const other = await createTestDatabase();
  await execute(other.url, FORGET_KEYS);
  try {
    const before = readFileSync(join(dataFolder, "demo-token"), "utf8");
    const making = startCommand(["demo"], { ...environment, DATABASE_URL: other.url });
    // The token is kept before the store is imported, which takes longest.
    const file = await waitForFile(/^demo-token-[0-9a-f]{8}$/u);
    making.child.kill("SIGINT");
    assert.equal((await making.outcome).code, 130);
    assert.equal(readFileSync(join(dataFolder, "demo-token"), "utf8"), before);
    assert.match(readFileSync(join(dataFolder, file), "utf8"), /^rta_live_/u);
  } finally {
    await other.drop();
  }
});

const secretOf = (text: string): string => /\/enter#([A-Za-z0-9_-]{43})$/mu.exec(text)?.[1] ?? "";

/** Signs in by the link in a text, as its page does; returns where the console leads then. */
async function openLink(text: string): Promise<string | null> {
  const origin = /(http:\/\/localhost:\d+)\/enter#/u.exec(text)?.[1] ?? "";
  const headers = { origin };
  const body = new URLSearchParams({ secret: secretOf(text) });
  const entered = await fetch(`${origin}/enter`, { method: "POST", redirect: "manual", headers, body });
  const [cookie = ""] = (entered.headers.get("set-cookie") ?? "").split(";");
  const home = await fetch(`${origin}/`, { redirect: "manual", headers: { cookie } });
  return home.headers.get("location");
}

/** Until something of that name is in the data folder; returns its name. */
async function waitForFile(name: RegExp): Promise<string> {
  const deadlineMs = Date.now() + 60_000;
  for (;;) {
    const found = readdirSync(dataFolder).find((each) => name.test(each));
    if (found !== undefined) return found;
    assert.ok(Date.now() < deadlineMs, `${name} did not appear`);
    await new Promise((done) => setTimeout(done, 50));
  }
}
