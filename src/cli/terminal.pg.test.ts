import assert from "node:assert/strict";
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { before, useDatabase } from "../../tests/support/use.ts";
import { serviceEnvironment } from "../../tests/support/service.ts";
import { eventually } from "../../tests/support/worker.ts";
import { runCommand } from "../../tests/support/command.ts";

const MAIN = join(import.meta.dirname, "main.ts");

const database = useDatabase();
let environment: Record<string, string>;
before(async () => {
  environment = serviceEnvironment(database.url);
  for (const domain of ["a-shop-with-a-long-name.example", "b.example"]) {
    await runCommand(["workspace", "create", "--domain", domain, "--currency", "EUR"], environment);
  }
});

/** The command on a terminal of 60 columns. */
function startOnTerminal(line: string, more: Record<string, string> = {}): ChildProcessWithoutNullStreams {
  const command = `stty cols 60 rows 24; exec "${process.execPath}" "${MAIN}" ${line}`;
  const words =
    process.platform === "linux" ? ["-qec", command, "/dev/null"] : ["-q", "/dev/null", "sh", "-c", command];
  return spawn("script", words, {
    env: { PATH: process.env["PATH"], TERM: "xterm", ...environment, ...more },
  });
}

/** What the terminal shows of a command that ends by itself. */
async function onTerminal(line: string, more: Record<string, string> = {}): Promise<string> {
  const child = startOnTerminal(line, more);
  const shown = await text(child.stdout);
  return shown.replaceAll("\r", "");
}

const withoutColors = (shown: string): string => shown.replaceAll(/\u001b\[\d*m/gu, "");

test("on a terminal a table fits its width, times are relative, and states have colours", async () => {
  await runCommand(
    ["token", "create", "--workspace", "b.example", "--name", "n", "--scopes", "read:alerts"],
    environment,
  );
  const tokens = await onTerminal("token list --workspace b.example");
  assert.match(tokens, /\u001b\[3\dm/u);
  assert.match(withoutColors(tokens), /just\s+now/u);
  const lines = withoutColors(tokens).split("\n");
  assert.ok(
    lines.every((line) => line.length <= 60),
    lines.join("\n"),
  );
});

test("NO_COLOR takes the colours away, and a pipe the rest", async () => {
  const plain = await onTerminal("workspace list", { NO_COLOR: "1" });
  assert.ok(!plain.includes("\u001b"));
  const piped = await runCommand(["workspace", "list"], environment);
  assert.match(
    piped.stdout,
    /^a-shop-with-a-long-name\.example {2}EUR {7}growth {2}active {3}installing {2}-$/mu,
  );
});

test("the log is lines for people on a terminal, and the welcome names the guides", async () => {
  const child = startOnTerminal("serve");
  let shown = "";
  child.stdout.on("data", (piece) => (shown += withoutColors(String(piece))));
  try {
    const address = /^ +Guides +(http\S+)\/docs\r$/mu;
    const guides = await eventually(async () => address.exec(shown)?.[1], "the guides", 60);
    assert.equal((await fetch(`${guides}/api/v1/summary`)).status, 401);
    const line =
      /^\d\d:\d\d:\d\d WARN {2}GET \/api\/v1\/summary 401 in \S+ ms (?=.*reqId=\S+).*reason=.*\r$/mu;
    await eventually(async () => line.test(shown), "the line of the request", 60);
  } finally {
    child.stdin.write("\u0003");
    await once(child, "close");
  }
});

test("on a terminal a name suffices once the person is confirmed", async () => {
  for (const name of ["Operator", "Bea"]) await runCommand(["user", "create", name], environment);
  for (const [answer, isDisabled] of [
    ["n", false],
    ["y", true],
  ] as const) {
    const child = startOnTerminal("user disable bea");
    child.stdin.write(`${answer}\n`);
    const shown = withoutColors(await text(child.stdout)).replaceAll(/\s+/gu, " ");
    assert.match(shown, /"Bea" is [0-9a-f-]{36}; member of no workspace\. Is this the right person\?/u);
    assert.equal(shown.includes("Bea is now disabled."), isDisabled, shown);
    assert.equal(shown.includes("Nothing was changed."), !isDisabled, shown);
  }
});
