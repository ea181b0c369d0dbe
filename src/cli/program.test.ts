import assert from "node:assert/strict";
import { test } from "node:test";
import { COMMANDS, createProgram } from "./program.ts";

const namesOf = async (...words: string[]): Promise<string[]> =>
  (await createProgram({ environment: {} }, words)).commands.map((command) => command.name());

test("a command is loaded by its own name, alone", async () => {
  for (const name of Object.keys(COMMANDS)) {
    if (name !== "completion") assert.deepEqual(await namesOf("--json", name, "list"), [name]);
  }
});

test("help, completion and an unknown word load every command", async () => {
  for (const words of [[], ["--help"], ["help", "plan"], ["completion", "bash"], ["plans"], ["toString"]]) {
    assert.deepEqual(await namesOf(...words), Object.keys(COMMANDS));
  }
});
