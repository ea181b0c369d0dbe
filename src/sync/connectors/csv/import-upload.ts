import { createHash } from "node:crypto";
import { mkdir, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { csvText, guardedText } from "../../../lib/csv-text.ts";
import { OWNER, ownerMark, removeLeftovers } from "../../../lib/leftovers.ts";
import { isLostDatabase } from "../../../lib/log-failure.ts";
import { note, traceFields } from "../../../lib/trace.ts";
import type { Connection, Database } from "../../../store/database.ts";
import { WorkspaceGone, WorkspaceStopped } from "../../../store/queries/import-stage.ts";
import {
  deleteEndedParts,
  deleteFileParts,
  finishUpload,
  handOnUpload,
  insertPart,
  readPart,
  takeUpload,
  type TakenUploadRow,
  type UploadEnd,
  type UploadFile,
} from "../../../store/queries/import-upload.ts";
import type { SyncProgress } from "../../connector.ts";
import { recordCounts, type RunLog } from "../../runs.ts";
import { FILE_NAMES, type FileName } from "./file-formats.ts";
import { fileNamesOf } from "./folder-files.ts";
import { importFolder, type ImportResult } from "./import-folder.ts";
import { ImportError, type RowProblem } from "./problems.ts";

/** A file is sent in parts of this size, except a shorter last one; a POST to the console cannot be larger. */
export const PART_BYTES = 4 * 1024 * 1024;
/** Of all files of an upload, packed or not. */
export const MOST_UPLOAD_BYTES = 2 * 1024 ** 3;
/** Variants, products, SKUs and labels that an import changes are in memory, in some 200 MB for a million of each. */
const MOST_KEYS = 1_000_000;
export const UPLOAD_LIFETIME_MS = 24 * 3_600_000;
/** The name under which the invalid rows of an import are stored with its files. */
export const REFUSED_ROWS_FILE = "refused-rows.csv";

/** The allowed file names of an upload: a fixed list, so that no unchecked name becomes part of a path. */
const NAMES: ReadonlyMap<string, FileName> = new Map(
  FILE_NAMES.flatMap((name) => fileNamesOf(name).map((fileName): [string, FileName] => [fileName, name])),
);

/** Which file of the import format bears this name; null = none does. */
export function fileOfName(fileName: string): FileName | null {
  return NAMES.get(fileName) ?? null;
}

/** How many parts a file is sent in. */
export function partCountOf({ bytes }: Pick<UploadFile, "bytes">): number {
  return Math.ceil(bytes / PART_BYTES);
}

/** How long a part of a file is; null = the file has no such part. */
export function partBytesOf(file: Pick<UploadFile, "bytes">, part: number): number | null {
  if (!Number.isInteger(part) || part < 0 || part >= partCountOf(file)) return null;
  return Math.min(PART_BYTES, file.bytes - part * PART_BYTES);
}

/** The process's resources for imports of uploads. */
type UploadEnvironment = { database: Database; now: () => Date; log: RunLog };

/** The stored result of an import. */
export type UploadResult = Pick<ImportResult, "counts" | "invalid_count" | "invalid" | "warnings"> & {
  /** How many of the rows that cannot be used are in the file of them. */
  listed_count: number;
};

type Run = UploadEnvironment & { shopKey: number; upload: TakenUploadRow; stop: AbortSignal };

/** Limit on workers that began an import without finishing it. */
const MOST_ATTEMPTS = 3;
const MOST_LISTED = 50_000;
/** Limit on those shown by a page. */
const MOST_SHOWN = 200;
/** Some 250 MB. */
const PARTS_PER_DELETION = 64;

/**
 * Imports a workspace's due upload as the command imports a folder, and records its end in the same transaction: a killed worker
 * leaves either all of both or nothing, and the next one begins again. The caller has the claim on the workspace's uploads. Memory
 * stays flat. Returns whether data was imported; throws if the database does not answer.
 */
export async function importUpload(
  environment: UploadEnvironment,
  shopKey: number,
  stop: AbortSignal,
  show: (uploadId: string, progress: SyncProgress) => void,
): Promise<boolean> {
  const { database, log } = environment;
  const upload = await takeUpload(database, shopKey);
  if (upload === null) return false;
  const run: Run = { ...environment, shopKey, upload, stop };
  const { upload_id: uploadId, attempt } = upload;
  const fields = { upload_id: uploadId, shop_key: shopKey, ...traceFields() };
  log.info({ ...fields, attempt }, "import of an upload started");
  await removeUploadFolders();
  // The name cannot be guessed. Another worker of this machine that is late to end the same import has its own.
  const folder = join(tmpdir(), `returns-upload-${uploadId}.${ownerMark()}`);
  try {
    if (attempt > MOST_ATTEMPTS)
      throw new ImportError(`The import was started ${MOST_ATTEMPTS} times, and interrupted each time`);
    await mkdir(folder, { mode: 0o700 });
    await writeFiles(run, folder, (progress) => show(uploadId, progress));
    const result = await importWritten(run, folder, (progress) => show(uploadId, progress));
    if (!result.imported) await database.transaction((connection) => storeEnd(connection, run, result));
    note(recordCounts(result.counts));
    log.info({ ...fields, imported: result.imported, counts: result.counts }, "import of an upload ended");
    if (result.imported) await removeEndedParts(database, shopKey, environment.now()).catch(() => {});
    return result.imported;
  } catch (error) {
    await endFailed(run, error);
    return false;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Those without an owner are of earlier versions. */
const FOLDER = new RegExp(String.raw`^returns-upload-[0-9a-f-]{36}(?:\.${OWNER})?$`, "u");

/** Removes the folders of uploaded files that killed workers of this machine have left, also if another machine has taken over. */
export async function removeUploadFolders(): Promise<void> {
  await removeLeftovers(tmpdir(), FOLDER);
}

/** Removes the parts of a workspace's uploads that have ended, portion by portion. */
export async function removeEndedParts(database: Database, shopKey: number, now: Date): Promise<void> {
  while (await deleteEndedParts(database, shopKey, now, REFUSED_ROWS_FILE, PARTS_PER_DELETION));
}

/** Removes a file of an upload. */
export async function removeFile(
  connection: Connection,
  { shopKey, uploadId, fileName }: { shopKey: number; uploadId: string; fileName: string },
): Promise<void> {
  while (await deleteFileParts(connection, shopKey, uploadId, fileName, PARTS_PER_DELETION));
}

/** One part at a time is in memory. */
async function writeFiles(
  { database, shopKey, upload, stop }: Run,
  folder: string,
  show: (progress: SyncProgress) => void,
): Promise<void> {
  const total = upload.files.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  for (const file of upload.files) {
    const written = await open(join(folder, file.name), "wx", 0o600);
    try {
      for (let part = 0; part < partCountOf(file); part += 1) {
        stop.throwIfAborted();
        const place = { shopKey, uploadId: upload.upload_id, fileName: file.name, part };
        const bytes = await readPart(database, place);
        if (bytes === null) throw new ImportError(`${file.name}: its part ${part + 1} is missing`);
        await written.writeFile(bytes);
        show({ stage: "parts", done: (done += bytes.length), total });
      }
    } finally {
      await written.close();
    }
  }
}

async function importWritten(
  run: Run,
  folder: string,
  show: (progress: SyncProgress) => void,
): Promise<ImportResult> {
  const { database, shopKey, upload, stop, now } = run;
  return importFolder({
    database,
    actor: { name: upload.requested_by, origin: upload.requested_origin },
    shopKey,
    currencyCode: upload.currency_code,
    folder,
    asOf: upload.as_of,
    now: now(),
    skipInvalid: upload.skip_invalid,
    signal: stop,
    maxReported: MOST_LISTED,
    mostTextBytes: MOST_UPLOAD_BYTES,
    mostKeys: MOST_KEYS,
    onWait: () => show({ stage: "wait", done: 0, total: null }),
    onProgress: ({ stage, doneBytes, totalBytes }) => show({ stage, done: doneBytes, total: totalBytes }),
    onStored: (connection, result) => storeEnd(connection, run, result),
  });
}

/** Another worker has begun the same import meanwhile, or its workspace is gone: this one rolls back. */
class NotOurs extends Error {
  override name = "NotOurs";
}

async function storeEnd(connection: Connection, run: Run, result: ImportResult): Promise<void> {
  const { counts, invalid_count, invalid, warnings } = result;
  const kept: UploadResult = {
    counts,
    invalid_count,
    invalid: invalid.slice(0, MOST_SHOWN),
    warnings,
    listed_count: invalid.length,
  };
  await storeRefusedRows(connection, run, invalid);
  const isEmpty = !result.imported && invalid_count === 0;
  await finish(connection, run, {
    status: result.imported ? "imported" : "refused",
    result: kept,
    error: isEmpty ? "The files hold no rows, only headers." : null,
  });
}

const REFUSED_ROW_COLUMNS = ["file", "row_group", "line", "column", "reason", "allowed"];

/** As a CSV file, in parts as the others. */
async function storeRefusedRows(
  connection: Connection,
  { shopKey, upload: { upload_id: uploadId } }: Run,
  rows: readonly RowProblem[],
): Promise<void> {
  await removeFile(connection, { shopKey, uploadId, fileName: REFUSED_ROWS_FILE });
  if (rows.length === 0) return;
  const cells = rows.map(({ file, row_group: group, line, column, reason, allowed }) =>
    [file, String(group ?? ""), String(line), column ?? "", reason, allowed].map(guardedText),
  );
  const csv = Buffer.from(csvText([REFUSED_ROW_COLUMNS, ...cells]));
  for (let part = 0; part * PART_BYTES < csv.length; part += 1) {
    const bytes = csv.subarray(part * PART_BYTES, (part + 1) * PART_BYTES);
    const place = { shopKey, uploadId, fileName: REFUSED_ROWS_FILE, part };
    await insertPart(connection, place, createHash("sha256").update(bytes).digest(), bytes);
  }
}

async function finish(
  connection: Pick<Database, "rows">,
  { shopKey, upload, now }: Run,
  end: Omit<UploadEnd, "expiresAt">,
): Promise<void> {
  const expiresAt = new Date(now().getTime() + UPLOAD_LIFETIME_MS);
  const { upload_id: uploadId, attempt } = upload;
  if (!(await finishUpload(connection, shopKey, uploadId, attempt, { ...end, expiresAt })))
    throw new NotOurs();
}

async function refuse(run: Run, error: string): Promise<void> {
  await finish(run.database, run, { status: "refused", result: null, error });
}

/** Errors that other files cannot fix are left to the next worker, or reported as internal errors. */
async function endFailed(run: Run, error: unknown): Promise<void> {
  const { database, shopKey, upload, stop, log } = run;
  const fields = { upload_id: upload.upload_id, shop_key: shopKey };
  // An import that waits for the end of an erasure or a move begins when that is canceled.
  if (stop.aborted || error instanceof WorkspaceStopped) {
    log.info(fields, "import of an upload released for another worker");
    await handOnUpload(database, shopKey, upload.upload_id, upload.attempt);
  } else if (error instanceof ImportError) {
    await refuse(run, `${error.message}.`);
  } else if (isLostDatabase(error)) {
    throw error;
  } else if (!(error instanceof NotOurs || error instanceof WorkspaceGone)) {
    log.error({ ...fields, err: error }, "import of an upload failed unexpectedly");
    await refuse(run, sentenceOf(error, upload.upload_id));
  }
}

/** By code, where there is none left. */
const NO_ROOM: Readonly<Record<string, string>> = { ENOSPC: "temporary folder", "53100": "database" };

function sentenceOf(error: unknown, uploadId: string): string {
  const place = NO_ROOM[(error as NodeJS.ErrnoException).code ?? ""];
  return place === undefined
    ? `Something unexpected went wrong in the service: see its log under upload ${uploadId}.`
    : `The service has no room left for these files in its ${place}. The operator can make some.`;
}
