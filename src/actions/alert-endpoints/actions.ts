import { randomUUID } from "node:crypto";
import { isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { isLoopbackHost } from "../../lib/networks.ts";
import { sealEndpoint, unsealEndpoint, newSigningSecret } from "../../alerts/delivery/signature.ts";
import { isAllowed } from "../../lib/guarded-lookup.ts";
import { hostOf } from "../../alerts/delivery/post.ts";
import { send, testMessage, type PushOptions } from "../../alerts/delivery/send.ts";
import { listEndpoints, type EndpointRow } from "../../store/queries/alert-delivery.ts";
import {
  askTest,
  countMails,
  countEndpoints,
  findTestAnswer,
  insertEndpoint,
  listRemovedEndpoints,
  lockEndpoint,
  lockLimits,
  markEndpointRemoved,
  noteTest,
  pauseEndpoint as markPaused,
  resumeEndpoint as markResumed,
  setEndpointSecrets,
  unmarkEndpoint,
} from "./queries.ts";
import { queuePush } from "../../store/queries/run-queue.ts";
import { countWorkers } from "../../store/queries/worker-health.ts";
import { seesWorkers } from "../../store/worker-session.ts";
import type { ActionTools, ActionContext, Done, WorkspaceCaller } from "../action.ts";
import { defineAction, defineList, ShownSecret } from "../action.ts";
import type { Detail } from "../audit/record.ts";
import { anyText, integer, oneOf, optional, own, requestKey, someOf, text } from "../field.ts";
import { quoted, readLifetime, UUID } from "../input.ts";
import { impossible, invalid, undoableSince, type Refusal } from "../refusal.ts";

/** The caller of an action that sends messages. */
type SendingCaller = WorkspaceCaller & Pick<ActionTools, "push">;
type LockedEndpoint = EndpointRow & { sealed_secrets: Buffer };

export const KIND_TEXTS: Readonly<Record<EndpointRow["kind"], string>> = {
  webhook: "Signed webhook",
  slack: "Chat (Slack-compatible address)",
  email: "E-mail",
};

const KINDS = [
  ["webhook", KIND_TEXTS.webhook],
  ["slack", KIND_TEXTS.slack],
  ["email", KIND_TEXTS.email],
] as const;

export const SEVERITIES = ["critical", "warning", "info"] as const;

export const CATEGORIES = [
  ["return_rate_watchlist", "early warnings and jumps in return rates"],
  ["connection_stale", "stale connections"],
  ["report_ready", "complete months"],
  ["backfill_completed", "finished imports"],
] as const;

const NAME_MAX_LENGTH = 100;
const ADDRESS_MAX_LENGTH = 2000;
export const MAIL_ADDRESS = /^[^\s@<>"(),:;[\]\\]{1,64}@[^\s@<>"(),:;[\]\\]{1,189}$/u;
const MOST_ENDPOINTS = 10;
const USUAL_OVERLAP_MS = 86_400_000;
const MOST_OVERLAP_MS = 30 * 86_400_000;
const TEST_PAUSE_MS = 10_000;
/** Limits of e-mail to an address that has not agreed to it: it may belong to a stranger. */
export const MAIL_PAUSE_MS = 60_000;
export const MOST_MAILS_PER_DAY = 10;
/** A worker looks every second, and a receiver has 15 s. */
const WORKER_MS = 30_000;
const CHECK_MS = 250;

/** The workspace's endpoints without their secrets, oldest first. */
export const endpointList = defineList<EndpointRow>({
  name: "notify.read",
  about: "Show the endpoints, without their secrets.",
  past: "Read the list of alert endpoints",
  least: "admin",
  columns: {
    "endpoint id": "endpoint_id",
    kind: "kind",
    name: "name",
    address: "shown_address",
    "paused by": "pause_reason",
    "last delivery": "last_delivered_at",
    "next attempt": "due_at",
    "last problem": "last_problem",
  },
  rows: ({ database, workspace }) => listEndpoints(database, workspace.shop_key),
});

/** Has every alert from now on sent somewhere. The key of the form becomes the endpoint's id. */
export const addEndpoint = defineAction({
  name: "notify.add",
  title: "Add alert endpoint",
  about: "Add an endpoint for alerts; a webhook's signing secret is printed, once, on standard output.",
  past: "Added an alert endpoint",
  least: "admin",
  proof: true,
  usesKeys: true,
  input: {
    kind: oneOf("Kind", KINDS, { hint: "webhook, slack or email" }),
    name: text("Name", NAME_MAX_LENGTH, {
      hint: "The receiver’s name, such as “ticket system”. 1 to 100 characters.",
    }),
    address: text("Address", ADDRESS_MAX_LENGTH, { hint: "https://… or an e-mail address" }),
    severities: optional(
      someOf(
        "Severities",
        SEVERITIES.map((severity) => [severity, severity] as const),
        { hint: `${SEVERITIES.join(", ")} (default: all)` },
      ),
    ),
    categories: optional(
      someOf("Categories", CATEGORIES, {
        hint: `${CATEGORIES.map(([category]) => category).join(", ")} (default: all)`,
      }),
    ),
    digest_hour: optional(
      integer("Digest hour", 0, 23, { hint: "0 to 23 in UTC: once a day (default: at once)" }),
    ),
    request_key: requestKey,
  },
  run: async (context: ActionContext<SendingCaller>, { request_key: key, ...input }) => {
    const { connection, keys, push, actor, shopKey } = context;
    const { kind, name, categories, digest_hour: digestHour } = input;
    const severities = input.severities ?? SEVERITIES;
    const { address, shownAddress } =
      kind === "email" ? mailAddress(input.address, push) : webAddress(input.address, push);
    const endpointId = key ?? randomUUID();
    await lockLimits(connection, shopKey);
    if ((await countEndpoints(connection, shopKey)) >= MOST_ENDPOINTS)
      throw impossible(`A workspace has ${MOST_ENDPOINTS} endpoints at most: remove one first.`);
    const secret = kind === "webhook" ? newSigningSecret() : null;
    const secrets = { address, ...(secret === null ? {} : { secret }) };
    const isAdded = await insertEndpoint(connection, shopKey, {
      endpointId,
      kind,
      name,
      shownAddress,
      sealedSecrets: sealEndpoint(keys.sealingKey, { shopKey, endpointId }, secrets),
      severities,
      categories,
      digestHour,
      createdBy: actor.name,
    });
    if (!isAdded)
      throw impossible("This form has already added this endpoint. Its secret is shown only once.");
    await queuePush(connection, shopKey, endpointId, null);
    const detail = {
      endpoint_id: endpointId,
      kind,
      name,
      address: shownAddress,
      severities,
      categories,
      digest_hour: digestHour,
    };
    const done = `Alerts are now sent to ${name}. Its id is ${endpointId}.`;
    return withSecret({ endpoint_id: endpointId, name }, secret, { done, audit: { detail } });
  },
});

/** Its name or id; the id is looked up first. */
const endpoint = anyText("The endpoint", {
  kind: "hidden",
  hint: "its name, or its id from `notify list`",
});

/** Messages are signed with the secret before, too, until the overlap ends. */
export const rotateEndpoint = defineAction({
  name: "notify.rotate",
  title: "Replace signing secret",
  about: "Replace the signing secret of a webhook; the new one is printed, once, on standard output.",
  past: "Replaced the signing secret of an alert endpoint",
  least: "admin",
  proof: true,
  usesKeys: true,
  input: {
    endpoint,
    overlap: optional(
      own("Overlap", readOverlap, {
        hint: "how long messages are also signed with the old secret: 1h, 7d (default: 24h)",
      }),
    ),
  },
  run: async (context, { endpoint: named, overlap }) => {
    const { connection, keys, workspace, now } = context;
    const found = await requireEndpoint(context, named);
    const { endpoint_id: endpointId, name, kind, sealed_secrets: sealed } = found;
    if (kind !== "webhook") throw impossible("Only a webhook has a signing secret.");
    const place = { shopKey: workspace.shop_key, endpointId };
    const before = unsealEndpoint(keys.sealingKey, place, sealed);
    if (before?.secret === undefined)
      throw impossible(
        "Its secret was encrypted with keys that this installation no longer has: add the endpoint again.",
      );
    const secret = newSigningSecret();
    const until = new Date(now.getTime() + (overlap ?? USUAL_OVERLAP_MS));
    const secrets = { address: before.address, secret, previousSecret: before.secret };
    const resealed = sealEndpoint(keys.sealingKey, place, secrets);
    await setEndpointSecrets(connection, workspace.shop_key, endpointId, resealed, until);
    return withSecret({ endpoint_id: endpointId, name, previous_until: until }, secret, {
      done: `Messages are also signed with the old secret until ${until.toISOString()}.`,
      audit: auditOf(found, { previous_until: until }),
    });
  },
});

/**
 * Has a worker send a test message, paused or not, as it sends alerts: this process may have other options. Without a worker
 * it is sent from here. What did not arrive is refused, with why.
 */
export const testEndpoint = defineAction({
  name: "notify.test",
  title: "Send test message",
  about: "Send a test message now, by a worker if one runs, as alerts are sent.",
  past: "Sent a test message to an alert endpoint",
  least: "admin",
  usesKeys: true,
  input: { endpoint },
  run: async (context: ActionContext<SendingCaller>, { endpoint: named }) => {
    const { connection, shopKey, now } = context;
    await lockLimits(connection, shopKey);
    const found = await requireEndpoint(context, named);
    const { endpoint_id: endpointId, name, kind, shown_address: address } = found;
    const pauseMs = kind === "email" ? MAIL_PAUSE_MS : TEST_PAUSE_MS;
    const since = new Date(now.getTime() - pauseMs);
    if (!(await noteTest(connection, shopKey, endpointId, now, since)))
      throw impossible(`A test message was sent just now: wait ${pauseMs / 1000} seconds.`);
    const mail = { action: "notify.test", actor: null, address };
    if (kind === "email" && (await countMails(connection, shopKey, mail)) >= MOST_MAILS_PER_DAY)
      throw impossible(
        `${MOST_MAILS_PER_DAY} test messages were sent to this address within a day: no more are sent before tomorrow.`,
      );
    const hasWorker = (await seesWorkers(connection)) && (await countWorkers(connection)) > 0;
    if (hasWorker) {
      await askTest(connection, shopKey, endpointId, now);
      await queuePush(connection, shopKey, endpointId, now);
    }
    return {
      result: { endpoint_id: endpointId, name, answer: "" },
      done: "",
      audit: auditOf(found),
      next: async () => {
        const answer = await (hasWorker
          ? answerToWorker(context, endpointId)
          : answerFromHere(context, found));
        return {
          result: { endpoint_id: endpointId, name, answer },
          done: `The test message to ${name} was delivered. ${answer}`,
        };
      },
    };
  },
});

/** Nothing is sent to it until it is resumed. */
export const pauseEndpoint = defineAction({
  name: "notify.pause",
  title: "Pause endpoint",
  about: "Pause an endpoint until it is resumed.",
  past: "Paused an alert endpoint",
  least: "admin",
  input: { endpoint },
  run: async (context, { endpoint: named }) => {
    const { connection, shopKey, now } = context;
    const found = await requireEndpoint(context, named);
    await markPaused(connection, shopKey, found.endpoint_id, "person", now);
    const changed = found.paused_at === null;
    const state = changed ? "paused" : "already paused";
    const done = `${found.name} is ${state}. Alerts that it misses are sent when it is resumed.`;
    return { ...changedEndpoint(found, done, changed), audit: changed ? auditOf(found) : null };
  },
});

/** It receives the missed alerts in order. */
export const resumeEndpoint = defineAction({
  name: "notify.resume",
  title: "Resume endpoint",
  about: "Resume an endpoint: it receives the alerts it missed, in order, and then new ones.",
  past: "Resumed an alert endpoint",
  least: "admin",
  input: { endpoint },
  run: async (context, { endpoint: named }) => {
    const { connection, shopKey, now } = context;
    const found = await requireEndpoint(context, named);
    await markResumed(connection, shopKey, found.endpoint_id, now);
    await queuePush(connection, shopKey, found.endpoint_id, now);
    const done = `${found.name} is resumed. Alerts that it missed are sent now, in order.`;
    return changedEndpoint(found, done, found.paused_at !== null);
  },
});

/** Stops deliveries to the endpoint; it can be restored for a day, then it is deleted with its secrets. */
export const removeEndpoint = defineAction({
  name: "notify.remove",
  title: "Remove endpoint",
  about: "Remove an endpoint.",
  past: "Removed an alert endpoint",
  least: "admin",
  input: { endpoint },
  confirm: ({ endpoint: named }) => `Alerts are no longer sent to ${named}. Remove it?`,
  run: async (context, { endpoint: named }) => {
    const { connection, shopKey, now } = context;
    const found = await requireEndpoint(context, named);
    const { endpoint_id: endpointId, name } = found;
    await markEndpointRemoved(connection, shopKey, endpointId, now);
    // The worker finds that it was removed.
    await queuePush(connection, shopKey, endpointId, now);
    const undo = `You can undo this for 24 hours (${endpointId}).`;
    return changedEndpoint(found, `${name} is removed. Nothing more is sent to it. ${undo}`);
  },
});

/** Restores it as if it had never been removed: missed alerts are sent in order. */
export const restoreEndpoint = defineAction({
  name: "notify.restore",
  title: "Undo removal",
  about: "Undo the removal of an endpoint, within 24 hours: it receives what it missed, in order.",
  past: "Restored an alert endpoint",
  least: "admin",
  input: { endpoint: { ...endpoint, hint: "its id, as the removal printed it" } },
  run: async ({ connection, shopKey, now }, { endpoint: named }) => {
    await lockLimits(connection, shopKey);
    const removed = await listRemovedEndpoints(connection, shopKey, undoableSince(now));
    const found = removed.find(({ endpoint_id: id }) => id === named);
    if (found === undefined)
      throw impossible("This removal cannot be undone: a removal can be undone once, within 24 hours.");
    if ((await countEndpoints(connection, shopKey)) >= MOST_ENDPOINTS)
      throw impossible(`A workspace has ${MOST_ENDPOINTS} endpoints at most: remove one first.`);
    const { endpoint_id: endpointId, name } = found;
    await unmarkEndpoint(connection, shopKey, endpointId, now);
    await queuePush(connection, shopKey, endpointId, now);
    return {
      result: { endpoint_id: endpointId, name, changed: true },
      done: `${name} is restored. Alerts that it missed are sent now, in order.`,
      audit: { detail: { endpoint_id: endpointId, name } },
    };
  },
});

export const ENDPOINT_ACTIONS = [
  addEndpoint,
  rotateEndpoint,
  testEndpoint,
  pauseEndpoint,
  resumeEndpoint,
  removeEndpoint,
  restoreEndpoint,
] as const;

/** `secret`: of a webhook, shown this once. */
function withSecret<Result extends object>(
  result: Result,
  secret: string | null,
  rest: Pick<Done<unknown>, "done" | "audit">,
): Done<Result & { secret: ShownSecret | null }> {
  if (secret === null) return { ...rest, result: { ...result, secret: null } };
  const shown = new ShownSecret(secret);
  const done = `${rest.done} The secret is not shown again.`;
  return { ...rest, done, result: { ...result, secret: shown }, secret: shown };
}

function changedEndpoint(found: EndpointRow, done: string, changed = true) {
  const { endpoint_id, name } = found;
  return { result: { endpoint_id, name, changed }, done, audit: auditOf(found) };
}

function auditOf(
  { endpoint_id, kind, name, shown_address: address }: EndpointRow,
  rest: Detail = {},
): { detail: Detail } {
  return { detail: { endpoint_id, kind, name, address, ...rest } };
}

async function requireEndpoint(
  { connection, shopKey, domain }: ActionContext,
  asked: string,
): Promise<LockedEndpoint> {
  const byId = UUID.test(asked) ? await lockEndpoint(connection, shopKey, asked) : null;
  if (byId !== null) return byId;
  const [named, ...others] = (await listEndpoints(connection, shopKey)).filter(({ name }) => name === asked);
  if (named !== undefined && others.length > 0) {
    const ids = [named, ...others].map((each) => each.endpoint_id).join(", ");
    throw impossible(
      `${others.length + 1} endpoints are named ${quoted(asked)}: give the id of one (${ids}).`,
    );
  }
  const found = named === undefined ? null : await lockEndpoint(connection, shopKey, named.endpoint_id);
  if (found !== null) return found;
  throw impossible(`The workspace ${domain} has no endpoint with the id ${quoted(asked)}.`);
}

function readOverlap(subject: string, given: string): number {
  const overlapMs = readLifetime(subject, given);
  if (overlapMs <= MOST_OVERLAP_MS) return overlapMs;
  throw invalid(`${subject} must be 30 days at most.`);
}

async function answerToWorker(
  { database, workspace, now }: SendingCaller,
  endpointId: string,
): Promise<string> {
  for (const end = Date.now() + WORKER_MS; Date.now() < end; await sleep(CHECK_MS)) {
    const found = await findTestAnswer(database, workspace.shop_key, endpointId, now);
    if (found?.test_delivered === false) throw notDelivered(found.test_answer);
    if (found !== null) return found.test_answer;
  }
  throw notDelivered(`No worker has sent it within ${WORKER_MS / 1000} seconds: see ./returns doctor.`);
}

async function answerFromHere(
  { keys, push, workspace, now }: SendingCaller,
  found: LockedEndpoint,
): Promise<string> {
  const { shop_key: shopKey, shop_domain } = workspace;
  const { endpoint_id: endpointId } = found;
  const addressee = { ...found, place: { shopKey, endpointId }, shop_domain };
  const environment = { sealingKey: keys.sealingKey, push, now: () => now };
  const outcome = await send(environment, addressee, testMessage(endpointId, now));
  if (outcome.status !== "delivered") throw notDelivered(outcome.problem);
  return outcome.answer;
}

function notDelivered(problem: string): Refusal {
  return impossible(`The test message was not delivered. ${problem}`);
}

/** `shownAddress` holds nothing secret. */
type Address = { address: string; shownAddress: string };

function mailAddress(address: string, { smtp }: PushOptions): Address {
  if (smtp === null) throw impossible("This service cannot send e-mail: its operator has to set SMTP_URL.");
  if (!MAIL_ADDRESS.test(address))
    throw invalid("The address must be one e-mail address, such as team@shop.example.", "address");
  return { address, shownAddress: address };
}

/** Its resolved addresses are checked at each connection. */
function webAddress(given: string, { allowedNetworks: allowed }: PushOptions): Address {
  const url = URL.parse(given);
  const protocols = allowed.rules.length > 0 ? ["https:", "http:"] : ["https:"];
  if (url === null || !protocols.includes(url.protocol) || url.username !== "" || url.password !== "")
    throw invalid("The address must begin with https:// and have no user or password in it.", "address");
  const host = hostOf(url);
  const literal = isIP(host) === 0 && isLoopbackHost(host) ? "127.0.0.1" : host;
  if (isIP(literal) !== 0 && !isAllowed(literal, { protocol: url.protocol, allowed }))
    throw invalid(
      "The address must be public; the operator of this service can allow other networks.",
      "address",
    );
  url.hash = "";
  return { address: url.href, shownAddress: url.origin };
}
