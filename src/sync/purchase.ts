import { isDeepStrictEqual } from "node:util";
import type { Connection, Database } from "../store/database.ts";
import { insertAuditEvent } from "../store/queries/audit.ts";
import {
  BILLING_NOTICE_MS,
  findPurchase,
  lockBilling,
  updateBilling,
  type BillingRow,
  type Purchase,
} from "../store/queries/purchase.ts";

/** An active subscription of a merchant, including a trial, with the plan mapped to its name. */
export type Subscription = Omit<Purchase, "is_active">;

type Found = {
  shopKey: number;
  source: string;
  /** null: the platform reports no active one. */
  subscription: Subscription | null;
  now: Date;
};

/** Makes billing and plan of a workspace follow its subscription; a change has its own transaction. */
export async function followPurchase(database: Database, found: Found): Promise<void> {
  const known = await findPurchase(database, found.shopKey);
  if (isDeepStrictEqual(known, purchaseNow(known, found))) return;
  await database.transaction((connection) => applyPurchase(connection, found));
}

/** The same in the caller's transaction. */
export async function applyPurchase(connection: Connection, found: Found): Promise<void> {
  const { shopKey, source } = found;
  const before = await lockBilling(connection, shopKey);
  if (before === null) return;
  const after = billingAfter(before, found);
  await updateBilling(connection, shopKey, after);
  const [earlier, detail] = [auditOf(before), auditOf(after)];
  if (after.purchase === null || isDeepStrictEqual(earlier, detail)) return;
  await insertAuditEvent(connection, shopKey, {
    actor: source,
    action: "plan.purchase",
    detail,
    before: earlier,
  });
}

/**
 * Billing after a subscription, or none, was found. A workspace that never had one is billed in another way: nothing changes.
 * Only a change of the subscription or its plan counts; an operator's settings stay until the next one. When a subscription
 * ends, billing stays active until the end of the paid period, and at least for the period of notice.
 */
function billingAfter(before: BillingRow, found: Found): BillingRow {
  const known = before.purchase;
  const purchase = purchaseNow(known, found);
  const after = { ...before, purchase };
  if (purchase === null) return after;
  if (purchase.plan !== null && (purchase.plan !== known?.plan || isOther(purchase, known))) {
    after.plan = purchase.plan;
  }
  if (purchase.is_active && isOther(purchase, known))
    return { ...after, billing: "active", billing_ends_at: null };
  if (!purchase.is_active && known?.is_active === true && before.billing === "active") {
    const paidUntilMs = Date.parse(purchase.paid_until ?? "") || 0;
    const endsAt = new Date(Math.max(paidUntilMs, found.now.getTime() + BILLING_NOTICE_MS));
    return { ...after, billing_ends_at: endsAt };
  }
  return after;
}

function purchaseNow(known: Purchase | null, { subscription }: Found): Purchase | null {
  if (subscription !== null) return { ...subscription, is_active: true };
  return known && { ...known, is_active: false };
}

/** Whether the subscription was bought or resumed since the last sync. */
function isOther(purchase: Purchase, known: Purchase | null): boolean {
  return purchase.is_active && (known?.is_active !== true || known.id !== purchase.id);
}

/** Excludes the end of the period, which changes every month without being an event. */
function auditOf({ plan, billing, purchase, billing_ends_at: endsAt }: BillingRow) {
  return {
    subscription: purchase?.name ?? null,
    subscription_active: purchase?.is_active ?? null,
    mapped_plan: purchase?.plan ?? null,
    plan,
    billing,
    billing_ends_at: endsAt?.toISOString() ?? null,
  };
}
