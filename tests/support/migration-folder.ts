import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { makeFolder } from "./folder.ts";

const MIGRATIONS = new URL("../../src/store/migrations/", import.meta.url);

/** A folder of this version's migrations, and of others by name. */
export function copyMigrations(added: Readonly<Record<string, string>>): URL {
  const copy = makeFolder();
  cpSync(fileURLToPath(MIGRATIONS), copy, { recursive: true });
  for (const [name, text] of Object.entries(added)) writeFileSync(join(copy, `${name}.sql`), text);
  return pathToFileURL(`${copy}/`);
}
