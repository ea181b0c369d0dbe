import { billingInactive, entitlementMissing, notReady } from "../../access/admit-member.ts";
import { feedAlert } from "../../endpoints/alerts.ts";
import { note, noteFailure, traced } from "../../lib/trace.ts";
import type { Database, Connection } from "../../store/database.ts";
import type {
  DeliveryCursor,
  DeliveryRow,
  EndpointPlace,
  Try,
  PauseReason,
} from "../../store/queries/alert-delivery.ts";
import {
  listAlertsAfter,
  loadDelivery,
  postponeEndpoint,
  recordDelivered,
  recordFailed,
  recordTest,
  settleEndpoint,
} from "../../store/queries/alert-delivery.ts";
import type { AlertRow } from "../../store/queries/alerts.ts";
import { MANAGERS, notifyMembers } from "../../store/queries/notice.ts";
import { minuteText } from "../wording.ts";
import { lastHour, nextHour, nextTryAt, type SendOutcome } from "./retry.ts";
import { messageIdOf, send, testMessage, type SendEnvironment } from "./send.ts";

type Pause = {
  endpointId: string;
  name: string;
  /** Why the last try failed, a sentence. */
  problem: string;
  pauseReason: PauseReason;
  /** The first try of the message that could not be delivered. */
  failingSince: Date;
};

/** Notifies the owners and admins of a workspace that an endpoint is paused, once for each pause. */
async function tellOfPause(connection: Connection, shopKey: number, pause: Pause): Promise<void> {
  const { endpointId, name, problem, pauseReason, failingSince } = pause;
  const why = pauseReason === "failing" ? `No attempt has succeeded since ${minuteText(failingSince)}. ` : "";
  await notifyMembers(connection, shopKey, MANAGERS, {
    event: `endpoint_paused:${endpointId}:${failingSince.toISOString()}`,
    category: "endpoint_paused",
    severity: "critical",
    title: `Alerts are no longer sent to ${name}`,
    body: `${why}${problem} Alerts that it misses are kept: resume it once the receiver is back, and they are delivered in order.`,
    linkPath: "/settings/notifications",
    linkLabel: "Open notifications",
  });
}

export type DeliveryEnvironment = SendEnvironment & {
  database: Database;
  /** Origin of the console for links, as in the API; null: none. */
  consoleAddress: string | null;
  /** From 0 to 1, for the times of retries. */
  random: () => number;
};

/** Per digest by mail or chat; the rest follow in the next message. */
const MOST_ALERTS = 100;
/** Per turn of an endpoint, so that others are served too. */
const MOST_MESSAGES = 100;
/** Interval of checks while a workspace's alerts are withheld. */
const WITHHELD_MS = 15 * 60_000;
/** After this time, the command that requested the test no longer waits. */
const TEST_LIFETIME_MS = 60_000;

/**
 * Delivers an endpoint's due messages in the feed's order, until none is left, an attempt fails, or `stop` is aborted. A message
 * counts as delivered once that is recorded: if a worker is killed before, it is sent again with the same id. Only one worker at
 * a time should deliver to an endpoint.
 */
export async function deliverDue(
  environment: DeliveryEnvironment,
  place: EndpointPlace,
  stop: AbortSignal,
): Promise<void> {
  for (let messages = 0; messages < MOST_MESSAGES && !stop.aborted; messages++) {
    const endpoint = await loadDelivery(environment.database, place);
    if (endpoint === null) return;
    if (await deliverTest(environment, place, endpoint)) continue;
    const isDue =
      endpoint.paused_at === null && endpoint.due_at !== null && endpoint.due_at <= environment.now();
    if (!isDue || !(await deliverNext(environment, place, endpoint))) return;
  }
}

/** Sends the test message that a command waits for, paused or not; false: no command waits. */
async function deliverTest(
  environment: DeliveryEnvironment,
  place: EndpointPlace,
  endpoint: DeliveryRow,
): Promise<boolean> {
  const { database, now } = environment;
  const { test_asked_at: askedAt } = endpoint;
  if (askedAt === null || now().getTime() - askedAt.getTime() > TEST_LIFETIME_MS) return false;
  const outcome = await send(environment, { place, ...endpoint }, testMessage(place.endpointId, now()));
  const isDelivered = outcome.status === "delivered";
  await recordTest(database, place, askedAt, isDelivered, isDelivered ? outcome.answer : outcome.problem);
  return true;
}

/** Whether a message was delivered and another may follow. */
async function deliverNext(
  environment: DeliveryEnvironment,
  place: EndpointPlace,
  endpoint: DeliveryRow,
): Promise<boolean> {
  const { database, now } = environment;
  const withheld = whyWithheld(endpoint);
  if (withheld !== null) {
    await postponeEndpoint(database, place, new Date(now().getTime() + WITHHELD_MS), withheld);
    return false;
  }
  const { digest_hour: digestHour } = endpoint;
  const digestUntil = digestHour === null ? null : (endpoint.digest_until ?? lastHour(digestHour, now()));
  const most = digestHour === null || endpoint.kind === "webhook" ? 1 : MOST_ALERTS;
  const [first, ...others] = await alertsAfter(environment, place, endpoint, { until: digestUntil, most });
  if (first === undefined) {
    await rest(environment, place, endpoint);
    return false;
  }
  const attributes = {
    "returns.endpoint_kind": endpoint.kind,
    "returns.alerts": 1 + others.length,
    "returns.attempt": endpoint.failures + 1,
  };
  return traced({ name: "deliver alerts", isRoot: true, attributes }, () =>
    deliver(environment, { place, endpoint, digestUntil }, [first, ...others]),
  );
}

/** Why the pull feed withholds its alerts, in the API's words and order; null: it does not. */
function whyWithheld(endpoint: DeliveryRow): string | null {
  if (!endpoint.is_billing_active) return billingInactive().message;
  if (!endpoint.entitlements.includes("api_access")) return entitlementMissing("api_access").message;
  return endpoint.readiness === "ready" ? null : notReady(endpoint.readiness, null).message;
}

function alertsAfter(
  { database }: DeliveryEnvironment,
  { shopKey }: EndpointPlace,
  endpoint: DeliveryRow,
  { until, most }: { until: Date | null; most: number },
): Promise<AlertRow[]> {
  const { severities, categories } = endpoint;
  return listAlertsAfter(database, shopKey, cursorOf(endpoint), { severities, categories, until }, most);
}

/** Nothing to send now: wait until the endpoint's hour if alerts are pending, else until the next alert. */
async function rest(
  environment: DeliveryEnvironment,
  place: EndpointPlace,
  endpoint: DeliveryRow,
): Promise<void> {
  const { database, now } = environment;
  const { digest_hour: digestHour } = endpoint;
  const [waiting] = await alertsAfter(environment, place, endpoint, { until: null, most: 1 });
  if (waiting !== undefined && digestHour !== null)
    await postponeEndpoint(database, place, nextHour(digestHour, now()), null);
  else await settleEndpoint(database, place, endpoint.wakes);
}

type Delivery = { place: EndpointPlace; endpoint: DeliveryRow; digestUntil: Date | null };

async function deliver(
  environment: DeliveryEnvironment,
  delivery: Delivery,
  rows: readonly [AlertRow, ...AlertRow[]],
): Promise<boolean> {
  const { database, consoleAddress, now } = environment;
  const { place, endpoint } = delivery;
  const last = rows.at(-1) as AlertRow;
  const feedPlace = { consoleAddress, shopDomain: endpoint.shop_domain };
  const [first, ...others] = rows;
  const outcome = await send(
    environment,
    { place, ...endpoint },
    {
      messageId: messageIdOf(last.alert_id, place.endpointId),
      alerts: [feedAlert(first, feedPlace), ...others.map((row) => feedAlert(row, feedPlace))],
    },
  );
  note({ "returns.delivery_status": outcome.status });
  if (outcome.status !== "delivered") noteFailure(outcome.status);
  const tried: Try = { place, cursor: cursorOf(endpoint), now: now() };
  if (outcome.status !== "delivered") {
    await recordFailure(environment, { ...delivery, tried }, outcome);
    return false;
  }
  await recordDelivered(database, tried, [last.position, last.alert_id]);
  return true;
}

/** A pause and the notices of it are recorded together. */
async function recordFailure(
  { database, random }: DeliveryEnvironment,
  { place, endpoint, digestUntil, tried }: Delivery & { tried: Try },
  outcome: Exclude<SendOutcome, { status: "delivered" }>,
): Promise<void> {
  const { status, problem } = outcome;
  const again = nextTryAt(endpoint.failures + 1, {
    now: tried.now,
    retryAfterMs: "retryAfterMs" in outcome ? outcome.retryAfterMs : null,
    random: random(),
  });
  const pauseReason: PauseReason | null = status !== "failed" ? status : again === null ? "failing" : null;
  const failed = { problem, digestUntil, nextTryAt: pauseReason === null ? again : null, pauseReason };
  await database.transaction(async (connection) => {
    await recordFailed(connection, tried, failed);
    if (pauseReason === null) return;
    const { name, failing_since: since } = endpoint;
    const { endpointId } = place;
    await tellOfPause(connection, place.shopKey, {
      endpointId,
      name,
      problem,
      pauseReason,
      failingSince: since ?? tried.now,
    });
  });
}

function cursorOf({ cursor_at: at, cursor_id: id }: DeliveryRow): DeliveryCursor {
  return [at, id];
}
