import { cpSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { makeFolder } from "./folder.ts";

/** This version's migrations. */
export const MIGRATIONS = new URL("../../src/store/migrations/", import.meta.url);

/** Copies a folder's migrations up to and with `last`, all without it, and adds others by name. */
export function copyMigrations(
  folder: URL,
  last?: string,
  added: Readonly<Record<string, string>> = {},
): URL {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .toSorted();
  const count = last === undefined ? names.length : names.indexOf(`${last}.sql`) + 1;
  if (count === 0) throw new Error(`${last} is no migration of ${folder.href}`);
  const copy = makeFolder();
  for (const name of names.slice(0, count)) cpSync(new URL(name, folder), join(copy, name));
  for (const [name, text] of Object.entries(added)) writeFileSync(join(copy, `${name}.sql`), text);
  return pathToFileURL(`${copy}/`);
}
