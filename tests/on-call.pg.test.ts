import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { diagnose } from "../src/control/doctor.ts";
import { requireSameSecret } from "../src/control/installation-secret.ts";
import { RULES } from "../src/on-call/rules.ts";
import type { RuleName } from "../src/on-call/rules.ts";
import { queueUploads } from "../src/store/queries/run-queue.ts";
import { putAccount } from "../src/store/queries/shop-account.ts";
import { requestRun } from "../src/store/queries/sync-request.ts";
import type { Worker } from "../src/worker/worker.ts";
import { startWorker } from "../src/worker/worker.ts";
import { backUp, withTemporaryFolder } from "./support/backups.ts";
import { isCitus } from "./support/citus.ts";
import { createTestDatabase } from "./support/database.ts";
import { startFaultProxy } from "./support/fault-proxy.ts";
import type { FaultProxy } from "./support/fault-proxy.ts";
import { pageConnector, startPageSource } from "./support/page-source.ts";
import type { PageSource } from "./support/page-source.ts";
import { findPromtool, runPromtool } from "./support/promtool.ts";
import { addTestEndpoint, deliverAll, deliveryEnvironment, writeAlerts } from "./support/push.ts";
import { startReceiver } from "./support/receiver.ts";
import { checkRules, NOTHING, scrape } from "./support/scrape.ts";
import type { Observed } from "./support/scrape.ts";
import { startOn } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { APP, APP_OPTIONS, sendWebhook } from "./support/webhooks.ts";
import { connect, eventually, workerOptions } from "./support/worker.ts";

/**
 * Each rule of src/on-call/rules.ts is tested by its fault: a real service is scraped while it is well and while it is not, and
 * promtool says which alerts these samples give when the state goes on.
 */
const skip = findPromtool() === undefined && "There is no promtool on this machine: no alert is tested.";
const HOUR = 60;
const OPTIONS = { ...APP_OPTIONS, DATABASE_CONNECTIONS: "2", METRICS_ON_API_PORT: "true" };
const SHOP = "well-known.myshopify.com";
const SOURCES = [
  ["shopify", "store"],
  ["loop", "label_cost"],
] as const;

let proxy: FaultProxy;
let service: TestService;
let pages: PageSource;
let worker: Worker | null = null;
let tenants: [Tenant, Tenant];
/** Before the first backup. */
let unsaved: Observed;
let alertsUnsaved: string[];
let healthy: Observed;
/** Rules whose fault has been caused. */
const tested = new Set<RuleName>();

before(async () => {
  const database = await createTestDatabase();
  const url = new URL(database.url);
  proxy = await startFaultProxy(Number(url.port || 5432));
  url.port = String(proxy.port);
  service = await startOn({ url: url.href, drop: () => database.drop() }, OPTIONS);
  pages = await startPageSource();
  tenants = [await createTenant(service.database), await createTenant(service.database)];
  const { database: own } = service.installation;
  for (const [source, kind] of SOURCES) await connect({ database: own }, tenants[0].shopKey, source, kind);
  await putAccount(own, tenants[0].shopKey, "shopify", SHOP);
  await requireSameSecret(own, service.installation.keys.tokenPepper);
  unsaved = await observe();
  alertsUnsaved = await doctorAlerts();
  if (isCitus()) await service.database.query("update installation set backed_up_at = now()");
  else await withTemporaryFolder((folder) => backUp(own, join(folder, "backup")));
  await startSyncing();
  await syncAll("ok");
  healthy = await observe(async () => {
    for (const tenant of tenants) assert.equal((await ask(tenant)).status, 200);
    assert.equal((await hook()).status, 200);
  });
});
after(async () => {
  await worker?.stop();
  await pages.stop();
  await service.stop();
  await proxy.close();
});

const look = () => scrape(service.address);
let asked = 0;
/** Each is another answer. */
function ask({ token }: Pick<Tenant, "token">): Promise<Response> {
  const month = `${2000 + (asked += 1)}-01`;
  return fetch(`${service.address}/api/v1/summary?start_month=${month}&end_month=${month}`, {
    headers: { authorization: `Bearer ${token}` },
  });
}
/** Of a topic that nobody asked for, which changes nothing. */
const hook = (secret = APP.clientSecret) =>
  sendWebhook(service, { topic: "themes/update", shop: SHOP, payload: { id: 1 }, secret });

/** Two scrapes, and what is done between them. */
async function observe(work: () => Promise<unknown> = () => sleep(200)): Promise<Observed> {
  const first = await look();
  await work();
  return [first, await look()];
}

function expectAlerts(state: Observed, minutes: number, ...firing: RuleName[]): void {
  for (const name of firing) tested.add(name);
  checkRules(healthy, state, { minutes, firing });
}

/** The alerts that `./returns doctor` speaks of, at this moment. */
async function doctorAlerts(): Promise<string[]> {
  const { installation } = service;
  const { checks } = await diagnose({
    database: installation.database,
    dataFolder: "/nowhere",
    isEmbedded: false,
    tokenPepper: installation.keys.tokenPepper,
    operationsAddress: service.address,
  });
  return checks.flatMap(({ alert }) => (alert === null ? [] : [alert]));
}

async function startSyncing(): Promise<void> {
  const { database } = service.installation;
  const connectors = SOURCES.map(([source, kind]) => pageConnector(pages, source, kind));
  worker = await startWorker(workerOptions({ database, url: service.databaseUrl }, connectors));
}

async function stopSyncing(): Promise<void> {
  await worker?.stop();
  worker = null;
}

/** Has both sources read, and waits until both are in that state. */
async function syncAll(status: "ok" | "failed"): Promise<void> {
  const { database } = service.installation;
  for (const [source] of SOURCES)
    await requestRun(database, {
      shopKey: tenants[0].shopKey,
      source,
      kind: "incremental",
      requestedBy: "operator",
    });
  await eventually(async () => {
    const { rowCount } = await service.database.query(
      `select from data_source s where s.is_connection and s.status = $1
          and not exists (select from sync_run r where r.shop_key = s.shop_key and r.source = s.source and r.status = 'running')`,
      [status],
    );
    return rowCount === SOURCES.length;
  }, `both sources are ${status}`);
}

test("a backup that was never made", { skip }, async () => {
  assert.ok(alertsUnsaved.includes("ReturnsBackupMissing"));
  assert.deepEqual(await doctorAlerts(), []);
  expectAlerts(unsaved, 25 * HOUR, "ReturnsBackupMissing");
});

test("a backup that is followed by no other", { skip }, async () => {
  expectAlerts(await observe(), 27 * HOUR, "ReturnsBackupOld");
});

test("callers with tokens that are not known", { skip }, async () => {
  const state = await observe(async () => {
    for (const token of ["rta_live_x", "guessed"]) assert.equal((await ask({ token })).status, 401);
    for (const tenant of tenants) await ask(tenant);
  });
  expectAlerts(state, 30, "ReturnsCallersRefused");
});

test("webhooks signed with another secret", { skip }, async () => {
  const state = await observe(async () => {
    assert.equal((await hook("another")).status, 401);
    await hook();
  });
  expectAlerts(state, 40, "ReturnsWebhooksRefused");
});

test("a lock that admission waits for", { skip }, async () => {
  const holder = await service.database.connect();
  try {
    const state = await observe(async () => {
      await holder.query("begin");
      await holder.query("select from daily_usage where shop_key = $1 for update", [tenants[0].shopKey]);
      const answer = ask(tenants[0]);
      await sleep(700);
      await holder.query("rollback");
      assert.equal((await answer).status, 200);
    });
    expectAlerts(state, 20, "ReturnsAdmissionSlow");
  } finally {
    holder.release(true);
  }
});

test(
  "a lock that answers wait for: every connection is in use, others have no turn, and answers are slow",
  { skip },
  async () => {
    const holder = await service.database.connect();
    let during: Observed | null = null;
    try {
      const state = await observe(async () => {
        await holder.query("begin");
        await holder.query("lock table cohort in access exclusive mode");
        const answers = [...tenants, ...tenants].map(ask);
        await eventually(async () => {
          const { values } = await look();
          return [...values].some(
            ([name, value]) => /connections\{.*"reading",state="used"/u.test(name) && value === 2,
          );
        }, "both connections are in use");
        during = await observe();
        assert.ok((await doctorAlerts()).includes("ReturnsPoolFull"));
        await Promise.race(answers);
        await holder.query("rollback");
        const statuses = (await Promise.all(answers)).map(({ status }) => status);
        assert.deepEqual(
          [...new Set(statuses)].toSorted((one, other) => one - other),
          [200, 429],
        );
      });
      expectAlerts(state, 20, "ReturnsSlow", "ReturnsBusy");
      expectAlerts(during ?? assert.fail(), 10, "ReturnsPoolFull");
    } finally {
      holder.release(true);
    }
  },
);

test("a processor that is kept busy", { skip }, async () => {
  const state = await observe(async () => {
    for (let blocked = 0; blocked < 3; blocked += 1) {
      // Delays are measured from one turn of the event loop to the next.
      await sleep(50);
      const end = performance.now() + 300;
      while (performance.now() < end);
    }
    await sleep(50);
  });
  expectAlerts(state, 20, "ReturnsEventLoopSlow");
});

test("a migration that the database has not run", { skip }, async () => {
  const { rows } = await service.database.query<{
    id: number;
    name: string;
    run_on: Date;
    works_with: string | null;
  }>("delete from schema_migration where id = (select max(id) from schema_migration) returning *");
  const state = await observe();
  assert.ok((await doctorAlerts()).includes("ReturnsSchemaBehind"));
  const [{ id, name, run_on: runOn, works_with: worksWith } = assert.fail()] = rows;
  await service.database.query(
    "insert into schema_migration (id, name, run_on, works_with) values ($1, $2, $3, $4)",
    [id, name, runOn, worksWith],
  );
  expectAlerts(state, 20, "ReturnsSchemaBehind");
});

test("metrics that the database does not give", { skip }, async () => {
  await service.database.query("alter table alert_endpoint rename to alert_endpoint_elsewhere");
  const state = await observe();
  await service.database.query("alter table alert_endpoint_elsewhere rename to alert_endpoint");
  expectAlerts(state, 20, "ReturnsMetricsUnavailable");
});

test("a receiver that refuses what it is sent", { skip }, async () => {
  const receiver = await startReceiver();
  try {
    receiver.answer(503);
    await addTestEndpoint(service, tenants[0], { address: receiver.url });
    await writeAlerts(service, tenants[0], [{}]);
    await deliverAll(deliveryEnvironment(service, () => new Date()));
    assert.equal(receiver.received.length, 1);
    expectAlerts(await observe(), 80, "ReturnsDeliveriesLate");
  } finally {
    await receiver.stop();
  }
});

test("sources that fail", { skip }, async () => {
  pages.statusOf.set(String(tenants[0].shopKey), 503);
  await syncAll("failed");
  const state = await observe();
  assert.ok((await doctorAlerts()).includes("ReturnsSourcesFailing"));
  expectAlerts(state, 4 * HOUR, "ReturnsSourcesFailing", "ReturnsStoresLate", "ReturnsLabelsLate");
});

test("no worker: runs and uploads wait, and the schedule stands still", { skip }, async () => {
  const { database } = service.installation;
  await stopSyncing();
  const { shopKey } = tenants[0];
  await requestRun(database, { shopKey, source: "shopify", kind: "incremental", requestedBy: "operator" });
  await queueUploads(database, shopKey);
  // Tests of the schedule make its tasks due: here the worker has been away for 20 minutes.
  await service.database.query(
    "update schedule set done_until = now() - interval '20 minutes' where task = 'stores'",
  );
  const state = await observe();
  const alerts = await doctorAlerts();
  for (const name of ["ReturnsNoWorker", "ReturnsUploadsWaiting"])
    assert.ok(alerts.includes(name), alerts.join());
  expectAlerts(state, 80, "ReturnsNoWorker", "ReturnsRunsDue", "ReturnsUploadsWaiting", "ReturnsTasksLate");
});

test("a database that is away", { skip }, async () => {
  await proxy.set("refuse");
  const state = await observe(async () => {
    assert.equal((await ask(tenants[0])).status, 500);
    assert.equal((await hook()).status, 500);
  });
  await proxy.set("forward");
  expectAlerts(state, 20, "ReturnsDatabaseDown", "ReturnsErrors", "ReturnsRouteErrors");
});

test("a server that is away, and one that Prometheus does not know", { skip }, async () => {
  const gone = await scrape("http://127.0.0.1:1");
  expectAlerts([gone, gone], 10, "ReturnsDown");
  expectAlerts([NOTHING, NOTHING], 10, "ReturnsAbsent");
});

test(
  "every rule was tested by its fault, and Prometheus finds nothing to say about the names of our metrics",
  { skip },
  async () => {
    assert.deepEqual(
      RULES.map(({ name }) => name).filter((name) => !tested.has(name as RuleName)),
      [],
    );
    const text = await (await fetch(`${service.address}/metrics`)).text();
    const own = text.split("\n").filter((line) => /^(?:# (?:HELP|TYPE) )?returns_/u.test(line));
    assert.equal(runPromtool(["check", "metrics"], { stdin: `${own.join("\n")}\n` }), "");
  },
);
