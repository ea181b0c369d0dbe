import type { Database } from "../store/database.ts";
import { insertAuditEvent } from "../store/queries/audit.ts";
import { notifyPeople } from "../store/queries/notice.ts";
import { BILLING_NOTICE_MS, endBilling, findBillingEnd, findPurchase } from "../store/queries/purchase.ts";
import { listMembersByRole } from "../store/queries/workspace-member.ts";

const TOLD_ROLES = ["owner", "admin"] as const;

/** Makes billing inactive at its end, and notifies owners and admins once, seven days before. */
export async function endOrTellBilling(database: Database, shopKey: number, now: Date): Promise<void> {
  const endsAt = await findBillingEnd(database, shopKey);
  if (endsAt === null || endsAt.getTime() - now.getTime() > BILLING_NOTICE_MS) return;
  if (endsAt > now) {
    const name = (await findPurchase(database, shopKey))?.name ?? "";
    const recipients = await listMembersByRole(database, shopKey, TOLD_ROLES);
    await notifyPeople(database, shopKey, recipients, billingNotice(name, endsAt));
    return;
  }
  await database.transaction(async (connection) => {
    if (!(await endBilling(connection, shopKey, now))) return;
    const detail = { billing: "inactive" };
    const before = { billing: "active" };
    await insertAuditEvent(connection, shopKey, { actor: "upkeep", action: "billing.end", detail, before });
  });
}

function billingNotice(name: string, endsAt: Date) {
  return {
    event: `billing_end:${endsAt.toISOString()}`,
    category: "billing_end",
    severity: "critical",
    title: "Billing ends within seven days",
    body: `The shop's subscription ${name} was canceled or is unpaid. ${billingEndText(endsAt)} Subscribe again in Shopify to keep access.`,
    linkPath: "/settings/plan",
    linkLabel: "Open the plan",
  } as const;
}

/** The sentence about the end of billing and its effect. */
export function billingEndText(endsAt: Date): string {
  const when = `${endsAt.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  return `Billing ends on ${when}: from then on API requests are refused and pages show no figures.`;
}
