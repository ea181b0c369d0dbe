import { countRecords, SYNC_RECORD_COLUMNS } from "../../../../store/queries/sync-record.ts";
import { askForRefunds, askForTrackings } from "../../../../store/queries/shopify-record.ts";
import type { Connection } from "../../../../store/database.ts";
import { openCopyBuffer } from "../../../copy.ts";
import type { DownloadName } from "../cursor.ts";
import { PARTS, READ_ROW } from "./downloads.ts";
import type { StoredRecord } from "./downloads.ts";
import { named } from "../../kit/json.ts";
import type { Json } from "../../kit/json.ts";
import { DownloadBroken, largestFileBytes, readLines } from "../api/read-lines.ts";
import { SHOPIFY } from "../run.ts";
import type { ShopifyRun } from "../run.ts";

/**
 * Streams the file of a bulk operation into `sync_record`, and requests what only pages contain. Throws
 * DownloadBroken when the file holds fewer records than the platform says it should.
 */
export async function storeDownload(
  run: ShopifyRun,
  connection: Connection,
  name: DownloadName,
  { objects, url }: { objects: number; url: string | null },
): Promise<void> {
  if (url !== null) {
    const { lines, leftOut } = await copyDownload(run, connection, name, url, objects);
    if (lines < objects) throw new DownloadBroken(`${lines} of ${objects} lines`);
    // Rows may come twice, and hide that others are missing.
    const found = leftOut + (await countRecords(connection, run.shopKey, SHOPIFY, PARTS[name]));
    if (found < objects) throw new DownloadBroken(`${found} of ${objects} records`);
  }
  if (name === "orders") await askForRefunds(connection, run.shopKey, SHOPIFY);
  if (name === "returns") await askForTrackings(connection, run.shopKey, SHOPIFY);
}

async function copyDownload(
  run: ShopifyRun,
  connection: Connection,
  name: DownloadName,
  url: string,
  objects: number,
): Promise<{ lines: number; leftOut: number }> {
  const readRow = READ_ROW[name];
  let leftOut = 0;
  const buffer = openCopyBuffer(connection, SYNC_RECORD_COLUMNS);
  const body = await run.client.download(url);
  try {
    const lines = await readLines(
      body,
      (node) => {
        const row = rowOf(node, readRow);
        if (row === null) {
          leftOut += 1;
          return;
        }
        buffer.add([run.shopKey, SHOPIFY, row.part, row.recordId, row.parentId, JSON.stringify(row.record)]);
      },
      async (done) => {
        run.signal.throwIfAborted();
        run.progress({ stage: name, done, total: objects });
        await buffer.sendIfFull();
      },
      largestFileBytes(objects),
    );
    return { lines, leftOut };
  } finally {
    // A batch that still travels has to arrive before anything else may run on the connection, also a rollback.
    await buffer.send();
  }
}

function rowOf(node: Json, readRow: (node: Json) => StoredRecord | null): StoredRecord | null {
  try {
    return readRow(node);
  } catch (error) {
    throw named(error, node);
  }
}
