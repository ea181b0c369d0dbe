import { OPERATOR } from "../../src/actions/actor.ts";
import { runAction, type WorkspaceCaller } from "../../src/actions/action.ts";
import { addEndpoint } from "../../src/actions/alert-endpoints/actions.ts";
import { textInput } from "../../src/actions/field.ts";
import { pushOptions, type PushOptions } from "../../src/alerts/delivery/send.ts";
import { requireWorkspace } from "../../src/actions/workspace/workspace.ts";
import type { DeliveryEnvironment } from "../../src/alerts/delivery/deliver.ts";
import { listQueuedPushes } from "../../src/store/queries/run-queue.ts";
import { deliverQueued } from "../../src/worker/deliveries.ts";
import { insertAlerts } from "../../src/store/queries/alerts.ts";
import { lockWorkspace } from "../../src/store/queries/import-stage.ts";
import { randomUUIDv7 } from "node:crypto";
import type { TestService } from "./service.ts";
import type { Tenant } from "./tenants.ts";

/** Receivers on this machine are allowed, with short time limits. */
export const LOCAL_PUSH: PushOptions = {
  ...pushOptions({ pushNetworks: [["127.0.0.0", 8]], smtpUrl: null, smtpFrom: null }),
  timeoutMs: 2000,
};

/** A clock that tests advance. */
export type TestClock = { now: () => Date; forward(minutes: number): void };

export function createClock(): TestClock {
  let aheadMs = 0;
  return {
    now: () => new Date(Date.now() + aheadMs),
    forward: (minutes) => {
      aheadMs += minutes * 60_000;
    },
  };
}

export async function notifyTools(
  { installation, keys }: TestService,
  { shopDomain }: Pick<Tenant, "shopDomain">,
  push = LOCAL_PUSH,
): Promise<WorkspaceCaller & { push: PushOptions }> {
  const { database } = installation;
  const workspace = await requireWorkspace(database, shopDomain);
  return { database, keys, push, actor: OPERATOR, workspace, now: new Date() };
}

/** Fields of the form, by their names. */
type EndpointRequest = Partial<Record<keyof typeof addEndpoint.input, string>> & { address: string };

export async function addTestEndpoint(
  service: TestService,
  tenant: Tenant,
  request: EndpointRequest,
  push = LOCAL_PUSH,
): Promise<{ endpoint_id: string; name: string; secret: string | null }> {
  const input = textInput({ kind: "webhook", name: "receiver", ...request });
  const { result } = await runAction(addEndpoint, await notifyTools(service, tenant, push), input);
  return { ...result, secret: result.secret?.reveal() ?? null };
}

let alertNumber = 0;

export type TestAlert = { category?: string; severity?: "info" | "warning" | "critical"; title?: string };

/** Writes alerts as an evaluation does; returns their ids. */
export async function writeAlerts(
  { installation }: TestService,
  { shopKey }: Pick<Tenant, "shopKey">,
  alerts: readonly TestAlert[],
): Promise<string[]> {
  const rows = alerts.map(({ category = "report_ready", severity = "info", title }) => ({
    alertId: randomUUIDv7(),
    eventKey: `test:${(alertNumber += 1)}`,
    category,
    severity,
    title: title ?? `Alert ${alertNumber}`,
    body: "What happened.",
    metadata: { cohort_month: "2026-05" },
  }));
  await installation.database.transaction(async (connection) => {
    await lockWorkspace(connection, shopKey);
    // One after the other: alerts of one statement may have the same time, and are then ordered by their ids.
    for (const row of rows) await insertAlerts(connection, shopKey, [row]);
  });
  return rows.map(({ alertId }) => alertId);
}

export function deliveryEnvironment(
  { installation, keys }: TestService,
  now: () => Date,
  push = LOCAL_PUSH,
): DeliveryEnvironment {
  const { database } = installation;
  return { database, sealingKey: keys.sealingKey, push, consoleAddress: null, now, random: () => 0 };
}

/** One check of a worker: everything due is delivered, one endpoint after the other. */
export async function deliverAll(environment: DeliveryEnvironment): Promise<void> {
  const { database, now } = environment;
  for (const queued of await listQueuedPushes(database, now(), 100)) {
    await deliverQueued(environment, queued, new AbortController().signal);
  }
}
