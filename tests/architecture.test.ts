import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { parseImportTable, readImportTable } from "../scripts/lint/import-table.ts";
import { lintArguments, oxlintBin } from "../scripts/lint/oxlint.ts";
import { markupFiles, markupSeeds } from "./lint-markup.ts";
import type { Seed } from "./lint-markup.ts";

type Diagnostic = { filename: string; code: string };

const root = join(import.meta.dirname, "..");
const projectFiles = ["ARCHITECTURE.md", "oxlint.config.ts", "package.json", "tsconfig.json", "scripts/lint"];

const seeds: Seed[] = [
  ...markupSeeds,
  {
    title: "metrics importing store",
    file: "src/metrics/reads-store.ts",
    source: `import { rows } from "../store/rows.ts";\nexport const first = rows;\n`,
    code: "house(imports)",
  },
  {
    title: "http importing endpoints, for a type alone",
    file: "src/http/knows-endpoint.ts",
    source: `import type { Summary } from "../endpoints/summary.ts";\nexport type Answer = Summary;\n`,
    code: "house(imports)",
  },
  {
    title: "http importing endpoints while running",
    file: "src/http/loads-endpoint.ts",
    source: `export const load = async (): Promise<unknown> => import("../endpoints/summary.ts");\n`,
    code: "house(imports)",
  },
  {
    title: "contract importing metrics",
    file: "src/contract/knows-metrics.ts",
    source: `import { ratio } from "../metrics/ratio.ts";\nexport const half = ratio(1, 2);\n`,
    code: "house(imports)",
  },
  {
    title: "lib importing the composition root",
    file: "src/lib/knows-app.ts",
    source: `import { app } from "../app.ts";\nexport const name = app;\n`,
    code: "house(imports)",
  },
  {
    title: "src importing tests/support outside a test",
    file: "src/store/uses-support.ts",
    source: `import { database } from "../../tests/support/database.ts";\nexport const clone = database;\n`,
    code: "house(imports)",
  },
  {
    title: "a folder without a row in the table",
    file: "src/helpers/text.ts",
    source: `export const text = "";\n`,
    code: "house(imports)",
  },
  {
    title: "a file beside app.ts without a row in the table",
    file: "src/stray.ts",
    source: `export const text = "";\n`,
    code: "house(imports)",
  },
  {
    title: "a test on the database without the .pg.test.ts suffix",
    file: "src/http/server.test.ts",
    source: `import { database } from "../../tests/support/database.ts";\nexport const clone = database;\n`,
    code: "house(imports)",
  },
  {
    title: "src importing a package that only development has",
    file: "src/demo/dev-package.ts",
    source: `import fc from "fast-check";\nexport const any = fc.string();\n`,
    code: "house(imports)",
  },
  {
    title: "metrics importing a schema library",
    file: "src/metrics/schema.ts",
    source: `import { Type } from "typebox";\nexport const month = Type.String();\n`,
    code: "eslint(no-restricted-imports)",
  },
  {
    title: "metrics reading the clock",
    file: "src/metrics/clock.ts",
    source: `export const now = (): number => Date.now();\n`,
    code: "eslint(no-restricted-properties)",
  },
  {
    title: "metrics asking for today's date",
    file: "src/metrics/today.ts",
    source: `export const today = (): Date => new Date();\n`,
    code: "house(no-current-date)",
  },
  {
    title: "a barrel of everything",
    file: "src/lib/all.ts",
    source: `export * from "./list.ts";\n`,
    code: "house(no-reexport)",
  },
  {
    title: "a barrel of one name",
    file: "src/lib/one.ts",
    source: `export { list } from "./list.ts";\n`,
    code: "house(no-reexport)",
  },
  {
    title: "a cycle of imports",
    file: "src/sync/left.ts",
    source: `import { right } from "./right.ts";\nexport const left = (): unknown => right;\n`,
    code: "import(no-cycle)",
  },
  {
    title: "a promise nobody waits for",
    file: "src/lib/floating.ts",
    source: `export const start = (work: () => Promise<void>): void => {\n  work();\n};\n`,
    code: "typescript(no-floating-promises)",
  },
  {
    title: "a promise where nothing waits for one",
    file: "src/lib/misused.ts",
    source: `export const each = (work: () => Promise<void>): void => [1].forEach(work);\n`,
    code: "typescript(no-misused-promises)",
  },
  {
    title: "any",
    file: "src/lib/any.ts",
    source: `export const same = (value: any): unknown => value;\n`,
    code: "typescript(no-explicit-any)",
  },
  {
    title: "an unused variable",
    file: "src/lib/unused.ts",
    source: `const unused = 1;\nexport const used = 2;\n`,
    code: "eslint(no-unused-vars)",
  },
  {
    title: "a type imported as a value",
    file: "src/http/type-import.ts",
    source: `import { List } from "../lib/list.ts";\nexport type Lists = List[];\n`,
    code: "typescript(consistent-type-imports)",
  },
  {
    title: "a default export",
    file: "src/lib/default.ts",
    source: `export default 1;\n`,
    code: "import(no-default-export)",
  },
  {
    title: "== in place of ===",
    file: "src/lib/equal.ts",
    source: `export const isOne = (value: number): boolean => value == 1;\n`,
    code: "eslint(eqeqeq)",
  },
  {
    title: "the environment read outside config.ts",
    file: "src/http/environment.ts",
    source: `export const port = process.env.PORT;\n`,
    code: "eslint(no-restricted-properties)",
  },
  {
    title: "the environment taken apart outside config.ts",
    file: "src/http/environment-parts.ts",
    source: `const { env } = process;\nexport const port = env.PORT;\n`,
    code: "eslint(no-restricted-properties)",
  },
  {
    title: "the console used outside cli",
    file: "src/http/console.ts",
    source: `export const log = (text: string): void => console.log(text);\n`,
    code: "eslint(no-console)",
  },
  {
    title: "a request that runs SQL beside the registry",
    file: "src/endpoints/raw-query.ts",
    source: `export const find = (pool: { query(text: string): unknown }): unknown => pool.query("select 1");\n`,
    code: "house(registered-statements)",
  },
  {
    title: "a statement that was not defined",
    file: "src/store/queries/undefined-statement.ts",
    source: `export const LIST = { name: "list", text: "select 1" };\n`,
    code: "house(registered-statements)",
  },
  {
    title: "a file of more than 300 lines",
    file: "src/lib/long-file.ts",
    source: `${"// why\n".repeat(300)}export const end = 1;\n`,
    code: "eslint(max-lines)",
  },
  {
    title: "a function of more than 60 lines",
    file: "src/lib/long-function.ts",
    source: `export function long(): void {\n${"  // why\n".repeat(60)}}\n`,
    code: "eslint(max-lines-per-function)",
  },
];

/** What the seeds import, and neighbours of the seeds that keep the rules. */
const allowed: Record<string, string> = {
  ...markupFiles,
  "src/app.ts": `import { ratio } from "./metrics/ratio.ts";\nexport const app = String(ratio(1, 2));\n`,
  "src/config.ts": `export const port = process.env.PORT;\n`,
  "src/cli/main.ts": `import { app } from "../app.ts";\nconsole.log(app);\n`,
  "src/endpoints/summary.ts": `import { ratio } from "../metrics/ratio.ts";\nexport type Summary = number;\nexport const half = ratio(1, 2);\n`,
  "src/lib/list.ts": `export type List = string[];\nexport const list: List = [];\n`,
  "src/metrics/ratio.ts": `export const ratio = (part: number, whole: number): number => part / whole;\n`,
  "src/metrics/ratio.test.ts": `import fc from "fast-check";\nimport test from "node:test";\ntest("ratio", () => {\n  fc.string();\n});\n`,
  "src/store/rows.ts": `export const rows = new Date();\n`,
  "src/store/rows.pg.test.ts": `import { database } from "../../tests/support/database.ts";\nexport const clone = database;\n`,
  "src/sync/right.ts": `export const right = 1;\n`,
  "tests/support/database.ts": `export const database = process.env.DATABASE_URL;\n`,
  "tests/whole.pg.test.ts": `import { app } from "../src/app.ts";\nimport { database } from "./support/database.ts";\nexport const whole = [app, database];\n`,
};

const cyclePartner = `import { left } from "./left.ts";\nexport const right = (): unknown => left;\n`;
const found = lintSeeds();

for (const { title, file, code } of seeds) {
  test(`the lint refuses ${title}`, () => {
    assert.deepEqual(
      found.filter((diagnostic) => diagnostic.filename === file).map((diagnostic) => diagnostic.code),
      [code],
    );
  });
}

test("the lint is silent about what the rules allow", () => {
  const seeded = new Set([...seeds.map((seed) => seed.file), "src/sync/right.ts"]);
  assert.deepEqual(
    found.filter((diagnostic) => !seeded.has(diagnostic.filename)),
    [],
  );
});

test("the project itself keeps to the import table", () => {
  const diagnostics = lint(root, ["--config", "oxlint.config.ts", "src", "tests"]);
  assert.deepEqual(
    diagnostics.filter((diagnostic) => diagnostic.code === "house(imports)"),
    [],
  );
});

test("the import table is read as it stands in ARCHITECTURE.md", () => {
  const table = readImportTable(root);
  assert.deepEqual(table.lib, []);
  assert.deepEqual(table.http, ["contract", "admission", "lib"]);
  assert.equal(table["app.ts"], null);
});

test("a table that cannot be read stops the lint", () => {
  const section = (row: string): string =>
    `## Folders of \`src/\`\n\n| Folder | Holds | May import |\n${row}\n`;
  assert.throws(() => parseImportTable("# Architecture\n"), /no section/);
  assert.throws(() => parseImportTable(section("")), /no table/);
  assert.throws(() => parseImportTable(section("| `http` | server | most things |")), /cannot read/);
  assert.throws(() => parseImportTable(section("| `http` | server | `contract` |")), /has no row/);
});

function lintSeeds(): Diagnostic[] {
  const folder = mkdtempSync(join(tmpdir(), "lint-"));
  try {
    fillFolder(folder);
    return lint(folder, [...lintArguments, "src", "tests"]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Makes a project with this project's rules and the seeds' files. */
function fillFolder(folder: string): void {
  for (const path of projectFiles) cpSync(join(root, path), join(folder, path), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const files = { ...allowed, ...Object.fromEntries(seeds.map((seed) => [seed.file, seed.source])) };
  files["src/sync/right.ts"] = cyclePartner;
  for (const [path, source] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), source);
  }
}

function lint(cwd: string, lintOptions: string[]): Diagnostic[] {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, "node_modules", oxlintBin), ...lintOptions, "--format", "json"],
    { cwd, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 },
  );
  if (!stdout.startsWith("{")) throw new Error(`the linter did not run: ${stdout}${stderr}`);
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: Diagnostic[] };
  return diagnostics;
}
