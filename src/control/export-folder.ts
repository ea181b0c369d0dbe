import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { exportWorkspace } from "./export.ts";
import type { ExportRequest } from "./export.ts";
import { STORE_FOLDER } from "./export-texts.ts";
import { makePrivateFolder, writeNewFolder } from "./new-folder.ts";

/** What an export has written. */
export type ExportedFolder = { shop_domain: string; folder: string; files: string[] };

/** Exports a workspace into a new folder. Throws a `Refusal` for a folder that holds anything, or that cannot be written. */
export async function exportIntoFolder(
  request: ExportRequest & { folder: string; onFile: (name: string) => void },
): Promise<ExportedFolder> {
  const { folder, signal, onFile } = request;
  const names: string[] = [];
  await writeNewFolder(folder, signal, (partial) =>
    exportWorkspace(request, async (files) => {
      await makePrivateFolder(partial);
      await makePrivateFolder(join(partial, STORE_FOLDER));
      for (const { name, content } of files) {
        onFile(name);
        await pipeline(content, createWriteStream(join(partial, name), { mode: 0o600, flush: true }), {
          signal,
        });
        names.push(name);
      }
    }),
  );
  return { shop_domain: request.workspace.shop_domain, folder, files: names };
}
