import { isDeepStrictEqual } from "node:util";
import { DEFAULT_RULES, differenceOf, NO_RULES, type OrderRules } from "../metrics/order-rules.ts";
import type { OrderDocument } from "../metrics/order.ts";
import type { Connection, Queryable } from "../store/database.ts";
import { findOrderRules, openOrdersOfFilter } from "../store/queries/order-rules.ts";
import type { NextRows } from "../store/query.ts";
import { readStored } from "./stored-document.ts";

/** A workspace's current rules, and those applied to its facts. */
export async function loadRules(
  database: Queryable,
  shopKey: number,
): Promise<{ wanted: OrderRules; applied: OrderRules; isApplied: boolean }> {
  const { wanted, applied } = (await findOrderRules(database, shopKey)) ?? { wanted: {}, applied: {} };
  const read = (stored: unknown): OrderRules => ({ ...DEFAULT_RULES, ...(stored as Partial<OrderRules>) });
  const rules = { wanted: read(wanted), applied: applied === null ? NO_RULES : read(applied) };
  return { ...rules, isApplied: isDeepStrictEqual(rules.wanted, rules.applied) };
}

/** The stored orders that two sets of rules may count differently; empty at the end. `from` as `openOrdersOfFilter` has it. */
export async function openOrdersBetween(
  connection: Connection,
  shopKey: number,
  { rules, from = null }: { rules: readonly [OrderRules, OrderRules]; from?: string | null },
): Promise<NextRows<OrderDocument>> {
  const next = await openOrdersOfFilter(connection, shopKey, differenceOf(...rules), from);
  return async () => (await next()).map(({ order_id: orderId, document }) => readStored(orderId, document));
}
