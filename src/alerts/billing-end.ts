import type { Database } from "../store/database.ts";
import { insertAuditEvent } from "../store/queries/audit.ts";
import { MANAGERS, notifyMembers, type Notice } from "../store/queries/notice.ts";
import { BILLING_NOTICE_MS, endBilling, findBilling } from "../store/queries/purchase.ts";
import { minuteText } from "./wording.ts";

/** Makes billing inactive at its end. Owners and admins get one notice seven days before it. */
export async function endOrTellBilling(database: Database, shopKey: number, now: Date): Promise<void> {
  const found = await findBilling(database, shopKey);
  const endsAt = found?.billing_ends_at ?? null;
  if (found?.billing !== "active" || endsAt === null) return;
  if (endsAt.getTime() - now.getTime() > BILLING_NOTICE_MS) return;
  if (endsAt > now) {
    await notifyMembers(database, shopKey, MANAGERS, billingNotice(found.purchase?.name ?? "", endsAt));
    return;
  }
  await database.transaction(async (connection) => {
    if (!(await endBilling(connection, shopKey, now))) return;
    const [detail, before] = [{ billing: "inactive" }, { billing: "active" }];
    await insertAuditEvent(connection, shopKey, { actor: "upkeep", action: "billing.end", detail, before });
  });
}

function billingNotice(name: string, endsAt: Date): Notice {
  return {
    event: `billing_end:${endsAt.toISOString()}`,
    category: "billing_end",
    severity: "critical",
    title: "Billing ends within seven days",
    body: `The shop's subscription ${name} was canceled or is unpaid. ${billingEndText(endsAt)} Subscribe again in Shopify to keep access.`,
    linkPath: "/settings/plan",
    linkLabel: "Open the plan",
  };
}

/** The sentence about the end of billing and its effect. */
export function billingEndText(endsAt: Date): string {
  return `Billing ends on ${minuteText(endsAt)}: from then on API requests are refused and pages show no figures.`;
}
