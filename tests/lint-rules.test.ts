import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { lintArguments, oxlintBin } from "../scripts/lint/tool.ts";

/** The rules of scripts/lint, which are our own: each by files that break it, and by neighbours that keep it. */
const root = join(import.meta.dirname, "..");
const PROJECT_FILES = [
  "ARCHITECTURE.md",
  "oxlint.config.ts",
  "package.json",
  "tsconfig.json",
  "scripts/lint",
  "src/lib/html-places.ts",
];

const markup = (template: string): string =>
  `import { html } from "../lib/html.ts";\nexport const make = (a: string, b: boolean): unknown => [b, html\`${template}\`];\n`;

const REFUSED: readonly (readonly [rule: string, title: string, file: string, source: string])[] = [
  ["html-places", "an attribute without quotes", "src/console/unquoted.ts", markup("<b title=${a}></b>")],
  [
    "imports",
    "metrics importing store",
    "src/metrics/reads-store.ts",
    `import { rows } from "../store/rows.ts";\nexport const first = rows;\n`,
  ],
  [
    "imports",
    "http importing endpoints, for a type alone",
    "src/http/knows-endpoint.ts",
    `import type { Summary } from "../endpoints/summary.ts";\nexport type Answer = Summary;\n`,
  ],
  [
    "imports",
    "src importing tests/support outside a test",
    "src/store/uses-support.ts",
    `import { database } from "../../tests/support/database.ts";\nexport const clone = database;\n`,
  ],
  ["imports", "a folder without a row in the table", "src/helpers/text.ts", `export const text = "";\n`],
  [
    "imports",
    "a test on the database without the .pg.test.ts suffix",
    "src/http/server.test.ts",
    `import { database } from "../../tests/support/database.ts";\nexport const clone = database;\n`,
  ],
  [
    "imports",
    "src importing a package that only development has",
    "src/demo/dev-package.ts",
    `import fc from "fast-check";\nexport const any = fc.string();\n`,
  ],
  [
    "no-current-date",
    "metrics asking for today's date",
    "src/metrics/today.ts",
    `export const today = (): Date => new Date();\n`,
  ],
  ["no-reexport", "a barrel of one name", "src/lib/one.ts", `export { list } from "./list.ts";\n`],
  [
    "registered-statements",
    "a request that runs SQL beside the registry",
    "src/endpoints/raw-query.ts",
    `export const find = (pool: { query(text: string): unknown }): unknown => pool.query("select 1");\n`,
  ],
  [
    "registered-statements",
    "a statement that was not defined",
    "src/store/queries/undefined-statement.ts",
    `export const LIST = { name: "list", text: "select 1" };\n`,
  ],
  [
    "linear-patterns",
    "a pattern that looks at the same digits again and again",
    "src/lib/digits.ts",
    `export const isNumber = (text: string): boolean => /^(\\d+\\.?\\d*|\\.\\d+)(e\\d+)?$/u.test(text);\n`,
  ],
  [
    "linear-patterns",
    "a pattern that looks for an end from every start",
    "src/lib/ends.ts",
    `export const trimmed = (text: string): string => text.replaceAll(/ +$/gu, "");\n`,
  ],
  [
    "linear-patterns",
    "a schema's pattern that backtracks",
    "src/lib/schema.ts",
    `export const schema = { type: "string", pattern: "^(a|a)*$" };\n`,
  ],
];

const ALLOWED: Readonly<Record<string, string>> = {
  "src/app.ts": `import { ratio } from "./metrics/ratio.ts";\nexport const app = String(ratio(1, 2));\n`,
  "src/cli/main.ts": `import { app } from "../app.ts";\nconsole.log(app);\n`,
  "src/console/markup.ts": markup('<a href="${a}"${b && html` class="${a}"`}>${a}</a>'),
  "src/endpoints/summary.ts": `import { ratio } from "../metrics/ratio.ts";\nexport type Summary = number;\nexport const half = ratio(1, 2);\n`,
  "src/lib/html.ts":
    "export const html = (parts: TemplateStringsArray, ...values: unknown[]): unknown => [parts, values];\n",
  "src/lib/list.ts": `export type List = string[];\nexport const list: List = [];\n`,
  "src/lib/pattern.ts": `export const isDay = (text: string): boolean => /^\\d{4}-\\d{2}(?:-\\d{2})?$/u.test(text.replaceAll(/\\s+/gu, " "));\n`,
  "src/metrics/ratio.ts": `export const ratio = (part: number, whole: number): number => part / whole;\n`,
  "src/metrics/ratio.test.ts": `import fc from "fast-check";\nimport test from "node:test";\ntest("ratio", () => {\n  fc.string();\n});\n`,
  "src/store/rows.ts": `export const rows = new Date();\n`,
  "src/store/rows.pg.test.ts": `import { database } from "../../tests/support/database.ts";\nexport const clone = database;\n`,
  "tests/support/database.ts": `export const database = process.env.DATABASE_URL;\n`,
};

const found = lintFiles();

for (const [rule, title, file] of REFUSED) {
  test(`the rule ${rule} refuses ${title}`, () => {
    assert.deepEqual(
      found.flatMap(({ filename, code }) => (filename === file ? [code] : [])),
      [`house(${rule})`],
    );
  });
}

test("the rules are silent about what they allow", () => {
  const refused = new Set(REFUSED.map(([, , file]) => file));
  assert.deepEqual(
    found.filter(({ filename }) => !refused.has(filename)),
    [],
  );
});

function lintFiles(): { filename: string; code: string }[] {
  const folder = mkdtempSync(join(tmpdir(), "lint-"));
  try {
    for (const path of PROJECT_FILES) cpSync(join(root, path), join(folder, path), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const refused = REFUSED.map(([, , file, source]) => [file, source] as const);
    for (const [path, source] of [...Object.entries(ALLOWED), ...refused]) {
      mkdirSync(join(folder, dirname(path)), { recursive: true });
      writeFileSync(join(folder, path), source);
    }
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [join(root, "node_modules", oxlintBin), ...lintArguments, "src", "tests", "--format", "json"],
      { cwd: folder, encoding: "utf8" },
    );
    if (!stdout.startsWith("{")) throw new Error(`the linter did not run: ${stdout}${stderr}`);
    return (JSON.parse(stdout) as { diagnostics: { filename: string; code: string }[] }).diagnostics;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
