import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runCommand, startCommand } from "./support/command.ts";
import { makeFolder } from "./support/folder.ts";

const folder = makeFolder();
// Under root the database runs as another user, who must be able to enter the folder.
chmodSync(folder, 0o755);

const inFolder = (name: string): Record<string, string> => ({
  RETURNS_DATA_DIR: join(folder, name),
  PORT: "0",
});

test("a copy of the stopped data folder serves the same workspaces to the same tokens", async () => {
  const run = async (line: string, name: string): Promise<string> => {
    const { code, stdout, stderr } = await runCommand(line.split(" "), inFolder(name));
    assert.equal(code, 0, stderr);
    return stdout;
  };
  await run("workspace create --domain shop.example --currency EUR --plan scale", "original");
  const create = "token create --workspace shop.example --name copy --scopes read:dashboard";
  const token = (await run(create, "original")).trim();
  execFileSync("cp", ["-a", join(folder, "original"), join(folder, "copy")]);
  rmSync(join(folder, "original"), { recursive: true });

  await run("doctor", "copy");
  assert.match(await run("workspace list", "copy"), /^shop\.example /mu);
  const serving = startCommand(["serve", "--no-demo", "--json"], inFolder("copy"));
  const { address } = JSON.parse(await serving.printed(/\}\n$/u)) as { address: string };
  const answer = await fetch(`${address}/api/v1/summary?start_month=2026-01&end_month=2026-02`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(answer.status, 409, "the token is known; the workspace waits for its first data");
  serving.child.kill("SIGTERM");
  assert.equal((await serving.outcome).code, 0);
});
