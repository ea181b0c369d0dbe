import {
  countPending,
  listPending,
  removePending,
  SYNC_RECORD_COLUMNS,
  type PendingRecord,
} from "../../../../store/queries/sync-record.ts";
import { openCopyBuffer } from "../../../copy.ts";
import { SHOPIFY, step, type ShopifyRun } from "../settings.ts";
import { columnsOf, type StoredRecord } from "./downloads.ts";

/**
 * Fetches every requested record of a kind, by id, in chunks; one is fetched while the previous one is stored. A chunk's records
 * and the end of their requests are stored together, so that an interrupted run resumes after it. A record requested again
 * meanwhile is fetched anyway, since the run's as-of (M5) covers it. Ids after the last one wait for the next run: new orders may
 * arrive as fast as they are fetched.
 */
export async function drainPending(
  run: ShopifyRun,
  kind: string,
  portion: () => number,
  fetchRecords: (ids: readonly string[]) => Promise<StoredRecord[]>,
): Promise<void> {
  const { database, shopKey } = run;
  const { pending, last } = await countPending(database, shopKey, SHOPIFY, kind);
  if (pending === 0) return;
  const fetchAfter = async (after: string): Promise<Portion> => {
    run.signal.throwIfAborted();
    const asked = await listPending(database, shopKey, SHOPIFY, kind, { after, last, limit: portion() });
    const ids = asked.map((row) => row.record_id);
    return { asked, fetched: ids.length === 0 ? [] : await fetchRecords(ids) };
  };
  let done = 0;
  let next = fetchAfter("");
  for (let current = await next; current.asked.length > 0; current = await next) {
    next = fetchAfter(current.asked.at(-1)?.record_id ?? "");
    // Pending work is awaited even if storing fails: it must not outlive the run.
    const [stored] = await Promise.allSettled([storePortion(run, kind, current), next]);
    if (stored.status === "rejected") throw stored.reason;
    done += current.asked.length;
    run.progress({ stage: kind, done, total: Math.max(done, pending) });
  }
}

type Portion = { asked: PendingRecord[]; fetched: StoredRecord[] };

async function storePortion(run: ShopifyRun, kind: string, { asked, fetched }: Portion): Promise<void> {
  const { shopKey } = run;
  await step(run, async (connection) => {
    const buffer = openCopyBuffer(connection, SYNC_RECORD_COLUMNS);
    for (const record of fetched) buffer.add(columnsOf(shopKey, record));
    await buffer.send();
    await removePending(connection, shopKey, SHOPIFY, kind, asked);
    return null;
  });
}
