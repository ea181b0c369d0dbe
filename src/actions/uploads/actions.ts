import { createHash, randomUUID } from "node:crypto";
import { evaluateAlerts, replayEarlyWarnings } from "../../alerts/evaluate-alerts.ts";
import { ApiError } from "../../contract/errors.ts";
import { dayFromText, dayToText } from "../../lib/month.ts";
import type { Connection, Database, Queryable } from "../../store/database.ts";
import { findConnectedStore } from "../../store/queries/data-source.ts";
import { WorkspaceStopped } from "../../store/queries/import-stage.ts";
import { expireUploads, insertPart, type UploadFile } from "../../store/queries/import-upload.ts";
import {
  cancelUpload as markCanceled,
  findPartDigest,
  holdUpload,
  insertUpload,
  listParts,
  lockUpload,
  reopenUpload,
  requestUploadImport,
} from "./queries.ts";
import type { LockedUploadRow, UploadStatus } from "./queries.ts";
import { hasWorker } from "../../store/queries/worker-health.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import { FILE_NAMES, type FileName } from "../../sync/connectors/csv/file-formats.ts";
import { besideStoreProblem } from "../../sync/connectors/csv/folder-files.ts";
import { importFolder } from "../../sync/connectors/csv/import-folder.ts";
import type { ImportOptions, ImportResult } from "../../sync/connectors/csv/import-folder.ts";
import {
  fileOfName,
  MOST_UPLOAD_BYTES,
  partBytesOf,
  partCountOf,
  removeEndedParts,
  removeFile,
  UPLOAD_LIFETIME_MS,
} from "../../sync/connectors/csv/import-upload.ts";
import { ImportError } from "../../sync/connectors/csv/problems.ts";
import { defineAction } from "../action.ts";
import type { Actor } from "../actor.ts";
import { anyText, bodyBytes, flag, own, textList } from "../field.ts";
import { quoted, readDay, UUID } from "../input.ts";
import { impossible, invalid, movingAway } from "../refusal.ts";
import { requireRight, type NamedRight } from "../right.ts";

const GIB = 1024 ** 3;

const UNSEEN = { kind: "hidden", only: "form" } as const;
const uploadField = anyText("The upload", UNSEEN);
const fileField = anyText("The file", UNSEEN);

/**
 * Begins an upload of these files, which are sent part by part until 24 hours later. Refused for files that an import would
 * not take, and while the workspace has another upload.
 */
export const startUpload = defineAction({
  name: "import.start",
  title: "Start upload",
  past: "Started an upload",
  least: "admin",
  input: {
    file: textList("The files"),
    /** How many bytes each of them has. */
    bytes: textList("The sizes"),
    last_day: own("The last day", readLastDay, { kind: "day", only: "form" }),
  },
  // Earlier uploads can leave at most one rest, since a new upload begins only after it is deleted.
  prepare: async ({ database, workspace, now }, { file: names, bytes: sizes }) => {
    const { shop_key: shopKey } = workspace;
    const files = readUploadFiles(names.map((name, index) => ({ name, bytes: sizes[index] ?? "" })));
    refuseBesideStore(files, await findConnectedStore(database, shopKey));
    await expireUploads(database, shopKey, now);
    await removeEndedParts(database, shopKey, now);
    return files;
  },
  run: async ({ connection, shopKey, actor, now }, { last_day: asOf }, files) => {
    const uploadId = randomUUID();
    const expiresAt = new Date(now.getTime() + UPLOAD_LIFETIME_MS);
    const upload = {
      shopKey,
      uploadId,
      createdBy: actor.name,
      now,
      expiresAt,
      files,
      asOf,
    };
    if (!(await insertUpload(connection, upload))) {
      throw impossible("Another upload of this workspace is under way: continue it, or cancel it first.");
    }
    return {
      result: { upload_id: uploadId },
      done: "The upload has begun.",
      audit: { detail: { upload_id: uploadId, files, as_of: asOf.toISOString() } },
    };
  },
});

/**
 * Stores a part of an upload; the same one again changes nothing. Refused for a part that the upload has not announced, of
 * another size, or with other bytes than were sent before under its number.
 */
export const putPart = defineAction({
  name: "import.part",
  title: "Send part",
  past: "Sent a part of an upload",
  least: "admin",
  input: {
    id: uploadField,
    file: fileField,
    /** They are numbered from 0. */
    part: anyText("The part", UNSEEN),
    body: bodyBytes("The bytes"),
  },
  run: async ({ connection, shopKey, now }, { id: uploadId, file: fileName, part: number, body }) => {
    const part = /^\d{1,4}$/u.test(number) ? Number(number) : -1;
    const sha256 = createHash("sha256").update(body).digest();
    const upload = await requireUpload(connection, shopKey, uploadId, holdUpload);
    requireStatus(upload, ["sending"], now);
    const announced = upload.files.find(({ name }) => name === fileName);
    if (announced === undefined) throw invalid(`${quoted(fileName)} is not a file of this upload.`);
    const expected = partBytesOf(announced, part);
    if (expected === null) {
      throw invalid(
        `${fileName} has the parts 0 to ${partCountOf(announced) - 1}; ${quoted(number)} is not one of them.`,
      );
    }
    if (body.length !== expected) {
      throw invalid(`Part ${part} of ${fileName} has ${expected} bytes; ${body.length} were sent.`);
    }
    const place = { shopKey, uploadId, fileName, part };
    if (
      !(await insertPart(connection, place, sha256, body)) &&
      (await findPartDigest(connection, place))?.equals(sha256) !== true
    ) {
      throw impossible(
        `Part ${part} of ${fileName} is already stored with other content: the file has changed. Send it again from the start.`,
      );
    }
    return { result: {}, done: "The part is stored.", audit: null };
  },
});

/** Sends a file of an upload again, or one more, such as a corrected one; the other files stay. */
export const replaceFile = defineAction({
  name: "import.replace",
  title: "Replace file",
  past: "Replaced a file of an upload",
  least: "admin",
  input: {
    id: uploadField,
    file: fileField,
    /** How many it has. */
    bytes: anyText("The size", UNSEEN),
  },
  run: async ({ connection, shopKey, now }, { id: uploadId, file: fileName, bytes: size }) => {
    const connectedStore = await findConnectedStore(connection, shopKey);
    const upload = await requireUpload(connection, shopKey, uploadId, lockUpload);
    requireStatus(upload, ["sending", "refused"], now);
    const kind = fileOfName(fileName);
    const replaced = upload.files.filter(({ name }) => kind !== null && fileOfName(name) === kind);
    const others = upload.files.filter((each) => !replaced.includes(each));
    const kept = others.map((each) => ({ name: each.name, bytes: String(each.bytes) }));
    const files = readUploadFiles([...kept, { name: fileName, bytes: size }]);
    refuseBesideStore(files, connectedStore);
    for (const { name } of replaced) await removeFile(connection, { shopKey, uploadId, fileName: name });
    await reopenUpload(connection, shopKey, uploadId, files);
    return {
      result: {},
      done: "The file can be sent.",
      audit: { detail: { upload_id: uploadId, files }, before: { files: upload.files } },
    };
  },
});

/**
 * Has a worker import an upload whose parts are all there; with `skip_invalid`, which is for one that was refused, without
 * the rows that cannot be used. The caller is the actor of the import.
 */
export const requestImport = defineAction({
  name: "import.request",
  title: "Import files",
  past: "Requested the import of an upload",
  least: "admin",
  input: { id: uploadField, skip_invalid: flag("Leave out rows that cannot be used", { only: "form" }) },
  run: async ({ connection, shopKey, actor, now }, { id: uploadId, skip_invalid: skipInvalid }) => {
    const upload = await requireUpload(connection, shopKey, uploadId, lockUpload);
    requireStatus(upload, skipInvalid ? ["refused"] : ["sending", "refused"], now);
    await requireAllParts(connection, { shopKey, uploadId, files: upload.files });
    const request = { by: actor.name, origin: actor.origin, skipInvalid };
    await requestUploadImport(connection, shopKey, uploadId, request);
    const begins = (await hasWorker(connection)) ? "when a worker is free" : "as soon as a worker runs";
    return {
      result: {},
      done: `Import queued; it begins ${begins}. You can leave this page.`,
      audit: { detail: { upload_id: uploadId, skip_invalid: skipInvalid } },
    };
  },
});

/** Ends an upload that is not being imported, with all that was sent of it. */
export const cancelUpload = defineAction({
  name: "import.cancel",
  title: "Cancel upload",
  past: "Canceled an upload",
  least: "admin",
  input: { id: uploadField },
  run: async ({ connection, shopKey, now }, { id: uploadId }) => {
    const upload = await requireUpload(connection, shopKey, uploadId, lockUpload);
    requireStatus(upload, ["sending", "waiting", "refused"], now);
    await markCanceled(connection, shopKey, uploadId, now);
    const before = { status: upload.status, files: upload.files };
    return {
      result: {},
      done: "The upload is canceled. Nothing of it was imported.",
      audit: { detail: { upload_id: uploadId }, before },
    };
  },
  after: ({ database, workspace, now }) => removeEndedParts(database, workspace.shop_key, now),
});

export const UPLOAD_ACTIONS = [startUpload, putPart, replaceFile, requestImport, cancelUpload] as const;

/** An upload as `find` reads it. Throws not_found alike for an upload of another workspace and for none at all. */
export async function requireUpload<Asked extends Queryable, Row>(
  database: Asked,
  shopKey: number,
  uploadId: string,
  find: (database: Asked, shopKey: number, uploadId: string) => Promise<Row | null>,
): Promise<Row> {
  const upload = UUID.test(uploadId) ? await find(database, shopKey, uploadId) : null;
  if (upload === null) throw new ApiError("not_found", "There is no such upload.");
  return upload;
}

const STATES: Readonly<Record<UploadStatus, string>> = {
  sending: "is still being sent",
  waiting: "waits for its import",
  importing: "is being imported",
  refused: "was refused by its import",
  imported: "was imported",
  canceled: "was canceled",
  expired: "has expired: there were 24 hours to send and correct it",
};

function requireStatus(
  { status, expires_at: expiresAt }: LockedUploadRow,
  allowed: readonly UploadStatus[],
  now: Date,
): void {
  const isExpired = (status === "sending" || status === "refused") && expiresAt < now;
  if (!isExpired && allowed.includes(status)) return;
  throw impossible(`This upload ${STATES[isExpired ? "expired" : status]}.`);
}

async function requireAllParts(
  connection: Connection,
  { shopKey, uploadId, files }: { shopKey: number; uploadId: string; files: readonly UploadFile[] },
): Promise<void> {
  const parts = await listParts(connection, shopKey, uploadId);
  for (const file of files) {
    const missing = partCountOf(file) - parts.filter(({ file_name: name }) => name === file.name).length;
    if (missing > 0) throw impossible(`${file.name} is incomplete: ${missing} of its parts are missing.`);
  }
}

/** A file as the browser names it: how many bytes it has is text of a form. */
type GivenFile = { name: string; bytes: string };

/** The files of an upload. Throws `invalid` for a name, a size or a sum that is not allowed. */
function readUploadFiles(named: readonly GivenFile[]): UploadFile[] {
  const files = named.map(readUploadFile);
  if (files.length === 0) throw invalid(`Choose at least one file: ${namesSentence()}.`);
  for (const name of FILE_NAMES) {
    const [first, second] = files.filter((file) => fileOfName(file.name) === name);
    if (second !== undefined && first !== undefined) {
      throw invalid(`${first.name} and ${second.name}: there must be only one of them.`);
    }
  }
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (bytes <= MOST_UPLOAD_BYTES) return files;
  const size = `${(bytes / GIB).toFixed(2)} GB`;
  throw invalid(`The files are ${size} together; an upload takes at most ${MOST_UPLOAD_BYTES / GIB} GB.`);
}

function readUploadFile({ name, bytes: text }: GivenFile): UploadFile {
  if (fileOfName(name) === null) {
    throw invalid(`${quoted(name)} is not a file of an import: ${namesSentence()}.`);
  }
  const bytes = /^\d{1,15}$/u.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(bytes)) throw invalid(`The size of ${name} must be a whole number of bytes.`);
  if (bytes === 0) throw invalid(`${name} is empty, not even a header row.`);
  return { name, bytes };
}

function namesSentence(): string {
  return `its files are named ${FILE_NAMES.map((name) => `${name}.csv`).join(", ")}, and each may end in .csv.gz or .parquet`;
}

/** Throws `impossible` for files that a connected store (null = none is) provides itself. */
function refuseBesideStore(files: readonly UploadFile[], connectedStore: string | null): void {
  const named = files.map(({ name }) => ({ name: fileOfName(name) as FileName, fileName: name }));
  const problem = besideStoreProblem(named, connectedStore, "upload");
  if (problem !== null) throw impossible(`${problem}.`);
}

/**
 * M5: the moment up to which files are complete that are complete up to the end of a day, in UTC; empty or today = now.
 * Throws `invalid` for a day to come.
 */
function readLastDay(subject: string, text: string, now: Date): Date {
  if (text === "") return now;
  const today = now.toISOString().slice(0, 10);
  const day = readDay(subject, text);
  if (day > today) {
    throw invalid(`${subject}, ${day}, is in the future: it may be at most today, ${today}.`);
  }
  if (day === today) return now;
  return new Date(`${dayToText((dayFromText(day) as number) + 1)}T00:00:00Z`);
}

/** Required by every page and file of an import, and by the command. */
export const importData: NamedRight = { name: "import", past: "Imported data", least: "admin" };

type ImportRequest = Pick<ImportOptions, "folder" | "asOf" | "now" | "skipInvalid" | "signal" | "onWait"> & {
  /** M17: earlier days for which early warnings are evaluated too; counted from 1970-01-01, oldest first. */
  replayedDays?: readonly number[] | undefined;
  /** Throwing stops the import too. */
  onProgress: ProgressListener;
};

/** `label` names the step; `total` is in whatever the step counts. */
export type ProgressListener = (label: string, done: number, total: number) => void;

const STEP_LABELS: Readonly<Record<string, string>> = {
  parts: "Joining the parts",
  wait: "Waiting for another run of this workspace",
  orders: "Merging orders",
  labels: "Splitting labels",
  cohorts: "Rolling up",
};

/** An import's step in words; a step that is not common to all folders is the name of a file. */
export function stepLabel(stage: string): string {
  return STEP_LABELS[stage] ?? `Reading ${stage}`;
}

/** Where a row that cannot be used stands, for people. */
export function placeOfRow({ file, row_group: group, line }: ImportResult["invalid"][number]): string {
  return group === undefined ? `${file}:${line}` : `${file}: row group ${group}, row ${line}`;
}

/**
 * Imports a folder of files into a workspace and evaluates its alerts; the first import makes it ready. Throws a
 * `Refusal` for an as-of in the future and for a folder or file that cannot be read.
 */
export async function importIntoWorkspace(
  database: Database,
  actor: Actor,
  workspace: DirectoryRow,
  request: ImportRequest,
): Promise<ImportResult> {
  requireRight(actor, importData);
  const { onProgress, replayedDays = [], ...options } = request;
  const { asOf, now } = options;
  if (asOf > now) {
    throw invalid(
      `The as-of ${asOf.toISOString()} is in the future: it may be at most ${now.toISOString()}, which is now.`,
    );
  }
  try {
    const result = await importFolder({
      database,
      actor,
      shopKey: workspace.shop_key,
      currencyCode: workspace.currency_code,
      ...options,
      onProgress: ({ stage, doneBytes, totalBytes }) => onProgress(stepLabel(stage), doneBytes, totalBytes),
    });
    if (result.imported) {
      for (const asOfDay of replayedDays) {
        await replayEarlyWarnings(database, { shopKey: workspace.shop_key, asOfDay });
      }
      await evaluateAlerts({ database, shopKey: workspace.shop_key, now: new Date() });
    }
    return result;
  } catch (error) {
    if (error instanceof WorkspaceStopped) {
      throw error.readiness === "erasing"
        ? impossible(`${workspace.shop_domain} is scheduled for erasure: cancel the erasure first.`)
        : movingAway(workspace.shop_domain);
    }
    throw error instanceof ImportError ? impossible(`${error.message}.`) : error;
  }
}
