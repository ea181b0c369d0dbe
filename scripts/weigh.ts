/** Prints how much there is to read: npm run weigh. Counts files of the last commit's index, generated ones left out. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const project = join(import.meta.dirname, "..");
const isTest = (file: string): boolean => file.endsWith(".test.ts") || file.startsWith("tests/");

/** What is weighed, and at most how many lines and files it should have. */
const PARTS: { title: string; holds: (file: string) => boolean; lines: number; files?: number }[] = [
  {
    title: "src without tests",
    holds: (file) => file.startsWith("src/") && !isTest(file),
    lines: 46_000,
    files: 400,
  },
  { title: "tests", holds: isTest, lines: 42_000 },
  {
    title: "tools and scripts",
    holds: (file) => /^(?:tools|scripts)\//u.test(file) && !isTest(file),
    lines: 11_000,
  },
];

const files = execFileSync("git", ["ls-files", "*.ts"], { cwd: project, encoding: "utf8" })
  .split("\n")
  .filter((file) => file !== "" && !file.includes("/generated/"))
  // The index still names a file that was deleted since.
  .filter((file) => existsSync(join(project, file)));

for (const part of PARTS) {
  const held = files.filter(part.holds);
  const lines = held.reduce((sum, file) => sum + countLines(file), 0);
  const target = `target ${part.lines} lines${part.files === undefined ? "" : `, ${part.files} files`}`;
  console.log(`${part.title}: ${lines} lines in ${held.length} files (${target})`);
}

function countLines(file: string): number {
  return readFileSync(join(project, file), "utf8").split("\n").length - 1;
}
