import { insertAuditEvent } from "../../../store/queries/audit.ts";
import type { Connection, Database } from "../../../store/database.ts";
import { setCredentials, setReadiness, setSourceStatus } from "../../../store/queries/data-source.ts";
import { dropRequests } from "../../../store/queries/sync-request.ts";
import { listAccountWorkspaces, recordDelivery } from "../../../store/queries/webhook-delivery.ts";
import type { AccountRow } from "../../../store/queries/webhook-delivery.ts";
import { unsealSecrets } from "../../credentials.ts";
import { requestRun } from "../../run-request.ts";
import { answerPrivacy } from "./privacy.ts";
import { SHOPIFY } from "./run.ts";
import {
  isOfEarlierConnection,
  isOfItsShop,
  isSigned,
  LASTING_KINDS,
  meaningOf,
  readPayload,
} from "./webhook.ts";
import type { Delivery, Meaning } from "./webhook.ts";

export type WebhookOptions = {
  database: Database;
  sealingKey: Buffer;
  /** The app's; a connection may have a secret of its own, which counts for its shop alone. */
  clientSecret: string | null;
};

/** Taken, or refused with one sentence for whoever looks at the refusal. */
export type WebhookAnswer = { status: 200 } | { status: 400 | 401 | 404; message: string };

const READY_STATES = ["installing", "backfilling", "ready"];

/**
 * Takes a delivery in: signature, shop, then everything it changes in one transaction, in which a delivery that came
 * before changes nothing. Nothing is fetched here: that is what the run it asks for does.
 */
export async function receiveWebhook(options: WebhookOptions, delivery: Delivery): Promise<WebhookAnswer> {
  const { database } = options;
  const workspaces = await listAccountWorkspaces(database, SHOPIFY, delivery.shop);
  if (!secretsOf(options, workspaces[0]).some((secret) => isSigned(delivery, secret))) {
    return { status: 401, message: "The signature of this delivery is not that of the app." };
  }
  const payload = readPayload(delivery.body);
  const meaning = payload === null ? null : meaningOf(delivery.topic, payload);
  if (payload === null || meaning === null) {
    return { status: 400, message: `The payload is not one of the topic ${delivery.topic}.` };
  }
  if (!isOfItsShop(delivery, payload, meaning)) {
    return { status: 401, message: `The payload does not name the shop ${delivery.shop}.` };
  }
  if (meaning.act === "privacy") {
    await answerPrivacy(database, {
      topic: meaning.topic,
      shop: delivery.shop,
      webhookId: delivery.webhookId,
      triggeredAt: delivery.triggeredAt,
      workspaces,
    });
    return { status: 200 };
  }
  const workspace = workspaces.find((row) => row.settings !== null);
  if (workspace === undefined)
    return { status: 404, message: `No workspace is connected to ${delivery.shop}.` };
  await database.transaction((connection) => apply(connection, delivery, meaning, workspace));
  return { status: 200 };
}

/** A secret that cannot be opened any more signs nothing. */
function secretsOf(
  { sealingKey, clientSecret }: WebhookOptions,
  workspace: AccountRow | undefined,
): string[] {
  const secrets = clientSecret === null ? [] : [clientSecret];
  if (workspace === undefined || workspace.sealed_credentials === null) return secrets;
  try {
    const place = { sealingKey, shopKey: workspace.shop_key, source: SHOPIFY };
    const own = unsealSecrets(place, workspace.sealed_credentials)["clientSecret"];
    return own === undefined ? secrets : [...secrets, own];
  } catch {
    return secrets;
  }
}

async function apply(
  connection: Connection,
  delivery: Delivery,
  meaning: Exclude<Meaning, { act: "privacy" }>,
  workspace: AccountRow,
): Promise<void> {
  const { shop_key: shopKey } = workspace;
  const { webhookId, topic } = delivery;
  const hasCredentials = workspace.sealed_credentials !== null;
  const named = "records" in meaning ? meaning.records : [];
  const records = named.filter(({ kind }) => hasCredentials || LASTING_KINDS.has(kind));
  const isNew = await recordDelivery(connection, { shopKey, source: SHOPIFY, webhookId, topic, records });
  if (!isNew) return;
  switch (meaning.act) {
    case "refresh":
      // A shop that refuses our credentials would only refuse them again.
      if (!hasCredentials || workspace.status === "disconnected") return;
      await requestRun(connection, { shopKey, source: SHOPIFY, kind: "refresh", requestedBy: "webhook" });
      return;
    case "uninstall":
      if (isOfEarlierConnection(delivery.triggeredAt, workspace.settings)) return;
      await uninstall(connection, shopKey, webhookId);
      return;
    case "nothing":
  }
}

/** The token has ended with the installation. What was read stays until the shop asks for its removal. */
async function uninstall(connection: Connection, shopKey: number, webhookId: string): Promise<void> {
  await setCredentials(connection, shopKey, SHOPIFY, null);
  const reason = "The app was uninstalled from the shop: connect it again.";
  await setSourceStatus(connection, shopKey, SHOPIFY, "disconnected", reason);
  await setReadiness(connection, shopKey, READY_STATES, "reconnecting");
  await dropRequests(connection, shopKey, SHOPIFY);
  await insertAuditEvent(connection, shopKey, {
    actor: SHOPIFY,
    action: "source.uninstalled",
    detail: { source: SHOPIFY, webhook_id: webhookId },
  });
}
