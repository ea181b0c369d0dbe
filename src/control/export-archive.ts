import { finished, Readable } from "node:stream";
import { finished as settled } from "node:stream/promises";
import { ZipFile } from "yazl";
import type { ExportedFile } from "../sync/connectors/csv/export-files.ts";
import { exportWorkspace } from "./export.ts";
import type { ExportRequest } from "./export.ts";
import { impossible } from "./refusal.ts";
import { requireRight } from "./rights.ts";
import type { Acting } from "./acting.ts";

/** An export as one file; `body` is made while it is read. */
export type ExportedArchive = { name: string; type: string; body: Readable };

/** Whoever reads an export for longer keeps the database from cleaning up behind all others. */
const LONGEST_MS = 2 * 3_600_000;
const FILE_MODE = 0o100600;

/** The same over the pool of exports. Throws a `Refusal` while all of its connections are in use. */
export async function exportFromConsole(acting: Acting): Promise<ExportedArchive> {
  const { exporting, database, actor, workspace, now, retention } = acting;
  requireRight(actor, "workspace.export");
  const { open, idle, most } = exporting.usage();
  if (open - idle >= most) {
    throw impossible("Other workspaces are being exported now. Try again in a few minutes.");
  }
  return exportAsArchive({ database, reading: exporting, actor, workspace, now, retention });
}

/**
 * Exports a workspace as a zip file, of which no more is made than is read. Comes back when its snapshot is open, so that
 * a `Refusal` comes before the first byte. Whoever destroys the body ends the export; one that fails later is cut off.
 */
export async function exportAsArchive(request: Omit<ExportRequest, "signal">): Promise<ExportedArchive> {
  const { workspace, now } = request;
  const zip = new ZipFile();
  const body = zip.outputStream as Readable;
  const leaving = new AbortController();
  finished(body, (error) => {
    if (error !== undefined && error !== null) leaving.abort(error);
  });
  const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(LONGEST_MS)]);
  signal.addEventListener("abort", () => body.destroy(signal.reason as Error), { once: true });
  zip.on("error", (error: Error) => body.destroy(error));
  const opened = Promise.withResolvers<void>();
  exportWorkspace({ ...request, signal }, async (files) => {
    addFiles(zip, body, files, now);
    opened.resolve();
    await settled(body);
  }).catch((error: Error) => {
    opened.reject(error);
    body.destroy(error);
  });
  await opened.promise;
  const day = now.toISOString().slice(0, 10);
  const shop = workspace.shop_domain.replaceAll(/[^a-z0-9.-]/gu, "-");
  return { name: `returns-export_${shop}_${day}.zip`, type: "application/zip", body };
}

/** One file is read at a time: they share a connection. */
function addFiles(zip: ZipFile, body: Readable, files: readonly ExportedFile[], mtime: Date): void {
  let current: Readable | null = null;
  finished(body, () => current?.destroy());
  for (const { name, content } of files) {
    zip.addReadStreamLazy(name, { mtime, mode: FILE_MODE }, (read) => {
      const source = Readable.from(content, { objectMode: false });
      source.on("error", (error) => body.destroy(error));
      current = source;
      read(null, source);
    });
  }
  zip.end();
}
