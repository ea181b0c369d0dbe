import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { test } from "node:test";

const root = dirname(import.meta.dirname);
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const filesBelow = (folder: string, end: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(end))
    .map((path) => posix.join(folder, path));

const documents = [
  ...readdirSync(root).filter((name) => name.endsWith(".md")),
  ...["docs", "bench", "simulators"].flatMap((folder) => filesBelow(folder, ".md")),
];

test("the path of an order and of a request name files that exist, each once", () => {
  const sections = read("ARCHITECTURE.md")
    .split("\n## ")
    .filter((section) => section.startsWith("The path of "));
  assert.equal(sections.length, 2);
  for (const section of sections) {
    const paths = [...section.matchAll(/^\| \d+ \| `([^`]+)`/gmu)].map(([, path = ""]) => path);
    assert.ok(paths.length >= 10, `${paths.length} files`);
    assert.deepEqual([...new Set(paths)], paths);
    assert.deepEqual(missing(paths.map((path) => posix.join("src", path))), []);
  }
});

test("links between documents lead to files", () => {
  const targets = documents.flatMap((document) =>
    [...read(document).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/gu)]
      .map(([, target = ""]) => target)
      .filter((target) => !target.startsWith("/"))
      .map((target) => posix.join(posix.dirname(document), target)),
  );
  assert.ok(targets.length >= 60, `${targets.length} links`);
  assert.deepEqual(missing(targets), []);
});

test("files that documents name exist", () => {
  const named = documents
    .filter((document) => document !== "CHANGELOG.md")
    .flatMap((document) => [...read(document).matchAll(/`((?:src|tests|scripts|docs)\/[\w./-]+)`/gu)])
    .map(([, path = ""]) => path);
  assert.ok(named.length >= 30, `${named.length} paths`);
  assert.deepEqual(missing(named), []);
});

test("the code and the tests of every rule of METRICS.md exist", () => {
  const known = new Set(
    ["src", "tests"].flatMap((folder) => filesBelow(folder, "")).map((path) => basename(path)),
  );
  const named = [...read("METRICS.md").matchAll(/`(?:[\w./-]+\/)?([\w.-]+\.(?:ts|json))`/gu)].map(
    ([, name = ""]) => name,
  );
  assert.ok(named.length >= 60, `${named.length} files`);
  assert.deepEqual(
    named.filter((name) => !known.has(name)),
    [],
  );
});

function missing(paths: readonly string[]): string[] {
  return paths.filter((path) => !existsSync(join(root, path)));
}
