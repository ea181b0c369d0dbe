import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** This version's migrations. */
export const MIGRATIONS = new URL("../../src/store/migrations/", import.meta.url);

/** A folder of migrations for one test. */
export type MigrationFolder = { url: URL; remove(): void };

/** Copies a folder's migrations up to and with `last`, all without it, and adds others by name. */
export function copyMigrations(
  folder: URL,
  last?: string,
  added: Readonly<Record<string, string>> = {},
): MigrationFolder {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .toSorted();
  const count = last === undefined ? names.length : names.indexOf(`${last}.sql`) + 1;
  if (count === 0) throw new Error(`${last} is no migration of ${folder.href}`);
  const copy = mkdtempSync(join(tmpdir(), "returns-migrations-"));
  for (const name of names.slice(0, count)) cpSync(new URL(name, folder), join(copy, name));
  for (const [name, text] of Object.entries(added)) writeFileSync(join(copy, `${name}.sql`), text);
  return {
    url: pathToFileURL(`${copy}/`),
    remove: () => rmSync(copy, { recursive: true, force: true }),
  };
}
