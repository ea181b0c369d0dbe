import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { AUDIT_WORDS } from "./audit-words.ts";
import { RIGHTS } from "./rights.ts";

const SOURCES = join(import.meta.dirname, "..");
/** What a text between quotes looks like when it names an action; data/service.json and the like do not. */
const ACTION = /"((?:[a-z]+_)*[a-z]+\.(?:[a-z]+_)*[a-z]+)"/gu;
const NO_ACTIONS: ReadonlySet<string> = new Set(["service.json"]);

test("every right has words", () => {
  const without = Object.keys(RIGHTS).filter((name) => AUDIT_WORDS[name] === undefined);
  assert.deepEqual(without, []);
});

/** What people and sources do on their own, which takes no right of a workspace. */
const ON_THEIR_OWN = /^(?:session|privacy)\.|^(?:source\.uninstalled|user\.link|user\.recover|demo\.clear)$/u;

/** The actions that are named in files that record any. */
function recordedActions(): string[] {
  const files = globSync("{control,identity,sync,alerts}/**/*.ts", {
    cwd: SOURCES,
    exclude: ["**/*.test.ts"],
  });
  const recording = files
    .map((file) => readFileSync(join(SOURCES, file), "utf8"))
    .filter((text) => /recordAction|insertAuditEvent|import \{[^}]*\brecord\b/u.test(text));
  assert.ok(recording.length >= 15, `only ${recording.length} files record actions`);
  const named = recording.flatMap((text) => [...text.matchAll(ACTION)].map(([, name = ""]) => name));
  return [...new Set(named)].filter((name) => !NO_ACTIONS.has(name));
}

test("every action that is recorded has words", () => {
  assert.deepEqual(
    recordedActions().filter((name) => AUDIT_WORDS[name] === undefined),
    [],
  );
});

test("an action is recorded by the name of its right", () => {
  assert.deepEqual(
    recordedActions().filter((name) => !(name in RIGHTS) && !ON_THEIR_OWN.test(name)),
    [],
  );
});
