import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { progressLine } from "./terminal.ts";

test("a progress line fills up with its share and never leaves its bounds", () => {
  assert.match(progressLine("Reading", 0, 10), /^Reading +\[-{24}\] {3}0 %$/u);
  assert.match(progressLine("Reading", 5, 10), /\[#{12}-{12}\] {2}50 %$/u);
  assert.match(progressLine("Reading", 11, 10), /\[#{24}\] 100 %$/u);
  assert.match(progressLine("Reading", 0, 0), /\[-{24}\] {3}0 %$/u);
});

test("a full disk below standard output is a sentence", { skip: !existsSync("/dev/full") }, () => {
  const full = openSync("/dev/full", "w");
  const main = join(import.meta.dirname, "main.ts");
  const [inWords, inJson] = [[], ["--json"]].map((option) => {
    const { status, stderr } = spawnSync(process.execPath, [main, "completion", "bash", ...option], {
      stdio: ["ignore", full, "pipe"],
    });
    assert.equal(status, 1);
    return String(stderr);
  });
  closeSync(full);
  const sentence = "Standard output cannot be written: ENOSPC: no space left on device, write.";
  assert.equal(inWords, `${sentence}\n`);
  assert.deepEqual(JSON.parse(inJson ?? ""), { error: { message: sentence } });
});
