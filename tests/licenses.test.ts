import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { licensesText } from "../tools/licenses.ts";

const project = join(import.meta.dirname, "..");
const kept = readFileSync(join(project, "THIRD_PARTY_LICENSES"), "utf8");

test("THIRD_PARTY_LICENSES is up to date with npm run licenses", () =>
  assert.ok(kept === licensesText(project), "run npm run licenses"));

test("it lists every dependency of package.json except those for development, with its version", () => {
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(project, "package.json"), "utf8"),
  ) as Record<"dependencies" | "optionalDependencies", Record<string, string>>;
  const lines = new Set(kept.split("\n").map((line) => line.replace(/ \([^)]*\)$/u, "")));
  for (const [name, version] of Object.entries({ ...dependencies, ...optionalDependencies }))
    assert.ok(lines.has(`${name} ${version}`), name);
});
