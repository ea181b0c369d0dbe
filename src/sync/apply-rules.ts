import { isDeepStrictEqual } from "node:util";
import { projectOrder } from "../metrics/classify.ts";
import type { OrderDocument } from "../metrics/order.ts";
import type { Database } from "../store/database.ts";
import { raiseDataVersion } from "../store/queries/data-version.ts";
import { createStage, lockShop } from "../store/queries/import-stage.ts";
import { followOrderRules } from "../store/queries/order-rules.ts";
import { findCurrency } from "../store/queries/publish.ts";
import { applyStage } from "./apply.ts";
import { loadRules, openOrdersBetween } from "./order-rules.ts";

/**
 * Has the facts of a workspace follow the rules that it wants, in one step: only orders that these count differently are
 * projected again. Returns whether anything had to be done.
 */
export async function applyRules(database: Database, shopKey: number, stop?: AbortSignal): Promise<boolean> {
  if ((await loadRules(database, shopKey)).isApplied) return false;
  await database.transaction(async (connection) => {
    await lockShop(connection, shopKey);
    const { wanted, applied } = await loadRules(connection, shopKey);
    await createStage(connection);
    await followOrderRules(connection, shopKey);
    const next = openOrdersBetween(connection, shopKey, { rules: [applied, wanted] });
    const isSame = (document: OrderDocument): boolean =>
      isDeepStrictEqual(projectOrder(document, applied), projectOrder(document, wanted));
    await applyStage({
      connection,
      shopKey,
      currencyCode: await findCurrency(connection, shopKey),
      labels: null,
      orders: {
        next: async () => (await next()).map((stored) => ({ orderId: stored.orderId, stored, part: stored })),
        merge: (stored) => (stored === null || isSame(stored) ? null : stored),
      },
      onProgress: () => {},
    });
    await raiseDataVersion(connection, shopKey);
  }, stop);
  return true;
}
