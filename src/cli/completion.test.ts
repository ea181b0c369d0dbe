import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { runCommand } from "../../tests/support/command.ts";

const run = promisify(execFile);

/** What bash offers for the last of these words, sourced from the script that the command prints. */
async function completed(words: readonly string[]): Promise<string[]> {
  const { stdout: script } = await runCommand(["completion", "bash"], {});
  const line = words.map((word) => `'${word}'`).join(" ");
  const program = `${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _returns; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run("bash", ["--norc", "-c", program]);
  return stdout.split("\n").filter((word) => word !== "");
}

test("bash completes commands, commands below them, options, and their values", async () => {
  assert.deepEqual(await completed(["./returns", "wor"]), ["worker", "workspace"]);
  assert.deepEqual(await completed(["./returns", "token", "r"]), ["revoke", "rotate"]);
  assert.deepEqual(await completed(["./returns", "token", "revoke", "--"]), [
    "--workspace",
    "--yes",
    "--version",
    "--json",
    "--help",
  ]);
  assert.deepEqual(await completed(["./returns", "--json", "watch", "add", "--w"]), ["--workspace"]);
  assert.deepEqual(await completed(["./returns", "query", "summary", "--window", "9"]), ["90d"]);
  assert.deepEqual(await completed(["./returns", "completion", ""]).then((words) => words.slice(0, 3)), [
    "bash",
    "zsh",
    "fish",
  ]);
});

test("zsh and fish get scripts with the same words, and another shell is refused", async () => {
  const zsh = await runCommand(["completion", "zsh"], {});
  assert.match(zsh.stdout, /bashcompinit[^]+complete -o default -F _returns returns\n$/u);
  const fish = await runCommand(["completion", "fish"], {});
  assert.match(fish.stdout, /^complete -c returns .*= " token"' -a 'create list revoke rotate /mu);
  assert.match(
    fish.stdout,
    /^complete -c returns .*= " query summary"' -l window -x -a 'primary 30d 90d lifetime'$/mu,
  );
  const other = await runCommand(["completion", "powershell"], {});
  assert.deepEqual([other.code, other.stdout], [2, ""]);
});
