import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "..");
const tracked = trackedFiles();
const skip = tracked.length === 0 && "not a git checkout: no list of tracked files";

/** Assembled from parts, so that this file does not match itself; three X in quotes are a currency. */
const unfinishedMarks = ["TO-DO", "FIX-ME", "XX-X"].map((mark) => mark.replace("-", ""));
const unfinished = new RegExp(`(?<!")\\b(?:${unfinishedMarks.join("|")})\\b`);
const machinePath = /(?<![\w.}])\/(?:work|farm|root|home|Users|tmp)\/|[A-Z]:\\Users\\/;
const setAside = /(?:\.(?:only|todo)|\b(?:test|it|describe|suite)\.skip)\(|[{,]\s*(?:skip|only|todo):\s*true/;

test("no tracked file names a path of somebody's machine", { skip }, () =>
  assert.deepEqual(linesMatching(machinePath, tracked), []),
);

test("no package is bound to a registry's host", { skip }, () => {
  const settings = tracked.filter((path) => /(?:^|\/)(?:package-lock\.json|\.npmrc)$/.test(path));
  assert.ok(settings.includes("package-lock.json"));
  assert.deepEqual(linesMatching(/"resolved"|registry\s*=/, settings), []);
});

test("nothing in the source or the tests is marked as unfinished", { skip }, () =>
  assert.deepEqual(linesMatching(unfinished, sources()), []),
);

test("no test is marked as skipped, todo or only", { skip }, () =>
  assert.deepEqual(linesMatching(setAside, sources()), []),
);

test("the patterns find what they are for", () => {
  for (const path of ["home", "tmp"]) assert.match(`open("/${path}/someone")`, machinePath);
  assert.doesNotMatch("https://example.com/home/", machinePath);
  for (const mark of unfinishedMarks) assert.match(`// ${mark}: later`, unfinished);
  for (const word of ["skip", "only", "todo"]) {
    assert.match(`test.${word}("x")`, setAside);
    assert.match(`test("x", { ${word}: true })`, setAside);
  }
  assert.doesNotMatch("test(title, { skip: reason })", setAside);
});

function sources(): string[] {
  return tracked.filter((path) => /^(?:src|tests)\//.test(path));
}

/** The matching lines as `path:line: text`; files that are not text hold none. */
function linesMatching(pattern: RegExp, paths: string[]): string[] {
  return paths.flatMap((path) => {
    const text = readFileSync(join(root, path), "utf8");
    if (text.includes("\0")) return [];
    const lines = text.split("\n").map((line, index) => ({ line, at: `${path}:${index + 1}` }));
    return lines.filter(({ line }) => pattern.test(line)).map(({ line, at }) => `${at}: ${line.trim()}`);
  });
}

function trackedFiles(): string[] {
  const { status, stdout } = spawnSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" });
  if (status !== 0) return [];
  return stdout.split("\0").filter((path) => path !== "" && existsSync(join(root, path)));
}
