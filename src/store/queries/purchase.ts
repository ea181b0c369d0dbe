import type { Connection } from "../database.ts";
import { command, queryAny, queryRow } from "../query.ts";

/** How long before the end of billing owners and admins are notified. */
export const BILLING_NOTICE_MS = 7 * 24 * 3_600_000;

/** The last known state of a subscription at a store's platform. */
export type Purchase = {
  id: string;
  name: string;
  /** The plan mapped to its name; null: none, so the workspace's is unchanged. */
  plan: string | null;
  /** The end of the current period or trial, in ISO 8601; null if the platform does not state it. */
  paid_until: string | null;
  is_active: boolean;
};

/** Billing and plan, and the subscription that they follow. */
export type BillingRow = {
  plan: string;
  billing: string;
  purchase: Purchase | null;
  billing_ends_at: Date | null;
};

const SELECT = `select w.plan_key as plan, w.billing_status as billing, w.purchase, w.billing_ends_at
   from workspace w where w.shop_key = $1`;

/** null: no such workspace. By primary key. */
export const findBilling = queryRow<BillingRow, [shopKey: number]>("find_billing", SELECT);

/** The same, locked until the transaction ends. */
export const lockBilling = queryRow<BillingRow, [shopKey: number], Connection>(
  "lock_billing",
  `${SELECT} for no key update`,
);

export const updateBilling = command<[shopKey: number, billing: BillingRow], Connection>(
  "update_billing",
  `update workspace set plan_key = $2, billing_status = $3, purchase = $4, billing_ends_at = $5 where shop_key = $1`,
  (shopKey, row) => [shopKey, row.plan, row.billing, JSON.stringify(row.purchase), row.billing_ends_at],
);

/** Makes billing inactive once its end has passed; false: it has not. By primary key. */
export const endBilling = queryAny<[shopKey: number, now: Date], Connection>(
  "end_billing",
  `update workspace set billing_status = 'inactive', billing_ends_at = null
    where shop_key = $1 and billing_ends_at <= $2 returning 1 as ended`,
);
