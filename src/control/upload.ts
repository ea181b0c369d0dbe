import { createHash, randomUUID } from "node:crypto";
import { ApiError } from "../contract/errors.ts";
import type { Connection, Database } from "../store/database.ts";
import { findConnectedStore } from "../store/queries/data-source.ts";
import { findPartDigest, insertPart, listParts } from "../store/queries/import-part.ts";
import {
  cancelUpload as markCanceled,
  expireUploads,
  holdUpload,
  insertUpload,
  lockUpload,
  reopenUpload,
  requestUploadImport,
} from "../store/queries/import-upload.ts";
import type { LockedUploadRow, UploadFile, UploadStatus } from "../store/queries/import-upload.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { removeEndedParts, removeFile } from "../sync/connectors/csv/import-upload.ts";
import {
  fileOfName,
  partBytesOf,
  partCountOf,
  UPLOAD_LIFETIME_MS,
} from "../sync/connectors/csv/upload-plan.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { quoted } from "./input.ts";
import { impossible, invalid } from "./refusal.ts";
import { requireRight } from "./rights.ts";
import { readLastDay, readUploadFiles, refuseBesideStore } from "./upload-input.ts";
import type { GivenFile } from "./upload-input.ts";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;

/**
 * Begins an upload of these files, which are sent part by part until 24 hours later; returns its id. `lastDay`: the day up
 * to whose end, in UTC, they are complete; empty = up to now. Throws a `Refusal` for files that an import would not take,
 * and while the workspace has another upload.
 */
export async function startUpload(
  database: Database,
  actor: Actor,
  { shop_key: shopKey }: WorkspaceRow,
  request: { files: readonly GivenFile[]; lastDay: string; now: Date },
): Promise<string> {
  requireRight(actor, "import.start");
  const { now } = request;
  const files = readUploadFiles(request.files);
  const asOf = readLastDay(request.lastDay, now);
  refuseBesideStore(files, await findConnectedStore(database, shopKey));
  await expireUploads(database, shopKey, now);
  // What earlier uploads have left is no more than one of them, since none begins before it is gone.
  await removeEndedParts(database, shopKey, now);
  const uploadId = randomUUID();
  const expiresAt = new Date(now.getTime() + UPLOAD_LIFETIME_MS);
  await database.transaction(async (connection) => {
    const upload = { shopKey, uploadId, createdBy: actor.name, now, expiresAt, files, asOf };
    if (!(await insertUpload(connection, upload))) {
      throw impossible("Another upload of this workspace is under way: continue it, or give it up first.");
    }
    const detail = { upload_id: uploadId, files, as_of: asOf.toISOString() };
    await recordAction(connection, actor, { shopKey, action: "import.start", detail });
  });
  return uploadId;
}

/** A part of a file; they are numbered from 0. */
export type SentPart = { uploadId: string; fileName: string; part: string; bytes: Buffer };

/**
 * Stores a part of an upload; the same one again changes nothing. Throws a `Refusal` for a part that the upload has not
 * announced, of another size, or with other bytes than were sent before under its number.
 */
export async function putPart(
  database: Database,
  actor: Actor,
  { shop_key: shopKey }: WorkspaceRow,
  sent: SentPart & { now: Date },
): Promise<void> {
  requireRight(actor, "import");
  const { uploadId, fileName, bytes, now } = sent;
  const part = /^\d{1,4}$/u.test(sent.part) ? Number(sent.part) : -1;
  const sha256 = createHash("sha256").update(bytes).digest();
  await database.transaction(async (connection) => {
    const upload = await requireUpload(connection, shopKey, uploadId, holdUpload);
    requireStatus(upload, ["sending"], now);
    const file = upload.files.find(({ name }) => name === fileName);
    if (file === undefined) throw invalid(`${quoted(fileName)} is no file of this upload.`);
    const expected = partBytesOf(file, part);
    if (expected === null) {
      throw invalid(`${fileName} has the parts 0 to ${partCountOf(file) - 1}; ${quoted(sent.part)} is none.`);
    }
    if (bytes.length !== expected) {
      throw invalid(`Part ${part} of ${fileName} has ${expected} bytes; ${bytes.length} were sent.`);
    }
    const place = { shopKey, uploadId, fileName, part };
    if (await insertPart(connection, place, sha256, bytes)) return;
    if ((await findPartDigest(connection, place))?.equals(sha256) === true) return;
    throw impossible(
      `Part ${part} of ${fileName} is there with other bytes: the file has changed. Send it anew.`,
    );
  });
}

/** Sends a file of an upload anew, or one more, such as a corrected one; the other files stay. */
export async function replaceFile(
  database: Database,
  actor: Actor,
  { shop_key: shopKey }: WorkspaceRow,
  { uploadId, file, now }: { uploadId: string; file: GivenFile; now: Date },
): Promise<void> {
  requireRight(actor, "import.replace");
  const connectedStore = await findConnectedStore(database, shopKey);
  await database.transaction(async (connection) => {
    const upload = await requireUpload(connection, shopKey, uploadId, lockUpload);
    requireStatus(upload, ["sending", "refused"], now);
    const kind = fileOfName(file.name);
    const replaced = upload.files.filter(({ name }) => kind !== null && fileOfName(name) === kind);
    const others = upload.files.filter((each) => !replaced.includes(each));
    const given = others.map(({ name, bytes }) => ({ name, bytes: String(bytes) }));
    const files = readUploadFiles([...given, file]);
    refuseBesideStore(files, connectedStore);
    for (const { name } of replaced) await removeFile(connection, { shopKey, uploadId, fileName: name });
    await reopenUpload(connection, shopKey, uploadId, files);
    const detail = { upload_id: uploadId, files };
    const before = { files: upload.files };
    await recordAction(connection, actor, { shopKey, action: "import.replace", detail, before });
  });
}

/**
 * Has a worker import an upload whose parts are all there; with `skipInvalid`, which is for one that was refused, without
 * the rows that cannot be used. Who asks is the actor of the import.
 */
export async function requestImport(
  database: Database,
  actor: Actor,
  { shop_key: shopKey }: WorkspaceRow,
  { uploadId, skipInvalid, now }: { uploadId: string; skipInvalid: boolean; now: Date },
): Promise<void> {
  requireRight(actor, "import.request");
  await database.transaction(async (connection) => {
    const upload = await requireUpload(connection, shopKey, uploadId, lockUpload);
    requireStatus(upload, skipInvalid ? ["refused"] : ["sending", "refused"], now);
    await requireAllParts(connection, { shopKey, uploadId, files: upload.files });
    const request = { by: actor.name, origin: actor.origin, skipInvalid };
    await requestUploadImport(connection, shopKey, uploadId, request);
    const detail = { upload_id: uploadId, skip_invalid: skipInvalid };
    await recordAction(connection, actor, { shopKey, action: "import.request", detail });
  });
}

/** Gives up an upload that is not being imported, with all that was sent of it. */
export async function cancelUpload(
  database: Database,
  actor: Actor,
  { shop_key: shopKey }: WorkspaceRow,
  { uploadId, now }: { uploadId: string; now: Date },
): Promise<void> {
  requireRight(actor, "import.cancel");
  await database.transaction(async (connection) => {
    const upload = await requireUpload(connection, shopKey, uploadId, lockUpload);
    requireStatus(upload, ["sending", "waiting", "refused"], now);
    await markCanceled(connection, shopKey, uploadId, now);
    const detail = { upload_id: uploadId };
    const before = { status: upload.status, files: upload.files };
    await recordAction(connection, actor, { shopKey, action: "import.cancel", detail, before });
  });
  await removeEndedParts(database, shopKey, now);
}

type FindUpload<Row> = (connection: Connection, shopKey: number, uploadId: string) => Promise<Row | null>;

/** Throws not_found alike for an upload of another workspace and for none at all. */
async function requireUpload(
  connection: Connection,
  shopKey: number,
  uploadId: string,
  find: FindUpload<LockedUploadRow>,
): Promise<LockedUploadRow> {
  const upload = UUID.test(uploadId) ? await find(connection, shopKey, uploadId) : null;
  if (upload === null) throw noUpload();
  return upload;
}

/** Whether a text can be the id of an upload. */
export function isUploadId(text: string): boolean {
  return UUID.test(text);
}

export function noUpload(): ApiError {
  return new ApiError("not_found", "There is no such upload.");
}

const STATES: Readonly<Record<UploadStatus, string>> = {
  sending: "is still being sent",
  waiting: "waits for its import",
  importing: "is being imported",
  refused: "was refused by its import",
  imported: "was imported",
  canceled: "was given up",
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
    if (missing > 0) throw impossible(`${file.name} is not whole: ${missing} of its parts are missing.`);
  }
}
