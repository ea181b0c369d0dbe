import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { readList, runAction } from "../src/actions/action.ts";
import { endpointList, resumeEndpoint } from "../src/actions/alert-endpoints/actions.ts";
import { textInput } from "../src/actions/field.ts";
import {
  addTestEndpoint,
  createClock,
  deliverAll,
  deliveryEnvironment,
  LOCAL_PUSH,
  notifyTools,
  writeAlerts,
} from "./support/push.ts";
import type { TestClock } from "./support/push.ts";
import { startReceiver } from "./support/receiver.ts";
import type { Received, Receiver } from "./support/receiver.ts";
import { startTestService } from "./support/service.ts";
import { changeWorkspace, createTenant } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { use } from "./support/use.ts";

/** The cursor of an endpoint: what is written meanwhile, by whom it is moved, and what is left after it. */

const service = use(() => startTestService({ METRICS_ON_API_PORT: "true" }));
let receiver: Receiver;
let tenant: Tenant;
let clock: TestClock;

beforeEach(async () => {
  await service.database.query("delete from alert_endpoint");
  receiver = await startReceiver();
  tenant = await createTenant(service.database);
  clock = createClock();
});
afterEach(() => receiver.stop());

const deliver = (): Promise<void> => deliverAll(deliveryEnvironment(service, clock.now));
const endpoints = async () => readList(endpointList, await notifyTools(service, tenant));
const alertIdsOf = (received: readonly Received[]): unknown[] =>
  received.map(({ body }) => (JSON.parse(body) as { id: string }).id);

test("an alert that is written while a worker finds nothing is not forgotten", async () => {
  const { endpoint_id: endpointId } = await addTestEndpoint(service, tenant, { address: receiver.url });
  await writeAlerts(service, tenant, [{}]);
  const environment = deliveryEnvironment(service, clock.now);
  const { database } = environment;
  let isWritten = false;
  const racing = {
    ...environment,
    database: {
      ...database,
      rows: async <Row>(statement: { name: string; text: string }, values: readonly unknown[]) => {
        const rows = await database.rows<Row>(statement, values);
        if (statement.name === "list_alerts_after" && rows.length === 0 && !isWritten) {
          isWritten = true;
          await writeAlerts(service, tenant, [{ title: "in between" }]);
        }
        return rows;
      },
    },
  };
  await deliverAll(racing);
  assert.ok(isWritten);
  await deliver();
  assert.equal(receiver.received.length, 2, endpointId);
});

test("a worker that is late moves no cursor back", async () => {
  await addTestEndpoint(service, tenant, { address: receiver.url });
  const ids = await writeAlerts(service, tenant, [{}, {}]);
  receiver.answer("hang");
  const late = deliverAll(deliveryEnvironment(service, clock.now, { ...LOCAL_PUSH, timeoutMs: 500 }));
  await receiver.arrived(1);
  receiver.answer(204);
  await deliver();
  await late;
  await deliver();
  assert.deepEqual(alertIdsOf(receiver.received), [ids[0], ...ids]);
  const [endpoint] = await endpoints();
  assert.deepEqual([endpoint?.failures, endpoint?.last_problem], [0, null]);
});

/** Dates the tenant's alerts so long from now. */
async function dateAlerts(fromNowMs: number): Promise<void> {
  await service.database.query("update alert set created_at = $2 where shop_key = $1", [
    tenant.shopKey,
    new Date(Date.now() + fromNowMs),
  ]);
}

test("metrics count what is due and not delivered, how old it is, and what is paused for failures", async () => {
  const samples = async (): Promise<number[]> => {
    const text = await (await fetch(`${service.address}/metrics`)).text();
    return ["deliveries_pending", "delivery_age_seconds", "endpoints_paused"].map((name) =>
      Number(new RegExp(`^returns_alert_${name}\\{endpoint_kind="webhook"\\} (.*)$`, "mu").exec(text)?.[1]),
    );
  };
  const { endpoint_id: endpointId } = await addTestEndpoint(service, tenant, { address: receiver.url });
  await addTestEndpoint(service, tenant, { address: receiver.url, digest_hour: "0", severities: "critical" });
  assert.deepEqual(await samples(), [0, 0, 0]);
  await writeAlerts(service, tenant, [{}, {}]);
  await dateAlerts(-3_600_000);
  const [pending, ageSeconds = 0] = await samples();
  assert.equal(pending, 2);
  assert.ok(ageSeconds >= 3600 && ageSeconds < 4000, String(ageSeconds));
  receiver.answer(410);
  await deliver();
  assert.deepEqual(await samples(), [0, 0, 1]);
  await runAction(resumeEndpoint, await notifyTools(service, tenant), textInput({ endpoint: endpointId }));
  await changeWorkspace(service.database, tenant, { billing_status: "inactive" });
  await deliver();
  assert.deepEqual(await samples(), [0, 0, 0], "what the feed refuses is not late");
});

test("a new alert is dated after the newest one, also when the clock is behind", async () => {
  await addTestEndpoint(service, tenant, { address: receiver.url });
  const ids = await writeAlerts(service, tenant, [{}]);
  await dateAlerts(3_600_000);
  await deliver();
  ids.push(...(await writeAlerts(service, tenant, [{}, {}])));
  clock.forward(90);
  await deliver();
  assert.deepEqual(alertIdsOf(receiver.received), ids);
});
