import { randomUUID } from "node:crypto";
import { sealEndpoint, unsealEndpoint } from "../push/endpoint-secrets.ts";
import { send } from "../push/send.ts";
import type { PushOptions } from "../push/send.ts";
import { newSigningSecret } from "../push/signature.ts";
import { testMessage } from "../push/test-message.ts";
import type { Connection, Database } from "../store/database.ts";
import {
  countEndpoints,
  deleteEndpoint,
  insertEndpoint,
  listEndpoints,
  lockEndpoint,
  noteTest,
  pauseEndpoint,
  resumeEndpoint,
  setEndpointSecrets,
} from "../store/queries/alert-endpoint.ts";
import type { EndpointRow } from "../store/queries/alert-endpoint.ts";
import { queuePush } from "../store/queries/run-queue.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { quoted, readLifetime } from "./input.ts";
import { readEndpoint } from "./notify-input.ts";
import type { EndpointRequest } from "./notify-input.ts";
import { impossible, invalid } from "./refusal.ts";
import { requireRight } from "./rights.ts";
import type { RightName } from "./rights.ts";

/** What use cases of endpoints work with. */
export type NotifyTools = {
  database: Database;
  keys: { sealingKey: Buffer };
  push: PushOptions;
  actor: Actor;
  workspace: WorkspaceRow;
  now: Date;
};

/** An endpoint as its workspace's admins see it. */
export type ShownEndpoint = EndpointRow;
/** `secret`: of a webhook, shown this once. */
export type AddedEndpoint = { endpoint_id: string; name: string; secret: string | null };
export type RotatedEndpoint = AddedEndpoint & { secret: string; previous_until: Date };
/** `changed` is false when it already was so. */
export type ChangedEndpoint = { endpoint_id: string; name: string; changed: boolean };
export type TestedEndpoint = { endpoint_id: string; name: string; answer: string };

const MOST_ENDPOINTS = 10;
const MOST_OVERLAP_MS = 30 * 86_400_000;
const TEST_PAUSE_MS = 10_000;
const ENDPOINT_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;

/** The workspace's endpoints without their secrets, oldest first. */
export async function showEndpoints({ database, actor, workspace }: NotifyTools): Promise<ShownEndpoint[]> {
  requireRight(actor, "notify.read");
  return listEndpoints(database, workspace.shop_key);
}

/**
 * Has every alert from now on sent somewhere. `requestKey` names the form that asks, so that sending it twice adds one
 * endpoint; it becomes the endpoint's id.
 */
export async function addEndpoint(
  { database, keys, push, actor, workspace }: NotifyTools,
  { requestKey, ...request }: EndpointRequest & { requestKey?: string | undefined },
): Promise<AddedEndpoint> {
  requireRight(actor, "notify.add");
  const endpointId = requestKey ?? randomUUID();
  if (!ENDPOINT_ID.test(endpointId)) throw invalid("The form is not complete: open it again.");
  const { address, ...endpoint } = readEndpoint(request, push);
  const { shop_key: shopKey } = workspace;
  const secret = endpoint.kind === "webhook" ? newSigningSecret() : null;
  const secrets = { address, ...(secret === null ? {} : { secret }) };
  const sealedSecrets = sealEndpoint(keys.sealingKey, { shopKey, endpointId }, secrets);
  await database.transaction(async (connection) => {
    if ((await countEndpoints(connection, shopKey)) >= MOST_ENDPOINTS)
      throw impossible(`A workspace has ${MOST_ENDPOINTS} endpoints at most: remove one first.`);
    const added = { ...endpoint, endpointId, sealedSecrets, createdBy: actor.name };
    if (!(await insertEndpoint(connection, shopKey, added)))
      throw impossible("This form has already added this endpoint. Its secret is shown only once.");
    await queuePush(connection, shopKey, endpointId, null);
    const { kind, name, shownAddress, severities, categories, digestHour } = endpoint;
    await recordAction(connection, actor, {
      shopKey,
      action: "notify.add",
      detail: {
        endpoint_id: endpointId,
        kind,
        name,
        address: shownAddress,
        severities,
        categories,
        digest_hour: digestHour,
      },
    });
  });
  return { endpoint_id: endpointId, name: endpoint.name, secret };
}

/** Gives a webhook a new secret; messages are signed with the one before, too, for `overlap` (24h, 7d). */
export async function rotateEndpoint(
  tools: NotifyTools,
  { endpointId, overlap }: { endpointId: string; overlap: string },
): Promise<RotatedEndpoint> {
  const { keys, workspace, now } = tools;
  return change(tools, "notify.rotate", endpointId, async (connection, endpoint) => {
    const overlapMs = readLifetime("The overlap", overlap);
    if (overlapMs > MOST_OVERLAP_MS) throw invalid("The overlap must be 30 days at most.");
    if (endpoint.kind !== "webhook") throw impossible("Only a webhook has a signing secret.");
    const place = { shopKey: workspace.shop_key, endpointId };
    const before = unsealEndpoint(keys.sealingKey, place, endpoint.sealed_secrets);
    if (before?.secret === undefined)
      throw impossible(
        "Its secret was sealed with keys that this installation no longer has: add the endpoint again.",
      );
    const secret = newSigningSecret();
    const secrets = { address: before.address, secret, previousSecret: before.secret };
    const previousUntil = new Date(now.getTime() + overlapMs);
    const sealed = sealEndpoint(keys.sealingKey, place, secrets);
    await setEndpointSecrets(connection, workspace.shop_key, endpointId, sealed, previousUntil);
    return {
      detail: { previous_until: previousUntil },
      result: { endpoint_id: endpointId, name: endpoint.name, secret, previous_until: previousUntil },
    };
  });
}

/** Sends a test message now, paused or not. Throws a `Refusal` with why it was not delivered. */
export async function testEndpoint(tools: NotifyTools, endpointId: string): Promise<TestedEndpoint> {
  const { keys, push, workspace, now } = tools;
  const { shop_key: shopKey, shop_domain } = workspace;
  const endpoint = await change(tools, "notify.test", endpointId, async (connection, found) => {
    const since = new Date(now.getTime() - TEST_PAUSE_MS);
    if (!(await noteTest(connection, shopKey, endpointId, now, since)))
      throw impossible("A test message was sent just now: wait 10 seconds.");
    return { detail: {}, result: found };
  });
  const addressee = { ...endpoint, place: { shopKey, endpointId }, shop_domain };
  const environment = { sealingKey: keys.sealingKey, push, now: () => now };
  const outcome = await send(environment, addressee, testMessage(endpointId, now));
  if (outcome.status !== "delivered")
    throw impossible(`The test message was not delivered. ${outcome.problem}`);
  return { endpoint_id: endpointId, name: endpoint.name, answer: outcome.answer };
}

/** Nothing is sent to it until it is resumed. */
export async function pauseNow(tools: NotifyTools, endpointId: string): Promise<ChangedEndpoint> {
  const { workspace, now } = tools;
  return change(tools, "notify.pause", endpointId, async (connection, { name, paused_at: pausedAt }) => {
    await pauseEndpoint(connection, workspace.shop_key, endpointId, "person", now);
    const changed = pausedAt === null;
    return { detail: changed ? {} : null, result: { endpoint_id: endpointId, name, changed } };
  });
}

/** It is sent what it missed, in order. */
export async function resumeNow(tools: NotifyTools, endpointId: string): Promise<ChangedEndpoint> {
  const { workspace, now } = tools;
  return change(tools, "notify.resume", endpointId, async (connection, { name, paused_at: pausedAt }) => {
    await resumeEndpoint(connection, workspace.shop_key, endpointId, now);
    await queuePush(connection, workspace.shop_key, endpointId, now);
    return { detail: {}, result: { endpoint_id: endpointId, name, changed: pausedAt !== null } };
  });
}

/** Nothing is sent to it any more, and its secrets are gone. */
export async function removeEndpoint(tools: NotifyTools, endpointId: string): Promise<ChangedEndpoint> {
  const { workspace, now } = tools;
  return change(tools, "notify.remove", endpointId, async (connection, { name }) => {
    await deleteEndpoint(connection, workspace.shop_key, endpointId);
    // Who looks at it finds that it is gone.
    await queuePush(connection, workspace.shop_key, endpointId, now);
    return { detail: {}, result: { endpoint_id: endpointId, name, changed: true } };
  });
}

type LockedEndpoint = EndpointRow & { sealed_secrets: Buffer };

/** Changes one endpoint and records that in one transaction; `detail` null = nothing changed. */
async function change<Result>(
  { database, actor, workspace }: NotifyTools,
  right: RightName,
  endpointId: string,
  work: (
    connection: Connection,
    endpoint: LockedEndpoint,
  ) => Promise<{ detail: Record<string, unknown> | null; result: Result }>,
): Promise<Result> {
  requireRight(actor, right);
  const { shop_key: shopKey, shop_domain: shopDomain } = workspace;
  return database.transaction(async (connection) => {
    const found = ENDPOINT_ID.test(endpointId) ? await lockEndpoint(connection, shopKey, endpointId) : null;
    if (found === null)
      throw impossible(`The workspace ${shopDomain} has no endpoint with the id ${quoted(endpointId)}.`);
    const { detail, result } = await work(connection, found);
    const { name, kind, shown_address: address } = found;
    if (detail !== null) {
      const about = { endpoint_id: endpointId, kind, name, address, ...detail };
      await recordAction(connection, actor, { shopKey, action: right, detail: about });
    }
    return result;
  });
}
