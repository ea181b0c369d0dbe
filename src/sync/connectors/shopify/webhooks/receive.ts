import { insertAuditEvent } from "../../../../store/queries/audit.ts";
import type { Connection } from "../../../../store/database.ts";
import { setCredentials, setReadiness, setSourceStatus } from "../../../../store/queries/data-source.ts";
import { dropRequests, requestRun } from "../../../../store/queries/sync-request.ts";
import { listAccountWorkspaces } from "../../../../store/directory.ts";
import type { AccountRow } from "../../../../store/queries/shop-account.ts";
import { recordDelivery } from "../../../../store/queries/webhook-delivery.ts";
import { unsealSecrets } from "../../../credentials.ts";
import { isShopHost } from "../api/hosts.ts";
import { answerPrivacy } from "./privacy.ts";
import type { PrivacyOptions } from "./privacy.ts";
import { SHOPIFY } from "../run.ts";
import { isOfEarlierConnection, isOfItsShop, isSigned, readPayload, replayKeyOf } from "./delivery.ts";
import type { Delivery } from "./delivery.ts";
import { LASTING_KINDS, meaningOf } from "./topics.ts";
import type { Meaning } from "./topics.ts";

/** `clientSecret` is the app's; a connection may have a secret of its own, which counts for its shop alone. */
export type WebhookOptions = PrivacyOptions;

/** Taken, or refused with one sentence for whoever looks at the refusal; a 503 asks for another delivery later. */
export type WebhookAnswer = { status: 200 } | { status: 400 | 401 | 404 | 503; message: string };

const READY_STATES = ["installing", "backfilling", "ready"];

/**
 * Takes a delivery in: the app's signature and the payload's form before the database is asked, then the directory for
 * the shop, then everything it changes on the shop's node in one transaction, in which a delivery that came before changes nothing. Nothing is fetched
 * here: that is what the run it asks for does.
 */
export async function receiveWebhook(options: WebhookOptions, delivery: Delivery): Promise<WebhookAnswer> {
  const { database, clientSecret } = options;
  const isOfApp = clientSecret !== null && isSigned(delivery, clientSecret);
  // Only a shop of the platform has a secret of its own here.
  if (!isOfApp && !isShopHost(delivery.shop)) return NOT_SIGNED;
  const payload = readPayload(delivery.body);
  const meaning = payload === null ? null : meaningOf(delivery.topic, payload);
  if (isOfApp && meaning === null) return notOfTopic(delivery);
  const workspaces = await listAccountWorkspaces(database, SHOPIFY, delivery.shop);
  const own = ownSecret(options, workspaces[0]);
  if (!isOfApp && (own === null || !isSigned(delivery, own))) return NOT_SIGNED;
  if (payload === null || meaning === null) return notOfTopic(delivery);
  if (!isOfItsShop(delivery, payload, meaning)) {
    return { status: 401, message: `The payload does not name the shop ${delivery.shop}.` };
  }
  if (meaning.act === "privacy") {
    const { shop, webhookId, triggeredAt } = delivery;
    const replayKey = replayKeyOf(delivery);
    const { request: act } = meaning;
    const request = { act, shop, webhookId, replayKey, triggeredAt, workspaces };
    return (await answerPrivacy(options, request)) ? { status: 200 } : ASK_AGAIN;
  }
  const workspace = workspaces.find((row) => row.settings !== null);
  if (workspace === undefined)
    return { status: 404, message: `No workspace is connected to ${delivery.shop}.` };
  if (hasNoEffect(delivery, meaning, workspace)) return { status: 200 };
  await workspace.database.transaction((connection) => apply(connection, delivery, meaning, workspace));
  return { status: 200 };
}

const NOT_SIGNED = {
  status: 401,
  message: "The signature of this delivery is not that of the app.",
} as const;

const ASK_AGAIN = {
  status: 503,
  message: "Whether the app is still installed cannot be told now: send this delivery again.",
} as const;

function notOfTopic({ topic }: Delivery): WebhookAnswer {
  return { status: 400, message: `The payload is not one of the topic ${topic}.` };
}

/** A secret that cannot be opened any more signs nothing. */
function ownSecret({ sealingKey }: WebhookOptions, workspace: AccountRow | undefined): string | null {
  if (workspace === undefined || workspace.sealed_credentials === null) return null;
  try {
    const place = { sealingKey, shopKey: workspace.shop_key, source: SHOPIFY };
    return unsealSecrets(place, workspace.sealed_credentials)["clientSecret"] ?? null;
  } catch {
    return null;
  }
}

/** What has none is not remembered either: a body that comes again later may have one. */
function hasNoEffect(delivery: Delivery, meaning: Meaning, { settings }: AccountRow): boolean {
  if (meaning.act === "nothing") return true;
  return meaning.act === "uninstall" && isOfEarlierConnection(delivery.triggeredAt, settings);
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
  const replayKey = replayKeyOf(delivery);
  const taken = { shopKey, source: SHOPIFY, webhookId, topic, replayKey, records };
  const isNew = await recordDelivery(connection, taken);
  if (!isNew) return;
  switch (meaning.act) {
    case "refresh":
      // A shop that refuses our credentials would only refuse them again.
      if (!hasCredentials || workspace.status === "disconnected") return;
      await requestRun(connection, { shopKey, source: SHOPIFY, kind: "refresh", requestedBy: "webhook" });
      return;
    case "uninstall":
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
  await dropRequests(connection, shopKey, SHOPIFY, null);
  await insertAuditEvent(connection, shopKey, {
    actor: SHOPIFY,
    action: "source.uninstalled",
    detail: { source: SHOPIFY, webhook_id: webhookId },
  });
}
