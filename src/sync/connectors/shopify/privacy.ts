import type { Connection, Database } from "../../../store/database.ts";
import { INSTALLATION_SHOP_KEY, insertAuditEvent } from "../../../store/queries/audit.ts";
import { lockShop, WorkspaceGone } from "../../../store/queries/import-stage.ts";
import { isRecorded, recordDelivery } from "../../../store/queries/webhook-delivery.ts";
import type { AccountRow } from "../../../store/queries/webhook-delivery.ts";
import { eraseWorkspace } from "../../../store/queries/workspace-erase.ts";
import { SHOPIFY } from "./run.ts";
import { isOfEarlierConnection } from "./webhook.ts";

export type PrivacyRequest = {
  topic: "customers/data_request" | "customers/redact" | "shop/redact";
  /** The shop's domain at the platform. */
  shop: string;
  webhookId: string;
  /** As the platform writes it; null = it does not say. */
  triggeredAt: string | null;
  /** Those that are or were connected to the shop. */
  workspaces: readonly AccountRow[];
};

/**
 * Answers what the platform passes on from customers and from shops that left. No customer's data is stored, so that
 * there is nothing to hand out or to remove; a shop's data is removed with its workspace, tokens and history, unless it
 * was connected again since. That it was asked is recorded once, without any customer. Of a shop that was never
 * connected there is nothing here.
 */
export async function answerPrivacy(database: Database, request: PrivacyRequest): Promise<void> {
  const { topic, webhookId, triggeredAt, workspaces } = request;
  await database.transaction(async (connection) => {
    if (await isRecorded(connection, INSTALLATION_SHOP_KEY, actionOf(topic), webhookId)) return;
    for (const workspace of workspaces) {
      if (topic !== "shop/redact") {
        await record(connection, request, workspace, {});
      } else if (isOfEarlierConnection(triggeredAt, workspace.settings)) {
        await record(connection, request, workspace, { kept: "the shop was connected again since" });
      } else {
        await erase(connection, request, workspace);
      }
    }
  });
}

async function record(
  connection: Connection,
  { topic, shop, webhookId }: PrivacyRequest,
  { shop_key: shopKey }: AccountRow,
  remark: Record<string, string>,
): Promise<void> {
  const delivery = { shopKey, source: SHOPIFY, webhookId, topic, records: [] };
  if (!(await recordDelivery(connection, delivery))) return;
  const detail = { shop, webhook_id: webhookId, ...remark };
  await insertAuditEvent(connection, shopKey, { actor: SHOPIFY, action: actionOf(topic), detail });
}

/**
 * Waits for a run that writes the shop's data: what it wrote behind our back would stay. The history of an erased
 * workspace goes with it; that it was erased is the installation's to know, also when the delivery comes again.
 */
async function erase(
  connection: Connection,
  { topic, shop, webhookId }: PrivacyRequest,
  { shop_key: shopKey, shop_domain: domain }: AccountRow,
): Promise<void> {
  try {
    await lockShop(connection, shopKey);
  } catch (error) {
    if (error instanceof WorkspaceGone) return;
    throw error;
  }
  await eraseWorkspace(connection, shopKey);
  const detail = { shop, webhook_id: webhookId, shop_domain: domain };
  await insertAuditEvent(connection, INSTALLATION_SHOP_KEY, {
    actor: SHOPIFY,
    action: actionOf(topic),
    detail,
  });
}

function actionOf(topic: PrivacyRequest["topic"]): string {
  return `privacy.${topic.replace("/", "_")}`;
}
