import assert from "node:assert/strict";
import { after, test } from "node:test";
import pino from "pino";
import { readList } from "../src/actions/action.ts";
import { startInstallationWorker } from "../src/app.ts";
import { readConfig } from "../src/config.ts";
import { endpointList } from "../src/actions/alert-endpoints/actions.ts";
import { clearWorkspace } from "../src/store/queries/workspace-erase.ts";
import { openWorkerSession } from "../src/store/worker-session.ts";
import { createDeliveries } from "../src/worker/deliveries.ts";
import type { Worker } from "../src/worker/worker.ts";
import { runCommand, startWorkerProcess, type CommandOutcome } from "./support/command.ts";
import { loseWorkspace } from "./support/lost-workspaces.ts";
import { addTestEndpoint, deliveryEnvironment, notifyTools, writeAlerts } from "./support/push.ts";
import { startReceiver, type Receiver } from "./support/receiver.ts";
import { serviceEnvironment, startTestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import { DEFAULT_RETENTION, eventually, keepAllInOrder } from "./support/worker.ts";
import { use } from "./support/use.ts";

/** Workers that push: killed between sending and recording, several at once, with a hanging receiver, and with an unreachable shop. */

const service = use(startTestService);
const receivers: Receiver[] = [];
after(async () => {
  for (const receiver of receivers) await receiver.stop();
});

async function newReceiver(): Promise<Receiver> {
  const receiver = await startReceiver();
  receivers.push(receiver);
  return receiver;
}

const PUSHING = { PUSH_NETWORKS: "127.0.0.0/8" };

const startedHere = (): Promise<Worker> =>
  startInstallationWorker(
    readConfig({ ...serviceEnvironment(service.databaseUrl), ...PUSHING }),
    service.installation,
    pino({ level: "silent" }),
  );

const idOf = ({ body }: { body: string }): unknown => (JSON.parse(body) as { id: string }).id;

test("if a worker is killed between sending a message and recording it, the next one sends it again with the same id", async (context) => {
  const tenant = await createTenant(service.database);
  const receiver = await newReceiver();
  receiver.answer("hang");
  await addTestEndpoint(service, tenant, { address: receiver.url });
  const killed = await startWorkerProcess(context, service.databaseUrl, PUSHING);
  const ids = await writeAlerts(service, tenant, [{}, {}, {}]);
  await receiver.arrived(1);
  killed.child.kill("SIGKILL");
  await killed.outcome;
  receiver.answer(204);
  const next = await startedHere();
  await receiver.arrived(4);
  await eventually(async () => {
    const [endpoint] = await readList(endpointList, await notifyTools(service, tenant));
    return endpoint?.due_at === null;
  }, "the last delivery is recorded");
  await next.stop();
  assert.deepEqual(receiver.received.map(idOf), [ids[0], ...ids]);
  assert.equal(receiver.received[0]?.id, receiver.received[1]?.id);
  assert.equal(receiver.received[0]?.body, receiver.received[1]?.body);
});

test("a command's test message to an endpoint, given by name, is sent by the worker with its options", async () => {
  const tenant = await createTenant(service.database);
  const receiver = await newReceiver();
  await addTestEndpoint(service, tenant, { address: receiver.url, name: "tickets" });
  await addTestEndpoint(service, tenant, { address: `${receiver.url}/2`, name: "twice" });
  await addTestEndpoint(service, tenant, { address: `${receiver.url}/3`, name: "twice" });
  const send = (name: string): Promise<CommandOutcome> =>
    runCommand(
      ["notify", "test", name, "--workspace", tenant.shopDomain],
      serviceEnvironment(service.databaseUrl),
    );
  // The command's own environment allows no network of this machine.
  const alone = await send("tickets");
  assert.deepEqual([alone.code, receiver.received.length], [1, 0], alone.stderr);
  await service.database.query("update alert_endpoint set tested_at = null");
  const worker = await startedHere();
  const sent = await send("tickets");
  assert.deepEqual([sent.code, receiver.received.length], [0, 1], sent.stderr);
  await service.database.query("update alert_endpoint set tested_at = null");
  receiver.answer(503);
  assert.match((await send("tickets")).stderr, /^The test message was not delivered\. .*503/u);
  assert.match((await send("twice")).stderr, /^2 endpoints are named "twice": give the id of one/u);
  await worker.stop();
});

test("a hanging receiver delays no other, and two workers never deliver to one endpoint at once", async () => {
  const tenant = await createTenant(service.database);
  const [slow, quick] = [await newReceiver(), await newReceiver()];
  slow.answer("hang");
  await addTestEndpoint(service, tenant, { address: slow.url, name: "slow" });
  await addTestEndpoint(service, tenant, { address: quick.url, name: "quick" });
  const problems: unknown[] = [];
  const log = { info: () => {}, warn: (problem: unknown) => problems.push(problem), error: () => {} };
  const sessions = [
    await openWorkerSession(service.databaseUrl),
    await openWorkerSession(service.databaseUrl),
  ];
  const workers = sessions.map((session) => ({
    session,
    deliveries: createDeliveries({ ...deliveryEnvironment(service, () => new Date()), log }),
  }));
  const ids = await writeAlerts(service, tenant, [{}, {}, {}]);
  for (const { session, deliveries } of workers) await deliveries.poll(session);
  await slow.arrived(1);
  await quick.arrived(3);
  for (const { session, deliveries } of workers) await deliveries.poll(session);
  await Promise.all(workers.map(({ deliveries }) => deliveries.stop()));
  for (const session of sessions) await session.close();
  assert.deepEqual(quick.received.map(idOf), ids);
  assert.equal(slow.received.length, 1);
  assert.deepEqual(problems, []);
  const states = await readList(endpointList, await notifyTools(service, tenant));
  assert.deepEqual(
    states.map(({ name, failures }) => [name, failures]),
    [
      ["slow", 1],
      ["quick", 0],
    ],
  );
});

test("an unreachable shop delays no other shop's endpoints, and its own are delivered to afterwards", async () => {
  // Those of other tests may be on the same node.
  await service.database.query("delete from run_queue");
  const places: { shopKey: number; receiver: Receiver; ids: string[] }[] = [];
  for (let made = 0; made < 6; made += 1) {
    const tenant = await createTenant(service.database);
    const receiver = await newReceiver();
    await addTestEndpoint(service, tenant, { address: receiver.url });
    places.push({ shopKey: tenant.shopKey, receiver, ids: await writeAlerts(service, tenant, [{}]) });
  }
  const problems: unknown[] = [];
  const log = { info: () => {}, warn: (problem: unknown) => problems.push(problem), error: () => {} };
  const look = async (): Promise<void> => {
    const session = await openWorkerSession(service.databaseUrl);
    const deliveries = createDeliveries({ ...deliveryEnvironment(service, () => new Date()), log });
    await deliveries.poll(session);
    await deliveries.stop();
    await session.close();
  };
  const shopKeys = places.map(({ shopKey }) => shopKey);
  const { lost, others, find } = await loseWorkspace(service.database, shopKeys);
  try {
    await look();
    for (const { shopKey, receiver, ids } of places) {
      if (others.includes(shopKey)) assert.deepEqual(receiver.received.map(idOf), ids);
    }
    assert.equal(problems.length, lost.length);
    await look();
    assert.equal(problems.length, lost.length, "it is not tried again at once");
  } finally {
    await find();
  }
  await service.database.query("update run_queue set due_at = now() where kind = 'push'");
  await look();
  for (const { receiver, ids } of places) {
    await receiver.arrived(1);
    assert.deepEqual([...new Set(receiver.received.map(idOf))], ids);
  }
});

test("upkeep queues an endpoint that a crash left out of the queue", async () => {
  const tenant = await createTenant(service.database);
  await addTestEndpoint(service, tenant, { address: "http://127.0.0.1:9/" });
  await service.database.query("delete from run_queue where shop_key = $1", [tenant.shopKey]);
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const { database } = service.installation;
  await keepAllInOrder({ database, now: () => new Date(), log, retention: DEFAULT_RETENTION });
  const { rows } = await service.database.query(
    "select kind from run_queue where shop_key = $1 order by kind",
    [tenant.shopKey],
  );
  assert.deepEqual(rows, [{ kind: "push" }, { kind: "shop" }]);
});

test("an endpoint stays in the queue when the data of its workspace is cleared", async () => {
  const tenant = await createTenant(service.database);
  const receiver = await newReceiver();
  await addTestEndpoint(service, tenant, { address: receiver.url });
  await clearWorkspace(service.installation.database, tenant.shopKey);
  const { rows } = await service.database.query("select kind from run_queue where shop_key = $1", [
    tenant.shopKey,
  ]);
  assert.deepEqual(rows, [{ kind: "push" }]);
});
