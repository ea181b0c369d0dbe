import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

const script = join(import.meta.dirname, "..", "tools", "openapi.ts");

test("redocly's strictest rules find nothing in the OpenAPI document", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
});
