import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

/** What docs/security.md says is tested. */

const root = join(import.meta.dirname, "..");
const document = readFileSync(join(root, "docs/security.md"), "utf8");
const named = (text: string): string[] =>
  [...text.matchAll(/`((?:tests|src)\/[^`]+\.test\.ts)`/gu)].map(([, path = ""]) => path);
const ofAsvs = document
  .slice(document.indexOf("\n## ASVS 5.0"))
  .split("\n")
  .filter((line) => /^\| \d/u.test(line));

test("every test that the document names is there", () => {
  const paths = named(document);
  assert.ok(paths.length > 40);
  assert.deepEqual(
    paths.filter((path) => !existsSync(join(root, path))),
    [],
  );
});

test("every line of ASVS names a test, and stands once", () => {
  assert.ok(ofAsvs.length > 20);
  assert.deepEqual(
    ofAsvs.filter((line) => named(line).length === 0),
    [],
  );
  const lines = ofAsvs.flatMap((line) => (line.split("|")[1] ?? "").match(/\d+\.\d+\.\d+/gu) ?? []);
  assert.deepEqual(
    lines.filter((line, index) => lines.indexOf(line) !== index),
    [],
  );
});
