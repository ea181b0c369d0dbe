import type { Database } from "../store/database.ts";
import { insertAuditEvent } from "../store/queries/audit.ts";
import { claimNoticeMail, noticeKey, notifyManagers } from "../store/queries/notice.ts";
import { BILLING_NOTICE_MS, endBilling, findBilling } from "../store/queries/purchase.ts";
import { listOwnerAddresses } from "../store/queries/workspace-member.ts";
import { sendMail, type SmtpOptions } from "./delivery/mail.ts";
import { mailText } from "./delivery/texts.ts";
import { minuteText } from "./wording.ts";

/** How an installation writes to members; `consoleAddress`: the console's origin for links, null: none. */
export type MailOptions = { smtp: SmtpOptions; consoleAddress: string | null };

export type BillingEnvironment = {
  database: Database;
  now: () => Date;
  log: { warn: (about: object, message: string) => void };
  /** Without it, no mail is sent. */
  mail?: MailOptions | null;
};

/**
 * Makes billing inactive at its end. From seven days before it, owners and admins get one notice, and owners with a known address
 * one mail.
 */
export async function endOrTellBilling(environment: BillingEnvironment, shopKey: number): Promise<void> {
  const { database, log } = environment;
  const now = environment.now();
  const found = await findBilling(database, shopKey);
  const endsAt = found?.billing_ends_at ?? null;
  if (found?.billing !== "active" || endsAt === null) return;
  if (endsAt.getTime() - now.getTime() > BILLING_NOTICE_MS) return;
  if (endsAt > now) {
    const notice = billingNotice(found.purchase?.name ?? "", endsAt);
    await notifyManagers(database, shopKey, notice);
    await mailOwners(environment, shopKey, notice).catch((error: unknown) =>
      log.warn({ shopKey, err: error }, "the end of billing could not be mailed; it is tried again later"),
    );
    return;
  }
  await database.transaction(async (connection) => {
    if (!(await endBilling(connection, shopKey, now))) return;
    const [detail, before] = [{ billing: "inactive" }, { billing: "active" }];
    await insertAuditEvent(connection, shopKey, { actor: "upkeep", action: "billing.end", detail, before });
  });
}

/** A mail that the server does not accept is retried by the next upkeep; one repeated after a killed worker has the same id. */
async function mailOwners(
  { database, now, mail = null }: BillingEnvironment,
  shopKey: number,
  notice: ReturnType<typeof billingNotice>,
): Promise<void> {
  if (mail === null) return;
  for (const owner of await listOwnerAddresses(database, shopKey)) {
    const { user_id: userId, shop_domain: shopDomain, address } = owner;
    await database.transaction(async (connection) => {
      if (!(await claimNoticeMail(connection, shopKey, noticeKey(notice.event, userId)))) return;
      const page = `/w/${encodeURIComponent(shopDomain)}${notice.linkPath}`;
      const link = mail.consoleAddress && mail.consoleAddress + page;
      const alert = { ...notice, link_url: link, created_at: now().toISOString() };
      const messageId = `billing-${shopKey}-${userId}-${notice.event.replaceAll(/\D/gu, "")}`;
      const text = mailText({ shopDomain, alerts: [alert] });
      const outcome = await sendMail({ messageId, to: address, ...text }, mail.smtp);
      if (outcome.status === "failed") throw new Error(outcome.problem);
    });
  }
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
  return `Billing ends on ${minuteText(endsAt)}: from then on API requests are refused and pages show no figures.`;
}
