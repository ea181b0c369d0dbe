import type { Connection } from "../../../store/database.ts";
import { setCursor } from "../../../store/queries/data-source.ts";
import type { SyncContext } from "../../connector.ts";
import type { OrderAccess } from "./install/access.ts";
import type { ShopifyClient } from "./api/client.ts";
import type { ShopifyCursor } from "./cursor.ts";
import type { ShopifySettings } from "./settings.ts";

/** The name of this source everywhere. */
export const SHOPIFY = "shopify";

/** One run of the connector. */
export type ShopifyRun = SyncContext & {
  client: ShopifyClient;
  shop: ShopifySettings;
  access: OrderAccess;
  /** As it is stored; replaced whenever it is written. */
  cursor: ShopifyCursor;
};

/**
 * Runs `work` and stores the cursor it leads to in one transaction: what is remembered is true whenever the run ends.
 * `work` returns null where the cursor stays.
 */
export async function step(
  run: ShopifyRun,
  work: (connection: Connection) => Promise<ShopifyCursor | null>,
): Promise<void> {
  const cursor = await run.database.transaction(async (connection) => {
    const next = await work(connection);
    if (next !== null) await setCursor(connection, run.shopKey, SHOPIFY, next);
    return next;
  }, run.signal);
  if (cursor !== null) run.cursor = cursor;
}
