import type { Connection } from "../database.ts";
import { query, queryAny, queryValue, requireValue } from "../query.ts";

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

/** The SHA-256 of a part that is there; null = it is not. Primary key. */
export const findPartDigest = queryValue<Buffer, [place: PartPlace]>(
  "find_part_digest",
  `select p.sha256 from import_part p
          where p.shop_key = $1 and p.upload_id = $2 and p.file_name = $3 and p.part_number = $4`,
  ({ shopKey, uploadId, fileName, part }) => [shopKey, uploadId, fileName, part],
);

/** The bytes of a part; null = it is not there. Primary key. */
export const readPart = queryValue<Buffer, [place: PartPlace]>(
  "read_part",
  `select p.bytes from import_part p
          where p.shop_key = $1 and p.upload_id = $2 and p.file_name = $3 and p.part_number = $4`,
  ({ shopKey, uploadId, fileName, part }) => [shopKey, uploadId, fileName, part],
);

/** A part that is there, without its bytes. */
export type StoredPartRow = { file_name: string; part_number: number; byte_count: number; sha256: string };

/** What of an upload is there, in order; none of the bytes is read. Primary key. */
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
