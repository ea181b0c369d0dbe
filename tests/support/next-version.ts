import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { pathToFileURL } from "node:url";

const PROJECT = dirname(dirname(import.meta.dirname));
const CODE = ["package.json", "METRICS.md", "CHANGELOG.md", "src", "docs", "tests/support/server-entry.ts"];

/** A version after this one: its code, and more migrations. */
export type NextVersion = {
  /** Its server, for `startServerProcess`. */
  entry: string;
  migrations: URL;
};

/** Copies this version to a folder of its own, which goes with the test, and adds migrations by name. */
export function createNextVersion(
  context: TestContext,
  migrations: Readonly<Record<string, string>>,
): NextVersion {
  const folder = mkdtempSync(join(tmpdir(), "returns-next-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const path of CODE) cpSync(join(PROJECT, path), join(folder, path), { recursive: true });
  symlinkSync(join(PROJECT, "node_modules"), join(folder, "node_modules"));
  const place = join(folder, "src/store/migrations");
  for (const [name, text] of Object.entries(migrations)) writeFileSync(join(place, `${name}.sql`), text);
  return { entry: join(folder, "tests/support/server-entry.ts"), migrations: pathToFileURL(`${place}/`) };
}
