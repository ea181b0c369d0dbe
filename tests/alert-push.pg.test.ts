import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import { readList, runAction } from "../src/actions/action.ts";
import {
  endpointList,
  pauseEndpoint,
  removeEndpoint,
  resumeEndpoint,
  rotateEndpoint,
} from "../src/actions/alert-endpoints/actions.ts";
import { textInput } from "../src/actions/field.ts";
import { listNotices } from "../src/store/queries/notice.ts";
import { RETRY_DELAYS_MS } from "../src/alerts/delivery/retry.ts";
import { createPerson, setRole } from "./support/people.ts";
import {
  LOCAL_PUSH,
  addTestEndpoint,
  createClock,
  deliverAll,
  deliveryEnvironment,
  notifyTools,
  writeAlerts,
} from "./support/push.ts";
import type { TestClock } from "./support/push.ts";
import { startReceiver, type Received, type Receiver } from "./support/receiver.ts";
import { startTestService } from "./support/service.ts";
import { changePlan, changeWorkspace, createTenant, type Tenant } from "./support/tenants.ts";
import { use } from "./support/use.ts";

/** Pushed alerts: to a receiver that fails, hangs, redirects, answers 410, and recovers. */
const service = use(() => startTestService({ METRICS_ON_API_PORT: "true" }));
let receiver: Receiver;
let tenant: Tenant;
let clock: TestClock;

beforeEach(async () => {
  // Endpoints of other tests wait for receivers that are gone.
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

function assertSigned({ id, headers, body }: Received, secret: string, which = 0): void {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const timestamp = String(headers["webhook-timestamp"]);
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  assert.equal(String(headers["webhook-signature"]).split(" ")[which], `v1,${expected}`);
}

test("a webhook receives each alert in order, signed, with the bytes of the feed", async () => {
  await writeAlerts(service, tenant, [{ title: "before the endpoint" }]);
  const { endpoint_id: endpointId, secret } = await addTestEndpoint(service, tenant, {
    address: receiver.url,
  });
  await deliver();
  assert.equal(receiver.received.length, 0, "alerts of before are not sent");
  const ids = [
    ...(await writeAlerts(service, tenant, [{ title: "<b>Ünï & “quotes”</b>" }])),
    ...(await writeAlerts(service, tenant, [{ severity: "critical" }, { category: "connection_stale" }])),
  ];
  await deliver();
  assert.deepEqual(alertIdsOf(receiver.received), ids);
  assert.deepEqual(
    receiver.received.map(({ id }) => id),
    ids.map((id) => `msg_${id}_${endpointId}`),
  );
  const feed = await service.call("/api/v1/alerts", { token: tenant.token, params: { limit: 3 } });
  const bodies = receiver.received.map(({ body }) => body).toReversed();
  assert.ok(feed.text.includes(`"data":[${bodies.join(",")}]`), feed.text);
  for (const message of receiver.received) {
    assert.equal(message.headers["content-type"], "application/json");
    assertSigned(message, secret ?? "");
    assert.ok(Math.abs(Number(message.headers["webhook-timestamp"]) * 1000 - Date.now()) < 60_000);
  }
  await deliver();
  assert.equal(receiver.received.length, 3);
});

test("while a receiver fails, hangs and redirects nothing is lost, and repeated messages have the same id", async () => {
  await addTestEndpoint(service, tenant, { address: receiver.url });
  const ids = await writeAlerts(service, tenant, [{}, {}]);
  const problems: (string | null)[] = [];
  const push = { ...LOCAL_PUSH, timeoutMs: 200 };
  const redirect = { status: 302, headers: { location: `${receiver.url}/elsewhere` } };
  for (const behaviour of [500, "hang", redirect] as const) {
    receiver.answer(behaviour);
    await deliverAll(deliveryEnvironment(service, clock.now, push));
    problems.push((await endpoints())[0]?.last_problem ?? null);
    clock.forward(60);
  }
  assert.match(
    problems.join("\n"),
    /answered 500\.\n.*did not answer within 0\.2 s\.\n.*302: redirects are not followed/u,
  );
  ids.push(...(await writeAlerts(service, tenant, [{}])));
  receiver.answer(200);
  await deliver();
  const [first = ""] = ids;
  assert.deepEqual(alertIdsOf(receiver.received), [first, first, first, ...ids]);
  assert.equal(new Set(receiver.received.slice(0, 4).map(({ id }) => id)).size, 1);
  assert.ok(receiver.received.every(({ path }) => path === "/hook"));
  const [endpoint] = await endpoints();
  assert.deepEqual([endpoint?.failures, endpoint?.last_problem, endpoint?.due_at], [0, null, null]);
});

test("nothing is sent before its retry is due; after a day of retries the endpoint is paused and the owners are notified", async () => {
  const owner = await createPerson(service.database);
  await setRole(service.database, tenant, owner, "owner");
  const viewer = await createPerson(service.database);
  await setRole(service.database, tenant, viewer, "viewer");
  await addTestEndpoint(service, tenant, { address: receiver.url, name: "ticket system" });
  const ids = await writeAlerts(service, tenant, [{}, {}]);
  receiver.answer(503);
  await deliver();
  for (const [index, delayMs] of RETRY_DELAYS_MS.entries()) {
    const minutes = delayMs / 60_000;
    clock.forward(minutes - 0.05);
    await deliver();
    assert.equal(receiver.received.length, index + 1, "too early");
    clock.forward(0.06);
    await deliver();
    assert.equal(receiver.received.length, index + 2);
  }
  const [endpoint] = await endpoints();
  assert.deepEqual([endpoint?.pause_reason, endpoint?.failures], ["failing", RETRY_DELAYS_MS.length + 1]);
  clock.forward(60 * 24);
  await deliver();
  assert.equal(receiver.received.length, RETRY_DELAYS_MS.length + 1, "nothing is sent while it is paused");
  const told = (userId: string) =>
    listNotices(service.installation.database, tenant.shopKey, `user:${userId}`, 10);
  const [notice] = await told(owner.userId);
  assert.match(notice?.title ?? "", /no longer sent to ticket system/u);
  assert.match(notice?.body ?? "", /^No attempt has succeeded since .* The receiver answered 503\./u);
  assert.equal(notice?.link_path, "/settings/notifications");
  assert.deepEqual(await told(viewer.userId), []);
  const feed = await service.call("/api/v1/alerts", { token: tenant.token });
  assert.equal(feed.json().data.length, 2, "the feed has no more kinds of alerts than before");

  receiver.answer(200);
  ids.push(...(await writeAlerts(service, tenant, [{}])));
  const countBefore = receiver.received.length;
  const late = { ...(await notifyTools(service, tenant)), now: clock.now() };
  await runAction(resumeEndpoint, late, textInput({ endpoint: endpoint?.endpoint_id }));
  await deliver();
  assert.deepEqual(alertIdsOf(receiver.received.slice(countBefore)), ids);
});

test("410 pauses at once, and Retry-After delays the next try", async () => {
  const { endpoint_id: endpointId } = await addTestEndpoint(service, tenant, { address: receiver.url });
  await writeAlerts(service, tenant, [{}]);
  receiver.answer({ status: 429, headers: { "retry-after": "3600" } });
  await deliver();
  clock.forward(59);
  await deliver();
  assert.equal(receiver.received.length, 1);
  clock.forward(2);
  receiver.answer(410);
  await deliver();
  const [endpoint] = await endpoints();
  assert.deepEqual([receiver.received.length, endpoint?.pause_reason], [2, "gone"]);
  assert.match(endpoint?.last_problem ?? "", /accepts no more messages/u);
  receiver.answer(204);
  const late = { ...(await notifyTools(service, tenant)), now: clock.now() };
  await runAction(resumeEndpoint, late, textInput({ endpoint: endpointId }));
  await deliver();
  assert.equal(receiver.received.length, 3);
});

test("a paused endpoint misses no alerts, and a removed one receives none", async () => {
  const { endpoint_id: endpointId } = await addTestEndpoint(service, tenant, { address: receiver.url });
  const tools = await notifyTools(service, tenant);
  const input = textInput({ endpoint: endpointId });
  await runAction(pauseEndpoint, tools, input);
  const ids = await writeAlerts(service, tenant, [{}, {}]);
  clock.forward(1);
  await deliver();
  assert.equal(receiver.received.length, 0);
  await runAction(resumeEndpoint, tools, input);
  await deliver();
  assert.deepEqual(alertIdsOf(receiver.received), ids);
  await runAction(removeEndpoint, tools, input);
  await writeAlerts(service, tenant, [{}]);
  await deliver();
  assert.equal(receiver.received.length, 2);
});

test("after a rotation messages are signed with both secrets until the overlap ends", async () => {
  const { endpoint_id: endpointId, secret } = await addTestEndpoint(service, tenant, {
    address: receiver.url,
  });
  const tools = await notifyTools(service, tenant);
  const { secret: rotated } = await runAction(
    rotateEndpoint,
    tools,
    textInput({ endpoint: endpointId, overlap: "24h" }),
  );
  await writeAlerts(service, tenant, [{}]);
  await deliver();
  const [both] = receiver.received as [Received];
  assertSigned(both, rotated?.reveal() ?? "", 0);
  assertSigned(both, secret ?? "", 1);
  clock.forward(60 * 24 + 1);
  await writeAlerts(service, tenant, [{}]);
  await deliver();
  const last = receiver.received.at(-1) as Received;
  assertSigned(last, rotated?.reveal() ?? "");
  assert.equal(String(last.headers["webhook-signature"]).split(" ").length, 1);
});

test("an endpoint receives only its severities and categories", async () => {
  await addTestEndpoint(service, tenant, {
    address: receiver.url,
    severities: "critical,warning",
    categories: "return_rate_watchlist",
  });
  const category = "return_rate_watchlist";
  const [, second, , fourth] = await writeAlerts(service, tenant, [
    { category, severity: "info" },
    { category, severity: "critical" },
    { category: "connection_stale", severity: "critical" },
    { category, severity: "warning" },
  ]);
  await deliver();
  assert.deepEqual(alertIdsOf(receiver.received), [second, fourth]);
});

test("alerts that the feed withholds are not pushed until the feed returns them", async () => {
  await addTestEndpoint(service, tenant, { address: receiver.url });
  const ids = await writeAlerts(service, tenant, [{}]);
  const states: [() => Promise<void>, () => Promise<void>][] = [
    [
      () => changeWorkspace(service.database, tenant, { billing_status: "inactive" }),
      () => changeWorkspace(service.database, tenant, { billing_status: "active" }),
    ],
    [
      () => changePlan(service.database, tenant, { entitlements: [] }),
      () => changePlan(service.database, tenant, { entitlements: ["api_access"] }),
    ],
    [
      () => changeWorkspace(service.database, tenant, { readiness: "reconnecting" }),
      () => changeWorkspace(service.database, tenant, { readiness: "ready" }),
    ],
  ];
  for (const [withhold, giveBack] of states) {
    await withhold();
    await deliver();
    const refused = await service.call("/api/v1/alerts", { token: tenant.token });
    const [endpoint] = await endpoints();
    assert.equal(endpoint?.last_problem, refused.message());
    assert.deepEqual([endpoint?.failures, receiver.received.length], [0, 0]);
    await giveBack();
    clock.forward(16);
  }
  await deliver();
  assert.deepEqual(alertIdsOf(receiver.received), ids);
});

/** The cursor of an endpoint, with concurrent writes and concurrent workers. */

test("an alert written while a worker finds none is not missed", async () => {
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

test("a delayed worker never moves a cursor back", async () => {
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

/** Sets the time of the tenant's alerts to this long from now. */
async function dateAlerts(fromNowMs: number): Promise<void> {
  await service.database.query("update alert set created_at = $2 where shop_key = $1", [
    tenant.shopKey,
    new Date(Date.now() + fromNowMs),
  ]);
}

test("metrics count due deliveries, their age, and endpoints paused for failures", async () => {
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
