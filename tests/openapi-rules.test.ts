import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { buildOpenApi } from "../src/http/openapi.ts";
import { makeFolder } from "./support/folder.ts";

const CLI = join(import.meta.dirname, "../node_modules/@redocly/cli/bin/cli.js");
const CONFIG = join(import.meta.dirname, "openapi.redocly.yaml");

test("redocly's strictest rules find nothing in the OpenAPI document", () => {
  const file = join(makeFolder(), "openapi.json");
  writeFileSync(file, JSON.stringify(buildOpenApi(), null, 2));
  // No telemetry and no check for updates.
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const words = [CLI, "lint", file, `--config=${CONFIG}`, "--max-problems=100"];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8", env });
  assert.equal(status, 0, stdout + stderr);
});
