import { readdir, readFile } from "node:fs/promises";

/** A file of migrations/. */
export type Migration = {
  name: string;
  /** The last migration that a version must know at least to work with the schema of this one; null = this one. */
  worksWith: string | null;
  /** Its statements run one by one, each committed for itself. */
  isOutside: boolean;
  statements: string[];
};

const EXTENSION = ".sql";
const WORKS_WITH = /^-- Works with (\w+)\.$/mu;
const OUTSIDE = /^-- Outside of transactions\.$/mu;
/** A comment, a quoted text or name, the end of a statement, or what is between. */
const TOKEN =
  // oxlint-disable-next-line house/linear-patterns -- sees migrations of this project alone
  /--[^\n]*|\/\*.*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$((?:[A-Za-z_]\w*)?)\$.*?\$\1\$|;|[^-/'"$;]+|./gsu;

/** Names of a folder's migrations, oldest first. */
export async function listMigrations(folder: URL): Promise<string[]> {
  const files = await readdir(folder);
  return files
    .filter((file) => file.endsWith(EXTENSION))
    .map((file) => file.slice(0, -EXTENSION.length))
    .toSorted();
}

/** Reads one migration of a folder. */
export async function readMigration(folder: URL, name: string): Promise<Migration> {
  const text = await readFile(new URL(`${name}${EXTENSION}`, folder), "utf8");
  const worksWith = WORKS_WITH.exec(text)?.[1] ?? null;
  return { name, worksWith, isOutside: OUTSIDE.test(text), statements: splitStatements(text) };
}

/**
 * The statements of a text, without the comments between their words. Semicolons in quotes and in $quotes$ are text.
 * Unknown to it: E'' strings, comments inside of comments, and `begin atomic`. Throws for a quote that does not end.
 */
export function splitStatements(text: string): string[] {
  const statements: string[] = [];
  let statement = "";
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === "'" || token === '"')
      throw new Error(`A migration has a quote that does not end: ${token}`);
    if (token === ";") {
      statements.push(statement.trim());
      statement = "";
    } else if (!/^(?:--|\/\*)/u.test(token)) {
      statement += token;
    }
  }
  return [...statements, statement.trim()].filter((each) => each !== "");
}
