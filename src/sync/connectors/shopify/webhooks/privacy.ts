import type { Connection } from "../../../../store/database.ts";
import { insertAuditEvent, insertInstallationEvent } from "../../../../store/queries/audit.ts";
import { lockConnection } from "../../../../store/queries/data-source.ts";
import { lockShop, WorkspaceGone } from "../../../../store/queries/import-stage.ts";
import { redactOrders } from "../../../../store/queries/redacted-order.ts";
import type { AccountWorkspace } from "../../../../store/directory.ts";
import type { AccountRow } from "../../../../store/queries/shop-account.ts";
import { isErasureRecorded, isRecorded, recordDelivery } from "../../../../store/queries/webhook-delivery.ts";
import { eraseWorkspace } from "../../../../store/queries/workspace-erase.ts";
import { checkInstallation } from "../install/installation-check.ts";
import type { InstallationCheck } from "../install/installation-check.ts";
import { SHOPIFY } from "../run.ts";
import { isOfEarlierConnection } from "./delivery.ts";
import type { PrivacyAct } from "./topics.ts";

export type PrivacyOptions = InstallationCheck & {
  log: { warn(about: Readonly<Record<string, unknown>>, message: string): void };
};

export type PrivacyRequest = {
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
 * Answers what the platform passes on from customers and from shops that left, once, recorded without any customer.
 * Names and tracking numbers of a customer's orders are removed; a shop's data is removed with its workspace, tokens
 * and history, unless the app is installed there. false = the platform has to ask again later: it did not say whether
 * it is. Of a shop that was never connected there is nothing here.
 */
export async function answerPrivacy(options: PrivacyOptions, request: PrivacyRequest): Promise<boolean> {
  const { act, workspaces } = request;
  if (act.topic === "shop/redact") return eraseShop(options, request);
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

/** Orders of an import may be known by their numbers alone. */
async function redact(
  connection: Connection,
  request: PrivacyRequest,
  workspace: AccountRow,
  orderNumbers: readonly string[],
): Promise<void> {
  try {
    // What a run has not committed yet would be overlooked.
    await lockShop(connection, workspace.shop_key);
  } catch (error) {
    if (error instanceof WorkspaceGone) return;
    throw error;
  }
  if (!(await record(connection, request, workspace, { orders: orderNumbers.length }))) return;
  const orderIds = orderNumbers.flatMap((number) => [`gid://shopify/Order/${number}`, number]);
  await redactOrders(connection, workspace.shop_key, orderIds);
}

async function eraseShop(options: PrivacyOptions, request: PrivacyRequest): Promise<boolean> {
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
  installed: "the platform still takes the shop's token: the app is installed",
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
 * Waits for a run that writes the shop's data: what it wrote behind our back would stay. The history of an erased
 * workspace goes with it; that it was erased is the installation's to know, also when the delivery comes again. false =
 * the shop was connected since the platform was asked.
 */
async function erase(
  connection: Connection,
  { act: { topic }, shop, webhookId, replayKey }: PrivacyRequest,
  { shop_key: shopKey, shop_domain: domain, sealed_credentials: asked }: AccountRow,
): Promise<boolean> {
  try {
    await lockShop(connection, shopKey);
  } catch (error) {
    if (error instanceof WorkspaceGone) return true;
    throw error;
  }
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
