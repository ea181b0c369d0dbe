import { randomUUIDv7 } from "node:crypto";
import type { Connection } from "../store/database.ts";
import { insertAlerts } from "../store/queries/alerts.ts";
import { publishImport, putLabelSource, putStoreSource, raiseDataVersion } from "../store/queries/publish.ts";

type StoreRun = {
  shopKey: number;
  source: string;
  /** M5: all of the source's data at this time has been read. */
  asOf: Date;
  /** Whether anything that is served came out different. */
  isChanged: boolean;
  /** Orders that are new or different, of a backfill; null for a run that only keeps up. */
  backfilledOrders: number | null;
};

/**
 * The last step of a run of a store source: as-of and data version move, the source is ok, and a workspace that waited
 * for it is ready; one whose source was disconnected meanwhile still has to be connected again. A backfill that
 * changed something is announced once.
 */
export async function publishStoreRun(connection: Connection, run: StoreRun): Promise<void> {
  const { shopKey, source, asOf, isChanged, backfilledOrders } = run;
  // The source before its workspace, in the order of disconnecting: otherwise the two could deadlock.
  const isConnected = await putStoreSource(connection, shopKey, source, asOf);
  const dataVersion = await publishImport(connection, shopKey, asOf, isChanged, isConnected);
  if (!isChanged || backfilledOrders === null) return;
  await announce(connection, {
    shopKey,
    source,
    title: "Backfill completed",
    dataVersion,
    orders: backfilledOrders,
  });
}

type Announcement = { shopKey: number; source: string; title: string; dataVersion: number; orders: number };

/** One alert to the workspace about a run that changed something; `orders` are new or different. */
export async function announce(
  connection: Connection,
  { shopKey, source, title, dataVersion, orders }: Announcement,
): Promise<void> {
  await insertAlerts(connection, shopKey, [
    {
      alertId: randomUUIDv7(),
      eventKey: `backfill:${source}:${dataVersion}`,
      category: "backfill_completed",
      severity: "info",
      title,
      body: changedOrdersSentence(orders),
      metadata: { source, orders },
    },
  ]);
}

/** For people: how many orders a run brought that are new or different. */
function changedOrdersSentence(orders: number): string {
  if (orders === 0) return "No order changed; other data did, such as products, labels or sale events.";
  if (orders === 1) return "1 order was new or changed.";
  return `${orders.toLocaleString("en")} orders were new or changed.`;
}

type LabelRun = {
  shopKey: number;
  source: string;
  asOf: Date;
  /** Of the workspace; one label in another makes the source unusable (M10). */
  currencyCode: string;
  isChanged: boolean;
};

/** The last step of a run of a label source; the store's as-of stays as it is. */
export async function publishLabelRun(connection: Connection, run: LabelRun): Promise<void> {
  await putLabelSource(connection, run.shopKey, run.source, run.asOf, run.currencyCode);
  if (run.isChanged) await raiseDataVersion(connection, run.shopKey);
}
