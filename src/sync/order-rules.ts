import { isDeepStrictEqual } from "node:util";
import { DEFAULT_RULES, differenceOf, NO_RULES, type OrderRules } from "../metrics/order-rules.ts";
import type { OrderDocument } from "../metrics/order.ts";
import type { Queryable } from "../store/database.ts";
import { findOrderRules, listOrdersOfFilter } from "../store/queries/order-rules.ts";
import { readStored } from "./stored-document.ts";

const ORDERS_PER_PAGE = 500;

/** A workspace's current rules, and those applied to its facts. */
export async function loadRules(
  database: Queryable,
  shopKey: number,
): Promise<{ wanted: OrderRules; applied: OrderRules; isApplied: boolean }> {
  const { wanted, applied } = (await findOrderRules(database, shopKey)) ?? { wanted: {}, applied: {} };
  const rules = { ...DEFAULT_RULES, ...(wanted as Partial<OrderRules>) };
  return {
    wanted: rules,
    applied: applied === null ? NO_RULES : { ...DEFAULT_RULES, ...(applied as Partial<OrderRules>) },
    isApplied: isDeepStrictEqual(wanted, applied),
  };
}

/** Pages of the stored orders that two sets of rules may count differently; empty at the end. `from` as `OrderPage` has it. */
export function openOrdersBetween(
  database: Queryable,
  shopKey: number,
  { rules, from = null }: { rules: readonly [OrderRules, OrderRules]; from?: string | null },
): () => Promise<OrderDocument[]> {
  const filter = differenceOf(...rules);
  let afterId = "";
  return async () => {
    const page = { afterId, from, limit: ORDERS_PER_PAGE };
    const rows = await listOrdersOfFilter(database, shopKey, filter, page);
    afterId = rows.at(-1)?.order_id ?? afterId;
    return rows.map(({ order_id: orderId, document }) => readStored(orderId, document));
  };
}
