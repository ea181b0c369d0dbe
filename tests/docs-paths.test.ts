import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync, readdirSync } from "node:fs";
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
  ...["docs", "tools"].flatMap((folder) => filesBelow(folder, ".md")),
];

test("the paths of an order, a request, a token, a webhook and a report name files that exist, each once", () => {
  const sections = read("ARCHITECTURE.md")
    .split("\n## ")
    .filter((section) => section.startsWith("The path of "));
  assert.equal(sections.length, 5);
  for (const section of sections) {
    const paths = [...section.matchAll(/^\| \d+ \| `([^`]+)`/gmu)].map(([, path = ""]) => path);
    assert.ok(paths.length >= 5, `${paths.length} files`);
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
    .flatMap((document) => [
      ...read(document).matchAll(/`((?:src|tests|scripts|docs|tools\/\w+)\/[\w./-]+)`/gu),
    ])
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

/** A suffix such as .pg.test.ts is no file. */
const FILE = /^(?!\.(?:pg|test)\.)[\w.<>*/-]+\.(?:ts|js|md|json|yml|sql|svg|css)$/u;
const FOLDER = /^[\w.<>/-]+\/$/u;

/** Files and folders that a document names in code. */
function pathsOf(document: string): string[] {
  const inCode = [...read(document).matchAll(/`([^`\n]+)`/gu)].map(([, code = ""]) => code);
  return [...new Set(inCode.filter((code) => FILE.test(code) || FOLDER.test(code)))];
}

/** A path is written from the project's root or from src/; a bare file name may lie anywhere in src/. */
function exists(path: string): boolean {
  // The name of a new file is a placeholder, so only the folder before it is looked up.
  const known = path.includes("<") ? dirname(path.slice(0, path.indexOf("<")).concat("x")) : path;
  const places =
    known.includes("/") || known.endsWith(".md") ? [known, `src/${known}`] : [known, `src/**/${known}`];
  return globSync(places, { cwd: root }).length > 0;
}

for (const document of ["CONTRIBUTING.md", "ARCHITECTURE.md"]) {
  test(`${document}: every file and folder that it names exists`, () => {
    const paths = pathsOf(document);
    assert.ok(paths.length >= 5, `${paths.length} paths`);
    assert.deepEqual(
      paths.filter((path) => !exists(path)),
      [],
    );
  });
}

test("the check finds a missing path", () => {
  assert.ok(exists("src/contract/<name>.ts") && exists("metrics/") && exists("window.test.ts"));
  assert.ok(!exists("src/nothing/<name>.ts") && !exists("src/contract/nothing.ts") && !exists("nothing.ts"));
});

test("a new endpoint needs at most eight files that are written by hand", () => {
  const recipe = read("CONTRIBUTING.md").split("### An endpoint\n")[1]?.split("\n### ")[0];
  const files = [...(recipe ?? "").matchAll(/^\| `([^`]+)` \|/gmu)].map(([, file]) => file);
  assert.ok(files.includes("src/contract/<name>.ts"));
  assert.ok(files.length <= 8, files.join(", "));
});

function missing(paths: readonly string[]): string[] {
  return paths.filter((path) => !existsSync(join(root, path)));
}
