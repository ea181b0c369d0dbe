import type { Connection } from "../database.ts";
import { command, queryAny, queryRow, queryValue } from "../query.ts";
import { IS_STOPPED } from "./workspace-directory.ts";

/** A file of an upload, under the name that it has in its folder. */
export type UploadFile = { name: string; bytes: number };

type DueUploadRow = {
  /** A worker has begun it, and may have been killed. */
  is_open: boolean;
  /** Its workspace is going to be erased, or moves: no import begins. */
  is_stopped: boolean;
};

/** The upload of a workspace that waits for a worker or is being imported; null = none is. import_upload_open. */
export const findDueUpload = queryRow<DueUploadRow, [shopKey: number]>(
  "find_due_upload",
  `select u.status = 'importing' as is_open, ${IS_STOPPED} as is_stopped
           from import_upload u join workspace w on w.shop_key = u.shop_key
          where u.shop_key = $1 and u.status in ('waiting', 'importing')`,
);

/** An upload that a worker has taken up. */
export type TakenUploadRow = {
  upload_id: string;
  files: UploadFile[];
  as_of: Date;
  currency_code: string;
  requested_by: string;
  requested_origin: string | null;
  skip_invalid: boolean;
  /** 1 for the first worker; the import's end names it, so that only the last worker to begin can end it. */
  attempt: number;
};

/** Takes up the import of a workspace's upload, whose claim the caller has; null = none is due. import_upload_open. */
export const takeUpload = queryRow<TakenUploadRow, [shopKey: number]>(
  "take_upload",
  `update import_upload u set status = 'importing', attempt = u.attempt + 1, started_at = statement_timestamp()
           from workspace w
          where u.shop_key = $1 and w.shop_key = u.shop_key and not ${IS_STOPPED}
            and u.status in ('waiting', 'importing')
         returning u.upload_id, u.files, u.as_of, w.currency_code, u.requested_by, u.requested_origin, u.skip_invalid,
                   u.attempt`,
);

/** A worker that stops hands the import on, as if it had not begun it. */
export const handOnUpload = command<[shopKey: number, uploadId: string, attempt: number]>(
  "hand_on_upload",
  `update import_upload set status = 'waiting', attempt = attempt - 1
          where shop_key = $1 and upload_id = $2 and status = 'importing' and attempt = $3`,
);

/** `total` null = unknown. */
export const updateUploadProgress = command<
  [shopKey: number, uploadId: string, progress: { stage: string; done: number; total: number | null }]
>(
  "update_upload_progress",
  `update import_upload set stage = $3, done = $4, total = $5
          where shop_key = $1 and upload_id = $2 and status = 'importing'`,
  (shopKey, uploadId, { stage, done, total }) => [shopKey, uploadId, stage, done, total],
);

export type UploadEnd = {
  status: "imported" | "refused";
  result: unknown;
  error: string | null;
  /** Until then it can be corrected, and its refused rows be fetched. */
  expiresAt: Date;
};

/** Records the end of an import; false when it is no longer this worker's to end. */
export const finishUpload = queryAny<[shopKey: number, uploadId: string, attempt: number, end: UploadEnd]>(
  "finish_upload",
  `update import_upload set status = $4, result = $5, error = $6, expires_at = $7, finished_at = statement_timestamp()
          where shop_key = $1 and upload_id = $2 and status = 'importing' and attempt = $3
         returning 1 as finished`,
  (shopKey, uploadId, attempt, { status, result, error, expiresAt }) => [
    shopKey,
    uploadId,
    attempt,
    status,
    result === null ? null : JSON.stringify(result),
    error,
    expiresAt,
  ],
);

/** Ends the uploads of a workspace that were not sent, or not corrected, in time. import_upload_open. */
export const expireUploads = command<[shopKey: number, now: Date]>(
  "expire_uploads",
  `update import_upload set status = 'expired', finished_at = $2
          where shop_key = $1 and expires_at < $2 and status in ('sending', 'refused')`,
);

/** Deletes the uploads of a workspace that ended before a moment. Primary key. */
export const deleteOldUploads = command<[shopKey: number, before: Date]>(
  "delete_old_uploads",
  `delete from import_upload u
          where u.shop_key = $1 and u.expires_at < $2 and u.status in ('imported', 'canceled', 'expired')`,
);

/** A part of a file of an upload; numbers begin with 0. */
export type PartPlace = { shopKey: number; uploadId: string; fileName: string; part: number };

/** Stores a part; false when it is there already, with whatever bytes. */
export const insertPart = queryAny<[place: PartPlace, sha256: Buffer, bytes: Buffer]>(
  "insert_part",
  `insert into import_part (shop_key, upload_id, file_name, part_number, sha256, bytes)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (shop_key, upload_id, file_name, part_number) do nothing
         returning 1 as inserted`,
  ({ shopKey, uploadId, fileName, part }, sha256, bytes) => [
    shopKey,
    uploadId,
    fileName,
    part,
    sha256,
    bytes,
  ],
);

/** The bytes of a part; null = it is not there. Primary key. */
export const readPart = queryValue<Buffer, [place: PartPlace]>(
  "read_part",
  `select p.bytes from import_part p
          where p.shop_key = $1 and p.upload_id = $2 and p.file_name = $3 and p.part_number = $4`,
  ({ shopKey, uploadId, fileName, part }) => [shopKey, uploadId, fileName, part],
);

/** Removes some parts of a file of an upload; false = none is left. By portions as below. Primary key. */
export const deleteFileParts = queryAny<
  [shopKey: number, uploadId: string, fileName: string, most: number],
  Connection
>(
  "delete_file_parts",
  `delete from import_part p
          where p.shop_key = $1 and p.upload_id = $2 and p.file_name = $3
            and p.part_number in (select e.part_number from import_part e
                                   where e.shop_key = $1 and e.upload_id = $2 and e.file_name = $3 limit $4)
         returning 1 as deleted`,
);

/**
 * Removes some parts of a workspace's uploads that have ended, but the refused rows of those that have not expired; false =
 * none is left. By portions, since a statement of the console has 10 seconds. Primary key.
 */
export const deleteEndedParts = queryAny<[shopKey: number, now: Date, keptFile: string, most: number]>(
  "delete_ended_parts",
  `delete from import_part p
          where p.shop_key = $1
            and (p.upload_id, p.file_name, p.part_number) in (
                  select e.upload_id, e.file_name, e.part_number from import_part e
                   where e.shop_key = $1
                     and not exists (select from import_upload u
                                      where u.shop_key = $1 and u.upload_id = e.upload_id
                                        and (u.status in ('sending', 'waiting', 'importing', 'refused')
                                             or e.file_name = $3 and u.expires_at >= $2))
                   limit $4)
         returning 1 as deleted`,
);
