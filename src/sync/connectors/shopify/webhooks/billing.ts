import type { ShopifyClient } from "../api/client.ts";
import { DOCUMENTS } from "../api/documents.ts";

export type BillingStatus = "active" | "inactive";

/** The kind of pending record that a change of the app's subscription leaves. */
export const SUBSCRIPTION = "subscription";

/** Only ACTIVE pays: ACCEPTED, PENDING, DECLINED, EXPIRED, FROZEN and CANCELLED do not. */
export function billingOf(subscriptionStatus: string): BillingStatus {
  return subscriptionStatus === "ACTIVE" ? "active" : "inactive";
}

/**
 * Where the shop's subscription stands now. Deliveries come in any order, and a changed plan ends one subscription and
 * begins another: no single delivery has the current state, so it is requested. Throws as the client.
 */
export async function readBilling(client: ShopifyClient): Promise<BillingStatus> {
  const { currentAppInstallation: installation } = await client.query(DOCUMENTS.subscription, {});
  const isPaid = installation.activeSubscriptions.some(({ status }) => billingOf(status) === "active");
  return isPaid ? "active" : "inactive";
}
