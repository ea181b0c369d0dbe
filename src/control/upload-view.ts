import type { Database } from "../store/database.ts";
import { findConnectedStore } from "../store/queries/data-source.ts";
import { listParts, readPart, sumPartBytes } from "../store/queries/import-part.ts";
import { findUpload, listUploads } from "../store/queries/import-upload.ts";
import type { UploadRow } from "../store/queries/import-upload.ts";
import { hasWorker } from "../store/queries/worker-upkeep.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { FILE_FORMATS, FILE_NAMES } from "../sync/connectors/csv/file-formats.ts";
import type { UploadResult } from "../sync/connectors/csv/import-upload.ts";
import { PART_BYTES, partCountOf, REFUSED_ROWS_FILE } from "../sync/connectors/csv/upload-plan.ts";
import type { Actor } from "./actor.ts";
import { stepLabel } from "./import.ts";
import { requireRight } from "./rights.ts";
import { requireUpload } from "./upload.ts";

/** An upload as its page shows it. */
export type UploadView = Omit<UploadRow, "result" | "stage"> & {
  result: UploadResult | null;
  /** What its import does now, in words; null = nothing yet. */
  step: string | null;
  /** What of its files has arrived, and is to arrive. */
  sent_bytes: number;
  total_bytes: number;
};

/** The uploads of a workspace, and what sending another one takes. */
export type UploadsView = {
  /** The one that is open; null = another can begin. */
  open: UploadView | null;
  /** The newest first. */
  ended: UploadView[];
  /** The store that brings orders and catalogue by itself; null = none does. */
  connected_store: string | null;
};

/** What the script of the page checks before anything is sent. */
export const UPLOAD_RULES = {
  part_bytes: PART_BYTES,
  /** Of each file, the columns that its header must have; with a column `deleted`, the second ones suffice. */
  columns: Object.fromEntries(
    FILE_NAMES.map((name) => {
      const { required, removal } = FILE_FORMATS[name];
      return [name, [required, removal?.keys ?? required]];
    }),
  ),
};

const MOST_UPLOADS = 20;
const OPEN: ReadonlySet<string> = new Set(["sending", "waiting", "importing", "refused"]);

export async function showUploads(
  database: Database,
  { shop_key: shopKey }: WorkspaceRow,
): Promise<UploadsView> {
  const rows = await listUploads(database, shopKey, MOST_UPLOADS);
  const open = rows.find(({ status }) => OPEN.has(status));
  return {
    open: open === undefined ? null : await viewOf(database, shopKey, open),
    ended: rows.filter((row) => row !== open).map((row) => ({ ...shown(row), sent_bytes: 0 })),
    connected_store: await findConnectedStore(database, shopKey),
  };
}

/** Throws not_found for an upload that the workspace does not have. */
export async function showUpload(
  database: Database,
  { shop_key: shopKey }: WorkspaceRow,
  uploadId: string,
): Promise<UploadView & { has_worker: boolean }> {
  const row = await requireUpload(database, shopKey, uploadId, findUpload);
  return { ...(await viewOf(database, shopKey, row)), has_worker: await hasWorker(database) };
}

async function viewOf(database: Database, shopKey: number, row: UploadRow): Promise<UploadView> {
  const sent = await sumPartBytes(database, shopKey, row.upload_id, REFUSED_ROWS_FILE);
  return { ...shown(row), sent_bytes: sent };
}

function shown({ stage, result, ...row }: UploadRow): Omit<UploadView, "sent_bytes"> {
  return {
    ...row,
    result: result as UploadResult | null,
    step: stage === null ? null : stepLabel(stage),
    total_bytes: row.files.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Each file of an upload with the SHA-256 of its parts in order, null for those that are missing. */
export type SentFiles = { name: string; bytes: number; parts: (string | null)[] }[];

/** What of an upload is there, for whoever continues it. Throws not_found as `showUpload`. */
export async function showParts(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  uploadId: string,
): Promise<SentFiles> {
  requireRight(actor, "import");
  const { shop_key: shopKey } = workspace;
  const row = await requireUpload(database, shopKey, uploadId, findUpload);
  const there = new Map(
    (await listParts(database, shopKey, uploadId)).map((part) => [
      `${part.file_name}/${part.part_number}`,
      part.sha256,
    ]),
  );
  return row.files.map((file) => ({
    ...file,
    parts: Array.from({ length: partCountOf(file) }, (_, part) => there.get(`${file.name}/${part}`) ?? null),
  }));
}

/**
 * The rows that the import of an upload could not use, as CSV, part by part: nothing once they are not kept any more. Throws
 * not_found as `showUpload`.
 */
export async function readRefusedRows(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  uploadId: string,
): Promise<AsyncGenerator<Buffer>> {
  requireRight(actor, "import");
  await showUpload(database, workspace, uploadId);
  return partsOf(database, workspace.shop_key, uploadId);
}

async function* partsOf(database: Database, shopKey: number, uploadId: string): AsyncGenerator<Buffer> {
  for (let part = 0; ; part += 1) {
    const bytes = await readPart(database, { shopKey, uploadId, fileName: REFUSED_ROWS_FILE, part });
    if (bytes === null) return;
    yield bytes;
  }
}
