import type { Connection } from "../../store/database.ts";
import { command, query, queryAny, queryRow, queryValue, requireValue } from "../../store/query.ts";
import { queueUploads } from "../../store/queries/run-queue.ts";
import type { UploadFile, PartPlace } from "../../store/queries/import-upload.ts";

/** `refused`: the import found invalid rows, and waits for corrected files or for permission to skip rows. */
export type UploadStatus =
  | "sending"
  | "waiting"
  | "importing"
  | "refused"
  | "imported"
  | "canceled"
  | "expired";

export type UploadRow = {
  upload_id: string;
  status: UploadStatus;
  /** The name of the person who began it. */
  created_by: string;
  created_at: Date;
  expires_at: Date;
  files: UploadFile[];
  as_of: Date;
  skip_invalid: boolean;
  stage: string | null;
  done: number;
  total: number | null;
  /** When a worker began the import; null = none has. */
  started_at: Date | null;
  /** As the import has left it; null = it has not ended. */
  result: unknown;
  error: string | null;
  finished_at: Date | null;
};

const OPEN = "('sending', 'waiting', 'importing', 'refused')";
const COLUMNS = `u.upload_id, u.status, u.created_at, u.expires_at, u.files, u.as_of, u.skip_invalid, u.stage, u.done, u.total, u.started_at,
                u.result, u.error, u.finished_at,
                coalesce(c.name, u.created_by) as created_by`;
const UPLOADS = "import_upload u left join console_user c on u.created_by = 'user:' || c.user_id";

/** Begins an upload; false when the workspace has an open one. import_upload_open. */
export const insertUpload = queryAny<
  [
    upload: {
      shopKey: number;
      uploadId: string;
      createdBy: string;
      now: Date;
      expiresAt: Date;
      files: readonly UploadFile[];
      asOf: Date;
    },
  ]
>(
  "insert_upload",
  `insert into import_upload (shop_key, upload_id, status, created_by, created_at, expires_at, files, as_of)
         values ($1, $2, 'sending', $3, $4, $5, $6, $7)
         on conflict (shop_key) where status in ${OPEN} do nothing
         returning 1 as inserted`,
  ({ shopKey, uploadId, createdBy, now, expiresAt, files, asOf }) => [
    shopKey,
    uploadId,
    createdBy,
    now,
    expiresAt,
    JSON.stringify(files),
    asOf,
  ],
);

/** One upload. Primary key. */
export const findUpload = queryRow<UploadRow, [shopKey: number, uploadId: string]>(
  "find_upload",
  `select ${COLUMNS} from ${UPLOADS} where u.shop_key = $1 and u.upload_id = $2`,
);

/** The state needed to change an upload. */
export type LockedUploadRow = Pick<UploadRow, "status" | "expires_at" | "files">;

const lockStatement = (strength: string): string =>
  `select u.status, u.expires_at, u.files from import_upload u
          where u.shop_key = $1 and u.upload_id = $2 ${strength}`;

/** Locks an upload's state until the end of the transaction, shared with others. Primary key. */
export const holdUpload = queryRow<LockedUploadRow, [shopKey: number, uploadId: string], Connection>(
  "hold_upload",
  lockStatement("for share"),
);

/** Locks an upload exclusively until the end of the transaction. Primary key. */
export const lockUpload = queryRow<LockedUploadRow, [shopKey: number, uploadId: string], Connection>(
  "lock_upload",
  lockStatement("for update"),
);

/** The newest uploads of a workspace first, by what its uploads of 30 days hold. Primary key. */
export const listUploads = query<UploadRow, [shopKey: number, limit: number]>(
  "list_uploads",
  `select ${COLUMNS} from ${UPLOADS} where u.shop_key = $1 order by u.created_at desc limit $2`,
);

/** The upload is sent again in part: these are its files now. */
export const reopenUpload = command<[shopKey: number, uploadId: string, files: readonly UploadFile[]]>(
  "reopen_upload",
  `update import_upload set status = 'sending', files = $3, result = null, error = null, finished_at = null
          where shop_key = $1 and upload_id = $2`,
  (shopKey, uploadId, files) => [shopKey, uploadId, JSON.stringify(files)],
);

const storeImportRequest = command<
  [shopKey: number, uploadId: string, request: { by: string; origin: string | null; skipInvalid: boolean }]
>(
  "request_upload_import",
  `update import_upload
            set status = 'waiting', requested_by = $3, requested_origin = $4, skip_invalid = $5, attempt = 0,
                started_at = null, stage = null, done = 0, total = null, error = null, finished_at = null
          where shop_key = $1 and upload_id = $2`,
  ["by", "origin", "skipInvalid"],
);

/** Asks a worker for the import; it takes it up within about a second. */
export const requestUploadImport: typeof storeImportRequest = async (database, shopKey, ...request) => {
  await storeImportRequest(database, shopKey, ...request);
  await queueUploads(database, shopKey);
};

/** Cancels an upload. */
export const cancelUpload = command<[shopKey: number, uploadId: string, now: Date]>(
  "cancel_upload",
  `update import_upload set status = 'canceled', finished_at = $3, expires_at = $3
          where shop_key = $1 and upload_id = $2`,
);

/** The SHA-256 of a part that is there; null = it is not. Primary key. */
export const findPartDigest = queryValue<Buffer, [place: PartPlace]>(
  "find_part_digest",
  `select p.sha256 from import_part p
          where p.shop_key = $1 and p.upload_id = $2 and p.file_name = $3 and p.part_number = $4`,
  ["shopKey", "uploadId", "fileName", "part"],
);

/** A part that is there, without its bytes. */
type StoredPartRow = { file_name: string; part_number: number; byte_count: number; sha256: string };

/** The stored parts of an upload, in order, without their bytes. Primary key. */
export const listParts = query<StoredPartRow, [shopKey: number, uploadId: string]>(
  "list_parts",
  `select p.file_name, p.part_number, octet_length(p.bytes) as byte_count, encode(p.sha256, 'hex') as sha256
           from import_part p
          where p.shop_key = $1 and p.upload_id = $2
          order by p.file_name, p.part_number`,
);

/** How many bytes of the upload's parts are there. Primary key. */
export const sumPartBytes = requireValue<number, [shopKey: number, uploadId: string, butFile: string]>(
  "sum_part_bytes",
  `select coalesce(sum(octet_length(p.bytes)), 0)::float8 as bytes from import_part p
          where p.shop_key = $1 and p.upload_id = $2 and p.file_name <> $3`,
);
