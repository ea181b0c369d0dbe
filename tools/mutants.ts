/**
 * Changes one line at a time in a copy of the last commit, and reports whether its test fails:
 * npm run mutants [-- <number, or part of a path>…]. Exits with 1 if one survived or no longer matches the code.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../tests/support/folder.ts";

/** `find` is replaced; `test` is the file that must then fail. */
type Mutant = { file: string; find: string; replace: string; test: string };
type Numbered = Mutant & { number: number };
type Outcome = "caught" | "survived" | "does not fit";

const project = join(import.meta.dirname, "..");
const LONGEST_MS = 240_000;

process.exitCode = main(process.argv.slice(2));

function main(wanted: readonly string[]): number {
  const mutants = (JSON.parse(readFileSync(join(project, "tests/mutants.json"), "utf8")) as Mutant[])
    .map((mutant, index): Numbered => ({ ...mutant, number: index + 1 }))
    .filter((mutant) => wanted.length === 0 || wanted.some((each) => isNamed(mutant, each)));
  const outcomes = withCopy((copy) => mutants.map((mutant) => outcomeOf(mutant, copy)));
  const caught = outcomes.filter((outcome) => outcome === "caught").length;
  console.log(`${caught} of ${mutants.length} caught.`);
  return caught === mutants.length ? 0 : 1;
}

function isNamed({ number, file, test }: Numbered, wanted: string): boolean {
  return /^\d+$/u.test(wanted) ? number === Number(wanted) : `${file} ${test}`.includes(wanted);
}

/** A separate work tree, so that edits and tests here never see a mutant. */
function withCopy<Result>(use: (copy: string) => Result): Result {
  const copy = join(makeFolder(), "copy");
  execFileSync("git", ["worktree", "add", "--quiet", "--detach", copy, "HEAD"], { cwd: project });
  try {
    symlinkSync(join(project, "node_modules"), join(copy, "node_modules"));
    return use(copy);
  } finally {
    execFileSync("git", ["worktree", "remove", "--force", copy], { cwd: project });
  }
}

function outcomeOf({ number, file, find, replace, test }: Numbered, copy: string): Outcome {
  const path = join(copy, file);
  const code = readText(path);
  const places = code.split(find).length - 1;
  const outcome = places === 1 ? mutated() : "does not fit";
  const where = `${number} ${file}: ${JSON.stringify(find)}`;
  if (outcome === "does not fit") console.log(`${outcome}: ${where} is there ${places} times, not once`);
  else console.log(`${outcome}: ${where} → ${JSON.stringify(replace)}, by ${test}`);
  return outcome;

  function mutated(): Outcome {
    writeFileSync(
      path,
      code.replace(find, () => replace),
    );
    try {
      return failsIn(copy, test) ? "caught" : "survived";
    } finally {
      writeFileSync(path, code);
    }
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Throws if no test ran, as when the file no longer exists. */
function failsIn(copy: string, test: string): boolean {
  const run = ["scripts/launch.js", "scripts/test.ts", test];
  const { status, error, stdout } = spawnSync(process.execPath, run, {
    cwd: copy,
    timeout: LONGEST_MS,
    encoding: "utf8",
    maxBuffer: 100_000_000,
  });
  // An endless loop also counts as a failure.
  if (error !== undefined && "code" in error && error.code === "ETIMEDOUT") return true;
  if (error !== undefined) throw error;
  if (!/^ℹ tests [1-9]/mu.test(stdout)) throw new Error(`${test} ran no test: ${stdout.slice(-500)}`);
  return status !== 0;
}
