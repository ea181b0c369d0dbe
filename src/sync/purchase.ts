import { isDeepStrictEqual } from "node:util";
import type { Connection, Database } from "../store/database.ts";
import { insertAuditEvent } from "../store/queries/audit.ts";
import {
  BILLING_NOTICE_MS,
  findBilling,
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

/** Makes billing and plan of a workspace follow its subscription; a change has its own transaction, and nothing else locks. */
export async function followPurchase(database: Database, found: Found): Promise<void> {
  const known = await findBilling(database, found.shopKey);
  if (known === null || isDeepStrictEqual(known, billingAfter(known, found))) return;
  await database.transaction((connection) => applyPurchase(connection, found));
}

/** The same in the caller's transaction. */
export async function applyPurchase(connection: Connection, found: Found): Promise<void> {
  const { shopKey, source: actor } = found;
  const earlier = await lockBilling(connection, shopKey);
  const later = earlier && billingAfter(earlier, found);
  if (earlier === null || later === null || isDeepStrictEqual(earlier, later)) return;
  await updateBilling(connection, shopKey, later);
  const [before, detail] = [auditOf(earlier), auditOf(later)];
  if (isDeepStrictEqual(before, detail)) return;
  await insertAuditEvent(connection, shopKey, { actor, action: "plan.purchase", detail, before });
}

/**
 * Billing after a subscription, or none, was found. A workspace that never had one is billed in another way: nothing changes.
 * Only a subscription that was bought or resumed counts, or a change of its plan; an operator's settings stay until the next one.
 * When a subscription ends, billing stays active until the end of the paid period, and at least for the period of notice.
 */
function billingAfter(before: BillingRow, { subscription, now }: Found): BillingRow {
  const known = before.purchase;
  const active = subscription && { ...subscription, is_active: true };
  const purchase = active ?? (known && { ...known, is_active: false });
  if (purchase === null) return before;
  const isNew = purchase.is_active && (known?.is_active !== true || known.id !== purchase.id);
  const mapped = isNew || purchase.plan !== known?.plan ? purchase.plan : null;
  const after = { ...before, purchase, plan: mapped ?? before.plan };
  if (isNew) return { ...after, billing: "active", billing_ends_at: null };
  if (purchase.is_active || known?.is_active !== true || before.billing !== "active") return after;
  const paidUntilMs = Date.parse(purchase.paid_until ?? "") || 0;
  const endsMs = Math.max(paidUntilMs, now.getTime() + BILLING_NOTICE_MS);
  return { ...after, billing_ends_at: new Date(endsMs) };
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
