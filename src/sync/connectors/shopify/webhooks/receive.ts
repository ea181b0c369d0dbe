import { createHash } from "node:crypto";
import type { Connection, Database } from "../../../../store/database.ts";
import { listAccountWorkspaces, type AccountWorkspace } from "../../../../store/directory.ts";
import { insertAuditEvent, insertInstallationEvent } from "../../../../store/queries/audit.ts";
import {
  lockConnection,
  setCredentials,
  setReadiness,
  setSourceStatus,
  type AccountRow,
} from "../../../../store/queries/data-source.ts";
import { lockWorkspace, WorkspaceGone } from "../../../../store/queries/import-stage.ts";
import { redactOrders } from "../../../../store/queries/order-document.ts";
import { dropRequests, requestRun } from "../../../../store/queries/sync-request.ts";
import { isErasureRecorded, isRecorded, recordDelivery } from "../../../../store/queries/webhook-delivery.ts";
import { eraseWorkspace } from "../../../../store/queries/workspace-erase.ts";
import { lockMembers } from "../../../../store/queries/workspace-member.ts";
import { SourceRefused } from "../../../connector.ts";
import { openCredentials, tryUnseal } from "../../../credentials.ts";
import { applyPurchase } from "../../../purchase.ts";
import { loadRules } from "../../../order-rules.ts";
import { openClient, SHOPIFY_RETRY_POLICY } from "../api/client.ts";
import { isShopHost } from "../api/hosts.ts";
import { readShopAccess, createTokenSource } from "../install/access.ts";
import { readSettings, SHOPIFY } from "../settings.ts";
import { isSigned, readPayload, type Json } from "../../shared/foreign.ts";
import { isSentOnce, LASTING_KINDS, meaningOf, type Meaning, type PrivacyAct } from "./topics.ts";

/** A delivery as it arrived; `body` is what its signature is over. */
export type Delivery = {
  topic: string;
  /** The shop named in its header. */
  shop: string;
  webhookId: string;
  /** When it was triggered, as the platform writes it; null = it does not say. */
  triggeredAt: string | null;
  signature: string;
  body: Buffer;
};

/** No header of the platform is longer; an index takes no longer id. */
const LONGEST_HEADER = 255;

/** The platform's headers, with names in lower case. Missing ones are empty, so the signature is invalid. */
export function readDelivery(received: {
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}): Delivery {
  const { headers, body } = received;
  const header = (name: string): string => (headers[`x-shopify-${name}`] ?? "").slice(0, LONGEST_HEADER);
  return {
    topic: header("topic"),
    shop: header("shop-domain").toLowerCase(),
    webhookId: header("webhook-id"),
    triggeredAt: headers["x-shopify-triggered-at"] ?? null,
    signature: header("hmac-sha256"),
    body,
  };
}

/**
 * Whether a delivery may take effect for the shop in its header. Topic and shop are not signed: a payload that names a shop must
 * name this one, and a payload that ends a connection or removes data must name it.
 */
function isOfItsShop({ topic, shop }: Delivery, payload: Json, meaning: Meaning): boolean {
  const named = shopOfPayload(topic, payload);
  const isHarmless = meaning.act === "refresh" || meaning.act === "nothing";
  return named === null ? isHarmless : named === shop;
}

function shopOfPayload(topic: string, payload: Json): string | null {
  const name = topic === "app/uninstalled" ? payload["myshopify_domain"] : payload["shop_domain"];
  return typeof name === "string" ? name.toLowerCase() : null;
}

/** Deliveries are repeated for days: one from before the shop was connected again must not end that connection. */
function isOfEarlierConnection(
  triggeredAt: string | null,
  settings: Readonly<Record<string, unknown>> | null,
): boolean {
  const connectedAt = settings?.["connectedAt"];
  if (triggeredAt === null || typeof connectedAt !== "string") return false;
  return Date.parse(triggeredAt) < Date.parse(connectedAt);
}

/**
 * The common key of a delivery and its repetitions. Webhook ids are not signed, so bodies that are sent once are identified by
 * their digest. Two changes of a record have equal bodies: they are identified by their ids, and only cause requests to the
 * platform. The app can be uninstalled twice with the same body: it ends each connection once.
 */
function replayKeyOf({ topic, webhookId, body }: Delivery, connectedAt: unknown = null): string {
  if (!isSentOnce(topic)) return `id ${webhookId}`;
  const key = `body ${createHash("sha256").update(body).digest("hex")}`;
  return topic === "app/uninstalled" ? `${key} of ${String(connectedAt)}` : key;
}

/** `clientSecret` is the app's; a connection may have its own secret, valid only for its shop. */
export type WebhookOptions = PrivacyOptions;

/** Accepted, or refused with one sentence of explanation; a 503 requests another delivery later. */
type WebhookAnswer = { status: 200 } | { status: 400 | 401 | 404 | 503; message: string };

const READY_STATES = ["installing", "backfilling", "ready"];

/**
 * Accepts a delivery: the app's signature and the payload's form are checked before the database is queried, then the directory
 * for the shop, then all changes on the shop's node in one transaction, in which a duplicate changes nothing. Nothing is fetched
 * here: the requested run does that.
 */
export async function receiveWebhook(options: WebhookOptions, delivery: Delivery): Promise<WebhookAnswer> {
  const { database, clientSecret } = options;
  const isOfApp = clientSecret !== null && isSigned(delivery, clientSecret);
  // Only a shop of the platform has its own secret here.
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

/** Where the platform reports changes. */
export const SHOPIFY_WEBHOOKS = {
  path: "/webhooks/shopify",
  signatureHeader: "x-shopify-hmac-sha256",
  notSigned: "The signature of this delivery is not that of the app.",
};

const NOT_SIGNED = { status: 401, message: SHOPIFY_WEBHOOKS.notSigned } as const;

const ASK_AGAIN = {
  status: 503,
  message: "Whether the app is still installed is not known now: send this delivery again.",
} as const;

function notOfTopic({ topic }: Delivery): WebhookAnswer {
  return { status: 400, message: `The payload is not one of the topic ${topic}.` };
}

function ownSecret({ sealingKey }: WebhookOptions, workspace: AccountRow | undefined): string | null {
  if (workspace === undefined) return null;
  const place = { sealingKey, shopKey: workspace.shop_key, source: SHOPIFY };
  return tryUnseal(place, workspace.sealed_credentials)?.["clientSecret"] ?? null;
}

/** A delivery without effect is not recorded: the same body may have one later. */
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
  const replayKey = replayKeyOf(delivery, workspace.settings?.["connectedAt"]);
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

/** The token has ended with the installation. Data is kept until the shop requests its removal. */
async function uninstall(connection: Connection, shopKey: number, webhookId: string): Promise<void> {
  await setCredentials(connection, shopKey, SHOPIFY, null);
  const reason = "The app was uninstalled from the shop: connect it again.";
  await setSourceStatus(connection, shopKey, SHOPIFY, "disconnected", reason);
  await setReadiness(connection, shopKey, READY_STATES, "reconnecting");
  await dropRequests(connection, shopKey, SHOPIFY, null);
  // The platform ends the subscription with the installation.
  await applyPurchase(connection, { shopKey, source: SHOPIFY, subscription: null, now: new Date() });
  await insertAuditEvent(connection, shopKey, {
    actor: SHOPIFY,
    action: "source.uninstalled",
    detail: { source: SHOPIFY, webhook_id: webhookId },
  });
}

type PrivacyOptions = InstallationCheck & {
  log: { warn(about: Readonly<Record<string, unknown>>, message: string): void };
};

type PrivacyRequest = {
  act: PrivacyAct;
  /** The shop's domain at the platform. */
  shop: string;
  webhookId: string;
  replayKey: string;
  /** As the platform writes it; null = it does not say. */
  triggeredAt: string | null;
  /** Those that are or were connected to the shop. */
  workspaces: readonly AccountWorkspace[];
};

/**
 * Handles the platform's privacy requests once, and records them without customers. Names and tracking numbers of a customer's
 * orders are removed; a shop's data is removed with its workspace, tokens and history, unless the app is still installed. false: the
 * platform has to retry, because it did not say whether the app is installed.
 */
async function answerPrivacy(options: PrivacyOptions, request: PrivacyRequest): Promise<boolean> {
  const { act, workspaces } = request;
  if (act.topic === "shop/redact") return eraseNow(options, request);
  for (const workspace of workspaces) {
    await workspace.database.transaction(async (connection) => {
      if (act.topic === "customers/redact") await redact(connection, request, workspace, act.orderNumbers);
      else await record(connection, request, workspace, {});
    });
  }
  return true;
}

/** Returns whether the delivery was new. */
async function record(
  connection: Connection,
  { act: { topic }, shop, webhookId, replayKey }: PrivacyRequest,
  { shop_key: shopKey }: AccountRow,
  remark: Record<string, string | number>,
): Promise<boolean> {
  const delivery = { shopKey, source: SHOPIFY, webhookId, topic, replayKey, records: [] };
  if (!(await recordDelivery(connection, delivery))) return false;
  const detail = { shop, webhook_id: webhookId, ...remark };
  await insertAuditEvent(connection, shopKey, { actor: SHOPIFY, action: actionOf(topic), detail });
  return true;
}

/** Imported orders may be identified by their numbers only. */
async function redact(
  connection: Connection,
  request: PrivacyRequest,
  workspace: AccountRow,
  orderNumbers: readonly string[],
): Promise<void> {
  try {
    // Uncommitted rows of a run would be missed.
    await lockWorkspace(connection, workspace.shop_key);
  } catch (error) {
    if (error instanceof WorkspaceGone) return;
    throw error;
  }
  if (!(await record(connection, request, workspace, { orders: orderNumbers.length }))) return;
  const orderIds = orderNumbers.flatMap((number) => [`gid://shopify/Order/${number}`, number]);
  const { wanted } = await loadRules(connection, workspace.shop_key);
  await redactOrders(connection, workspace.shop_key, orderIds, wanted.exchangeNames);
}

async function eraseNow(options: PrivacyOptions, request: PrivacyRequest): Promise<boolean> {
  const { database } = options;
  const action = actionOf(request.act.topic);
  if (await isErasureRecorded(database, action, request)) return true;
  let isDone = true;
  for (const workspace of request.workspaces) {
    isDone = (await eraseOrKeep(options, request, workspace)) && isDone;
  }
  return isDone;
}

/** false = the platform did not say whether the app is installed. */
async function eraseOrKeep(
  options: PrivacyOptions,
  request: PrivacyRequest,
  workspace: AccountWorkspace,
): Promise<boolean> {
  const { log } = options;
  const { database } = workspace;
  const isEarlier = isOfEarlierConnection(request.triggeredAt, workspace.settings);
  const state = isEarlier ? "installed" : await checkInstallation(options, workspace);
  if (state === "gone") return database.transaction((connection) => erase(connection, request, workspace));
  const kept = isEarlier ? "the shop was connected again since" : KEPT[state];
  log.warn(
    { shop: request.shop, workspace: workspace.shop_domain, reason: kept },
    "shop/redact erased nothing",
  );
  if (state === "installed") {
    await database.transaction((connection) => record(connection, request, workspace, { kept }));
    return true;
  }
  await recordOnce(request, workspace, kept);
  return false;
}

const KEPT = {
  installed: "the platform still accepts the shop's token: the app is installed",
  unknown: "the platform did not say whether the app is installed",
} as const;

/** The platform asks nine times. */
async function recordOnce(
  { act, shop, webhookId, replayKey }: PrivacyRequest,
  { shop_key: shopKey, database }: AccountWorkspace,
  kept: string,
): Promise<void> {
  const action = actionOf(act.topic);
  if (await isRecorded(database, shopKey, action, { webhookId, replayKey })) return;
  const detail = { shop, webhook_id: webhookId, replay_key: replayKey, kept };
  await insertAuditEvent(database, shopKey, { actor: SHOPIFY, action, detail });
}

/**
 * Waits for a run that writes the shop's data: rows that it commits later would remain. The history of an erased workspace is
 * deleted too; the installation records the erasure, also if the delivery is repeated. false: the shop was connected after the
 * platform was asked.
 */
async function erase(
  connection: Connection,
  { act: { topic }, shop, webhookId, replayKey }: PrivacyRequest,
  { shop_key: shopKey, shop_domain: domain, sealed_credentials: asked }: AccountRow,
): Promise<boolean> {
  try {
    await lockWorkspace(connection, shopKey);
  } catch (error) {
    if (error instanceof WorkspaceGone) return true;
    throw error;
  }
  await lockMembers(connection, shopKey);
  const now = (await lockConnection(connection, shopKey, SHOPIFY))?.sealed_credentials ?? null;
  if (now !== null && asked?.equals(now) !== true) return false;
  await eraseWorkspace(connection, shopKey);
  const detail = { shop, webhook_id: webhookId, replay_key: replayKey, shop_domain: domain };
  await insertInstallationEvent(connection, { actor: SHOPIFY, action: actionOf(topic), detail });
  return true;
}

function actionOf(topic: PrivacyAct["topic"]): string {
  return `privacy.${topic.replace("/", "_")}`;
}

type InstallationCheck = {
  database: Database;
  sealingKey: Buffer;
  /** The app's; null = this installation has none. */
  clientId: string | null;
  clientSecret: string | null;
};

/** unknown: the platform could not be asked, or did not say. */
type InstallationState = "installed" | "gone" | "unknown";

/** The platform waits five seconds for the answer to a webhook. */
const LONGEST_CHECK_MS = 4000;
const RETRY_POLICY = { ...SHOPIFY_RETRY_POLICY, tries: 1, timeoutMs: LONGEST_CHECK_MS };

/** Whether the app is still installed in the shop of a workspace: the platform takes the token of no other. */
export async function checkInstallation(
  check: InstallationCheck,
  { shop_key: shopKey, settings, sealed_credentials: sealed }: AccountRow,
): Promise<InstallationState> {
  if (sealed === null) return "gone";
  const { database, sealingKey, clientId, clientSecret } = check;
  const place = { sealingKey, shopKey, source: SHOPIFY };
  // Credentials that cannot be opened are not refused by the platform.
  if (tryUnseal(place, sealed) === null) return "unknown";
  try {
    const { url } = readSettings(settings ?? {});
    const credentials = openCredentials({ ...place, database });
    const tokens = createTokenSource({ credentials, url, clientId, clientSecret, now: () => new Date() });
    const signal = AbortSignal.timeout(LONGEST_CHECK_MS);
    await readShopAccess(openClient({ url, tokens, signal, retryPolicy: RETRY_POLICY }));
    return "installed";
  } catch (error) {
    return error instanceof SourceRefused ? "gone" : "unknown";
  }
}
