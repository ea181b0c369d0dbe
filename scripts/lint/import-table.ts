import { readFileSync } from "node:fs";
import { join, posix } from "node:path";

/** A place of `src/` (a folder, or a file such as `app.ts`) and the places it may import; null: every place. */
export type ImportTable = Record<string, string[] | null>;

const HEADING = "## Folders of `src/`";
const DATABASE_SUPPORT = "tests/support/database.ts";

/**
 * Reads the import table of ARCHITECTURE.md, so that the document is the rule and cannot grow stale.
 *
 * @throws Error when the table is missing, a row cannot be read or a row names a place without a row
 */
export function readImportTable(root: string): ImportTable {
  const markdown = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
  const section = markdown.split(`${HEADING}\n`)[1]?.split("\n## ")[0] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  if (rows.length === 0) throw new Error(`ARCHITECTURE.md: no table under "${HEADING}"`);
  const table = Object.fromEntries(rows.map(readRow));
  for (const target of Object.values(table).flat()) {
    if (target !== null && !(target in table)) throw new Error(`ARCHITECTURE.md: \`${target}\` has no row`);
  }
  return table;
}

function readRow(row: string): [string, string[] | null] {
  const [, place, targets] = /^\| `([^`]+)` \| [^|]* \| ((?:`[^`]+` ?)+|—|everything) \|$/u.exec(row) ?? [];
  if (place === undefined || targets === undefined) throw new Error(`ARCHITECTURE.md: cannot read ${row}`);
  const names = [...targets.matchAll(/`([^`]+)`/gu)].map(([, name]) => name ?? "");
  return [place, targets === "everything" ? null : names];
}

/**
 * Says whether the table allows an import; types count as much as values.
 *
 * @param file path of the importing file from the project's root, with `/`
 * @param specifier what stands in the import; only relative ones are judged
 * @returns what is wrong, or undefined
 */
export function importProblem(table: ImportTable, file: string, specifier: string): string | undefined {
  if (!file.startsWith("src/") || !specifier.startsWith(".")) return undefined;
  const from = placeOf(file);
  const target = posix.join(posix.dirname(file), specifier);
  const to = placeOf(target);
  const allowed = table[from];
  if (allowed === undefined || allowed === null || to === from || allowed.includes(to)) return undefined;
  if (isTest(file) && target.startsWith("tests/support/")) return undefined;
  const list = allowed.length === 0 ? "nothing else" : allowed.join(", ");
  return `src/${from} may import ${list}; not ${target} (table in ARCHITECTURE.md)`;
}

/** Says whether a file has a place in the table; files outside `src/` need none. */
export function placeProblem(table: ImportTable, file: string): string | undefined {
  if (!file.startsWith("src/") || placeOf(file) in table) return undefined;
  return `${file} belongs to no row of the table in ARCHITECTURE.md`;
}

/** The packages that production has. */
export function readPackages(root: string): string[] {
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  ) as Record<string, object | undefined>;
  return Object.keys({ ...dependencies, ...optionalDependencies });
}

/** Says whether a file of `src/` that is not a test imports a package that only development has. */
export function packageProblem(packages: string[], file: string, specifier: string): string | undefined {
  if (!file.startsWith("src/") || isTest(file) || /^(\.|node:)/.test(specifier)) return undefined;
  const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  if (packages.includes(name)) return undefined;
  return `${name} is not among the dependencies of package.json`;
}

/** A test's suffix says what it needs: the runner gives PostgreSQL to `.pg.test.ts` alone. */
export function suffixProblem(file: string, specifier: string): string | undefined {
  if (!isTest(file) || file.endsWith(".pg.test.ts")) return undefined;
  if (posix.join(posix.dirname(file), specifier) !== DATABASE_SUPPORT) return undefined;
  return `a test that uses ${DATABASE_SUPPORT} must end in .pg.test.ts`;
}

function placeOf(path: string): string {
  const [top, place] = path.split("/");
  return top === "src" && place !== undefined ? place : path;
}

function isTest(file: string): boolean {
  return file.endsWith(".test.ts");
}
