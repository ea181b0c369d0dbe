import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import { createMetrics } from "../src/operations/metrics.ts";
import { queueUploads } from "../src/store/queries/run-queue.ts";
import { requestRun } from "../src/store/queries/sync-request.ts";
import { PINNED_APIS } from "../src/sync/connectors/sources.ts";
import { findPromtool, runPromtool } from "./support/promtool.ts";
import { addTestEndpoint, deliverAll, deliveryEnvironment, writeAlerts } from "./support/push.ts";
import { startReceiver } from "./support/receiver.ts";
import { checkRules, NOTHING, readScrape, RULES, scrape } from "./support/scrape.ts";
import type { Observed, Scrape } from "./support/scrape.ts";
import { eventually, connect, workerOptions } from "./support/worker.ts";
import { readConfig } from "../src/config.ts";
import { diagnose } from "../src/operations/doctor.ts";
import { putAccount } from "../src/store/queries/data-source.ts";
import type { Worker } from "../src/worker/worker.ts";
import { startWorker } from "../src/worker/worker.ts";
import { backUp } from "./support/backups.ts";
import { makeFolder } from "./support/folder.ts";
import { isCitus } from "./support/citus.ts";
import { createTestDatabase } from "./support/database.ts";
import { startFaultProxy } from "./support/fault-proxy.ts";
import type { FaultProxy } from "./support/fault-proxy.ts";
import { pageConnector, startPageSource } from "./support/page-source.ts";
import type { PageSource } from "./support/page-source.ts";
import { TEST_SECRET } from "./support/secret.ts";
import { startOn } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { createTenant } from "./support/tenants.ts";
import type { Tenant } from "./support/tenants.ts";
import { APP, APP_OPTIONS, sendWebhook } from "./support/webhooks.ts";

const OPTIONS = { ...APP_OPTIONS, DATABASE_CONNECTIONS: "2", METRICS_ON_API_PORT: "true" };
const SHOP = "well-known.myshopify.com";
const SOURCES = [
  ["shopify", "store"],
  ["loop", "label_cost"],
] as const;

/** A monitored service, on a database that can be made unreachable, with two shops; the first has two sources. */
type OnCallScene = {
  proxy: FaultProxy;
  service: TestService;
  pages: PageSource;
  tenants: [Tenant, Tenant];
  look(): Promise<Scrape>;
  /** Two scrapes, with `work` done between them. */
  observe(work?: () => Promise<unknown>): Promise<Observed>;
  /** A request whose answer is not in the response cache. */
  ask(this: void, tenant: Pick<Tenant, "token">): Promise<Response>;
  /** A webhook of an unrequested topic, which changes nothing. */
  hook(secret?: string): Promise<Response>;
  /** The alerts that `./returns doctor` names now. */
  doctorAlerts(): Promise<string[]>;
  backUp(): Promise<void>;
  startSyncing(): Promise<void>;
  stopSyncing(): Promise<void>;
  /** Syncs both sources, and waits until both have this status. */
  syncAll(status: "ok" | "failed"): Promise<void>;
  /** Scrapes of a healthy service: requests are answered at once. */
  observeHealth(): Promise<Observed>;
  close(): Promise<void>;
};

async function openOnCallScene(): Promise<OnCallScene> {
  const database = await createTestDatabase();
  const url = new URL(database.url);
  const proxy = await startFaultProxy(Number(url.port || 5432));
  url.port = String(proxy.port);
  const service = await startOn({ url: url.href, drop: () => database.drop() }, OPTIONS);
  const pages = await startPageSource();
  const tenants: [Tenant, Tenant] = [
    await createTenant(service.database),
    await createTenant(service.database),
  ];
  const own = service.installation.database;
  const [{ shopKey }] = tenants;
  for (const [source, kind] of SOURCES) await connect({ database: own }, shopKey, source, kind);
  await putAccount(own, shopKey, "shopify", SHOP);
  let worker: Worker | null = null;
  let asked = 0;
  const look = () => scrape(service.address);
  const observe: OnCallScene["observe"] = async (work = () => sleep(200)) => {
    const first = await look();
    await work();
    return [first, await look()];
  };
  const ask: OnCallScene["ask"] = ({ token }) => {
    const month = `${2000 + (asked += 1)}-01`;
    return fetch(`${service.address}/api/v1/summary?start_month=${month}&end_month=${month}`, {
      headers: { authorization: `Bearer ${token}` },
    });
  };
  const hook: OnCallScene["hook"] = (secret = APP.clientSecret) =>
    sendWebhook(service, { topic: "themes/update", shop: SHOP, payload: { id: 1 }, secret });
  const stopSyncing = async (): Promise<void> => {
    await worker?.stop();
    worker = null;
  };
  return {
    proxy,
    service,
    pages,
    tenants,
    look,
    observe,
    ask,
    hook,
    doctorAlerts: () => alertsOfDoctor(service),
    backUp: async () => {
      if (isCitus()) await service.database.query("update installation set backed_up_at = now()");
      else await backUp(own, join(makeFolder(), "backup"));
    },
    startSyncing: async () => {
      const connectors = SOURCES.map(([source, kind]) => pageConnector(pages, source, kind));
      worker = await startWorker(workerOptions({ database: own, url: service.databaseUrl }, connectors));
    },
    stopSyncing,
    syncAll: (status) => syncAll(service, shopKey, status),
    observeHealth: () => observeHealth({ observe, ask, hook, tenants }),
    close: async () => {
      await stopSyncing();
      await pages.stop();
      await service.stop();
      await proxy.close();
    },
  };
}

async function alertsOfDoctor({ installation, address }: TestService): Promise<string[]> {
  const { checks } = await diagnose({
    database: installation.database,
    dataFolder: "/nowhere",
    isEmbedded: false,
    secret: TEST_SECRET,
    operationsAddress: address,
    retention: readConfig({}),
    hasPlans: false,
  });
  return checks.flatMap(({ alert }) => (alert === null ? [] : [alert]));
}

async function syncAll(service: TestService, shopKey: number, status: "ok" | "failed"): Promise<void> {
  for (const [source] of SOURCES)
    await requestRun(service.installation.database, {
      shopKey,
      source,
      kind: "incremental",
      requestedBy: "operator",
    });
  await eventually(async () => {
    const { rowCount } = await service.database.query(
      `select from data_source s where s.is_connection and s.status = $1
          and not exists (select from sync_run r
                           where r.shop_key = s.shop_key and r.source = s.source and r.status = 'running')`,
      [status],
    );
    return rowCount === SOURCES.length;
  }, `both sources are ${status}`);
}

/** Slower answers mean that the machine is busy with other things. */
const CALM_MS = 100;
const CALM_SECONDS = 60;

/** Repeats until the machine is not busy. */
function observeHealth({
  observe,
  ask,
  hook,
  tenants,
}: Pick<OnCallScene, "observe" | "ask" | "hook" | "tenants">): Promise<Observed> {
  return eventually(
    async () => {
      let slowestMs = 0;
      const seen = await observe(async () => {
        for (const tenant of tenants) {
          const beganMs = performance.now();
          assert.equal((await ask(tenant)).status, 200);
          slowestMs = Math.max(slowestMs, performance.now() - beganMs);
        }
        assert.equal((await hook()).status, 200);
      });
      const isLate = [...seen[1].values].some(
        ([name, value]) => name.startsWith("nodejs_eventloop_lag_p99_seconds") && value > CALM_MS / 1000,
      );
      return slowestMs < CALM_MS && !isLate ? seen : null;
    },
    "the machine is calm",
    CALM_SECONDS,
  );
}

/**
 * Each rule of deploy/prometheus/rules.yml is tested with its fault: a real service is scraped while healthy and during the fault, and
 * promtool says which alerts these samples give if the state continues.
 */
const skip = findPromtool() === undefined && "There is no promtool on this machine: no alert is tested.";
const HOUR = 60;

let scene: OnCallScene;
/** Before the first backup. */
let unsaved: Observed;
let alertsUnsaved: string[];
let healthy: Observed;
/** Rules for which a fault was injected. */
const tested = new Set<string>();

before(async () => {
  scene = await openOnCallScene();
  unsaved = await scene.observe();
  alertsUnsaved = await doctorAlerts();
  await scene.backUp();
  await scene.startSyncing();
  await scene.syncAll("ok");
  // Independent of the day of the test.
  healthy = await withDaysLeft(61, await scene.observeHealth());
});
after(() => scene.close());

/** The same samples, this many days before the support of an API ends. */
async function withDaysLeft(days: number, [first, last]: Observed): Promise<Observed> {
  const now = (): number => Number(PINNED_APIS[0]?.endsAt) - days * 86_400_000;
  const { body } = await createMetrics(scene.service.installation.database, PINNED_APIS, now).render();
  const left = [...readScrape(body).values].filter(([name]) => name.startsWith("returns_source_api"));
  assert.equal(left.length, PINNED_APIS.length);
  const pin = ({ values, counters }: Scrape): Scrape => ({ values: new Map([...values, ...left]), counters });
  return [pin(first), pin(last)];
}

/** The alerts that doctor names; each exists in Prometheus under that name. */
async function doctorAlerts(): Promise<string[]> {
  const alerts = await scene.doctorAlerts();
  for (const name of alerts)
    assert.ok(
      RULES.some(({ alert }) => alert === name),
      name,
    );
  return alerts;
}

function expectAlerts(state: Observed, minutes: number, ...firing: string[]): void {
  for (const name of firing) tested.add(name);
  checkRules(healthy, state, { minutes, firing });
}

test("no backup was ever made", { skip }, async () => {
  assert.ok(alertsUnsaved.includes("ReturnsBackupMissing"));
  // That alert depends on the day of the test.
  const alerts = (await doctorAlerts()).filter((name) => name !== "ReturnsSourceApiEnds");
  assert.deepEqual(alerts, []);
  expectAlerts(unsaved, 25 * HOUR, "ReturnsBackupMissing");
});

test("the newest backup is too old", { skip }, async () => {
  expectAlerts(await scene.observe(), 27 * HOUR, "ReturnsBackupOld");
});

test("callers with unknown tokens", { skip }, async () => {
  const state = await scene.observe(async () => {
    for (const token of ["rta_live_x", "guessed"]) assert.equal((await scene.ask({ token })).status, 401);
    for (const tenant of scene.tenants) await scene.ask(tenant);
  });
  expectAlerts(state, 30, "ReturnsCallersRefused");
});

test("webhooks signed with another secret", { skip }, async () => {
  const state = await scene.observe(async () => {
    assert.equal((await scene.hook("another")).status, 401);
    await scene.hook();
  });
  expectAlerts(state, 40, "ReturnsWebhooksRefused");
});

test("a lock that admission waits for", { skip }, async () => {
  const holder = await scene.service.database.connect();
  try {
    const state = await scene.observe(async () => {
      await holder.query("begin");
      await holder.query("select from daily_usage where shop_key = $1 for update", [
        scene.tenants[0].shopKey,
      ]);
      const answer = scene.ask(scene.tenants[0]);
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
  "a lock that answers wait for: every connection is in use, others are refused, and answers are slow",
  { skip },
  async () => {
    const holder = await scene.service.database.connect();
    let during: Observed | null = null;
    try {
      const state = await scene.observe(async () => {
        await holder.query("begin");
        await holder.query("lock table cohort in access exclusive mode");
        const answers = [...scene.tenants, ...scene.tenants].map(scene.ask);
        await eventually(async () => {
          const { values } = await scene.look();
          return [...values].some(
            ([name, value]) => /connections\{.*"reading",state="used"/u.test(name) && value === 2,
          );
        }, "both connections are in use");
        during = await scene.observe();
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
  const state = await scene.observe(async () => {
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
  const { rows } = await scene.service.database.query<{
    id: number;
    name: string;
    run_on: Date;
    works_with: string | null;
  }>("delete from schema_migration where id = (select max(id) from schema_migration) returning *");
  const state = await scene.observe();
  assert.ok((await doctorAlerts()).includes("ReturnsSchemaBehind"));
  const [{ id, name, run_on: runOn, works_with: worksWith } = assert.fail()] = rows;
  await scene.service.database.query(
    "insert into schema_migration (id, name, run_on, works_with) values ($1, $2, $3, $4)",
    [id, name, runOn, worksWith],
  );
  expectAlerts(state, 20, "ReturnsSchemaBehind");
});

test("metrics that cannot be read from the database", { skip }, async () => {
  await scene.service.database.query("alter table alert_endpoint rename to alert_endpoint_elsewhere");
  const state = await scene.observe();
  await scene.service.database.query("alter table alert_endpoint_elsewhere rename to alert_endpoint");
  expectAlerts(state, 20, "ReturnsMetricsUnavailable");
});

test("a receiver that refuses its messages", { skip }, async () => {
  const receiver = await startReceiver();
  try {
    receiver.answer(503);
    await addTestEndpoint(scene.service, scene.tenants[0], { address: receiver.url });
    await writeAlerts(scene.service, scene.tenants[0], [{}]);
    await deliverAll(deliveryEnvironment(scene.service, () => new Date()));
    assert.equal(receiver.received.length, 1);
    expectAlerts(await scene.observe(), 80, "ReturnsDeliveriesLate");
  } finally {
    await receiver.stop();
  }
});

test("sources that fail", { skip }, async () => {
  scene.pages.statusOf.set(String(scene.tenants[0].shopKey), 503);
  await scene.syncAll("failed");
  await scene.service.database.query("update data_source set poll_at = now() where is_connection");
  const state = await scene.observe();
  assert.ok((await doctorAlerts()).includes("ReturnsSourcesFailing"));
  expectAlerts(state, 4 * HOUR, "ReturnsSourcesFailing", "ReturnsStoresLate", "ReturnsLabelsLate");
});

test("sources that are polled every 12 hours raise no alert before their next poll", { skip }, async () => {
  const { database } = scene.service;
  const set = (pollAt: string): Promise<unknown> =>
    database.query(
      `update data_source set status = 'ok', last_error = null, last_synced_at = now() - interval '11 hours',
              poll_at = now() + $1::interval where is_connection`,
      [pollAt],
    );
  await set("1 hour");
  const alerts = await doctorAlerts();
  for (const name of ["ReturnsStoresLate", "ReturnsLabelsLate"]) assert.ok(!alerts.includes(name), name);
  checkRules(healthy, await scene.observe(), {
    minutes: 20,
    firing: [],
    silent: ["ReturnsStoresLate", "ReturnsLabelsLate"],
  });
  await set("-2 hours");
  const late = await doctorAlerts();
  for (const name of ["ReturnsStoresLate", "ReturnsLabelsLate"]) assert.ok(late.includes(name), name);
});

test("the end of support of a source's API version", { skip }, async () => {
  expectAlerts(await withDaysLeft(59, healthy), 2 * HOUR, "ReturnsSourceApiEnds");
});

test("no worker: runs and uploads wait, and no scheduled task runs", { skip }, async () => {
  const { database } = scene.service.installation;
  await scene.stopSyncing();
  const { shopKey } = scene.tenants[0];
  await requestRun(database, { shopKey, source: "shopify", kind: "incremental", requestedBy: "operator" });
  await queueUploads(database, shopKey);
  // Tests of the schedule make its tasks due: here the worker has been away for 65 minutes.
  await scene.service.database.query(
    "update schedule set done_until = now() - interval '65 minutes' where task = 'upkeep'",
  );
  const state = await scene.observe();
  const alerts = await doctorAlerts();
  for (const name of ["ReturnsNoWorker", "ReturnsUploadsWaiting"])
    assert.ok(alerts.includes(name), alerts.join());
  expectAlerts(state, 80, "ReturnsNoWorker", "ReturnsRunsDue", "ReturnsUploadsWaiting", "ReturnsTasksLate");
});

test("a database that is away", { skip }, async () => {
  await scene.proxy.set("refuse");
  const state = await scene.observe(async () => {
    assert.equal((await scene.ask(scene.tenants[0])).status, 500);
    assert.equal((await scene.hook()).status, 500);
  });
  await scene.proxy.set("forward");
  expectAlerts(state, 20, "ReturnsDatabaseDown");
  checkRules(healthy, state, { minutes: 20, firing: [], silent: ["ReturnsErrors", "ReturnsRouteErrors"] });
});

test("requests that fail while the database answers", { skip }, async () => {
  const { database } = scene.service;
  const state = await scene.observe(async () => {
    await database.query("revoke select on cohort from returns_reader");
    await database.query("revoke select on shop_account from returns_worker");
    assert.equal((await scene.ask(scene.tenants[0])).status, 500);
    assert.equal((await scene.hook()).status, 500);
    await database.query("grant select on shop_account to returns_worker");
    await database.query("grant select on cohort to returns_reader");
  });
  expectAlerts(state, 20, "ReturnsErrors", "ReturnsRouteErrors");
});

test("no worker, and nothing connected that it could sync", { skip }, async () => {
  const withoutSources = ([...scrapes]: Observed): Observed =>
    scrapes.map(({ values, counters }) => ({
      values: new Map(
        [...values].map(([name, value]) => [name, name.startsWith("returns_connections") ? 0 : value]),
      ),
      counters,
    })) as unknown as Observed;
  checkRules(withoutSources(healthy), withoutSources(unsaved), { minutes: 20, firing: ["ReturnsNoWorker"] });
});

test("a server that is away, and one that Prometheus does not know", { skip }, async () => {
  const gone = await scrape("http://127.0.0.1:1");
  expectAlerts([gone, gone], 10, "ReturnsDown");
  expectAlerts([NOTHING, NOTHING], 10, "ReturnsAbsent");
});

test(
  "every rule was tested with its fault, and Prometheus has no objection to the metrics' names",
  { skip },
  async () => {
    assert.deepEqual(
      RULES.map(({ alert }) => alert).filter((name) => !tested.has(name)),
      [],
    );
    const text = await (await fetch(`${scene.service.address}/metrics`)).text();
    const own = text.split("\n").filter((line) => /^(?:# (?:HELP|TYPE) )?returns_/u.test(line));
    assert.equal(runPromtool(["check", "metrics"], { stdin: `${own.join("\n")}\n` }), "");
  },
);
