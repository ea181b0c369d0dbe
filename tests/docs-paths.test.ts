import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "..");
/** A suffix such as .pg.test.ts is no file. */
const FILE = /^(?!\.(?:pg|test)\.)[\w.<>*/-]+\.(?:ts|js|md|json|yml|sql|svg|css)$/u;
const FOLDER = /^[\w.<>/-]+\/$/u;

/** Files and folders that a document names in code or links to. */
function pathsOf(document: string): string[] {
  const markdown = readFileSync(join(root, document), "utf8");
  const inCode = [...markdown.matchAll(/`([^`\n]+)`/gu)].map(([, code = ""]) => code);
  const links = [...markdown.matchAll(/\]\(([^)#:]+)\)/gu)].map(([, target = ""]) => target);
  return [...new Set([...inCode.filter((code) => FILE.test(code) || FOLDER.test(code)), ...links])];
}

/** A path is written from the project's root or from src/; a bare file name may lie anywhere in src/. */
function exists(path: string): boolean {
  // A new file's name is not known yet, only its folder is: the first one that has the placeholder is looked up.
  const known = path.includes("<") ? dirname(path.slice(0, path.indexOf("<")).concat("x")) : path;
  const places =
    known.includes("/") || known.endsWith(".md") ? [known, `src/${known}`] : [known, `src/**/${known}`];
  return globSync(places, { cwd: root }).length > 0;
}

for (const document of ["CONTRIBUTING.md", "ARCHITECTURE.md"]) {
  test(`${document}: every file and folder that it names is there`, () => {
    const paths = pathsOf(document);
    assert.ok(paths.length >= 10, `${paths.length} paths`);
    assert.deepEqual(
      paths.filter((path) => !exists(path)),
      [],
    );
  });
}

test("the check finds a path that is not there", () => {
  assert.ok(exists("src/contract/<name>.ts") && exists("metrics/") && exists("window.test.ts"));
  assert.ok(!exists("src/nothing/<name>.ts") && !exists("src/contract/nothing.ts") && !exists("nothing.ts"));
});

test("a new endpoint takes at most eight files that are written by hand", () => {
  const recipe = readFileSync(join(root, "CONTRIBUTING.md"), "utf8")
    .split("### An endpoint\n")[1]
    ?.split("\n### ")[0];
  const files = [...(recipe ?? "").matchAll(/^\| `([^`]+)` \|/gmu)].map(([, file]) => file);
  assert.ok(files.includes("src/contract/<name>.ts"));
  assert.ok(files.length <= 8, files.join(", "));
});
