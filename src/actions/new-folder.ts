import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { OWNER, ownerMark, removeLeftovers } from "../lib/leftovers.ts";
import { impossible } from "./refusal.ts";

/** Those without an owner are of earlier versions. */
const PARTIAL = new RegExp(String.raw`^\..*\.partial-(?:${OWNER}|[0-9a-f]{12})$`, "u");

/**
 * Has `write` fill a folder that only this user can read. It is written under a temporary name and then renamed, so the folder is
 * complete or absent. Throws a `Refusal` for a folder that is not empty or cannot be written.
 */
export async function writeNewFolder(
  folder: string,
  signal: AbortSignal,
  write: (partial: string) => Promise<void>,
): Promise<void> {
  await requireEmpty(folder);
  const partial = join(dirname(folder), `.${basename(folder)}.partial-${ownerMark()}`);
  await removeLeftovers(dirname(folder), PARTIAL);
  try {
    await write(partial);
    await rename(partial, folder);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    signal.throwIfAborted();
    throw refusalOf(error, folder);
  }
}

/** Makes the partial folder, or a folder in it. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
}

async function requireEmpty(folder: string): Promise<void> {
  const present = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw refusalOf(error, folder);
  });
  if (present.length === 0) return;
  throw impossible(`${folder} is not empty: name a folder that does not exist yet, or an empty one.`);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "the folder above it does not exist",
  EISDIR: "it is a folder",
  ENOTDIR: "it is a file, or a part of its path is",
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "the disk is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "a file there may not be that large",
  ENOTEMPTY: "something was created there in the meantime",
  EEXIST: "something was created there in the meantime",
};

/** The sentence about a folder or file that could not be written; any other error as it is. */
export function refusalOf(error: unknown, folder: string): unknown {
  const reason = REASONS[(error as NodeJS.ErrnoException).code ?? ""];
  return reason === undefined ? error : impossible(`${folder} cannot be written: ${reason}.`);
}
