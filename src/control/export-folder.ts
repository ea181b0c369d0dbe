import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { exportWorkspace } from "./export.ts";
import type { ExportRequest } from "./export.ts";
import { STORE_FOLDER } from "./export-texts.ts";
import { impossible } from "./refusal.ts";

/** What an export has written. */
export type ExportedFolder = { shop_domain: string; folder: string; files: string[] };

/**
 * Exports a workspace into a folder that only this user can read. It is written beside and then renamed, so that the
 * folder is there whole or not at all. Throws a `Refusal` for a folder that holds anything, or that cannot be written.
 */
export async function exportIntoFolder(
  request: ExportRequest & { folder: string; onFile: (name: string) => void },
): Promise<ExportedFolder> {
  const { folder, signal, onFile } = request;
  await requireEmpty(folder);
  const parent = dirname(folder);
  const partial = join(parent, `.${basename(folder)}.partial-${randomBytes(6).toString("hex")}`);
  const names: string[] = [];
  try {
    await exportWorkspace(request, async (files) => {
      await mkdir(partial, { mode: 0o700 });
      await mkdir(join(partial, STORE_FOLDER), { mode: 0o700 });
      for (const { name, content } of files) {
        onFile(name);
        await pipeline(content, createWriteStream(join(partial, name), { mode: 0o600, flush: true }), {
          signal,
        });
        names.push(name);
      }
    });
    await rename(partial, folder);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    signal.throwIfAborted();
    throw refusalOf(error, folder);
  }
  return { shop_domain: request.workspace.shop_domain, folder, files: names };
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
  ENOTDIR: "it is a file, or a part of its path is",
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "the disk is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  ENOTEMPTY: "something was put there meanwhile",
  EEXIST: "something was put there meanwhile",
};

function refusalOf(error: unknown, folder: string): unknown {
  const reason = REASONS[(error as NodeJS.ErrnoException).code ?? ""];
  return reason === undefined ? error : impossible(`${folder} cannot be written: ${reason}.`);
}
