import { cpSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { makeFolder } from "./folder.ts";

const PROJECT = dirname(dirname(import.meta.dirname));
const CODE = ["package.json", "METRICS.md", "CHANGELOG.md", "src", "docs", "tests/support/server-entry.ts"];

/** A later version: this one's code with more migrations. */
export type NextVersion = {
  /** Its server, for `startServerProcess`. */
  entry: string;
  migrations: URL;
};

/** Copies this version to a separate folder, and adds migrations by name. */
export function createNextVersion(migrations: Readonly<Record<string, string>>): NextVersion {
  const folder = makeFolder();
  for (const path of CODE) cpSync(join(PROJECT, path), join(folder, path), { recursive: true });
  symlinkSync(join(PROJECT, "node_modules"), join(folder, "node_modules"));
  const place = join(folder, "src/store/migrations");
  for (const [name, text] of Object.entries(migrations)) writeFileSync(join(place, `${name}.sql`), text);
  return { entry: join(folder, "tests/support/server-entry.ts"), migrations: pathToFileURL(`${place}/`) };
}
