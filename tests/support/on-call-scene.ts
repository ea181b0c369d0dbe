import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readConfig } from "../../src/config.ts";
import { diagnose } from "../../src/operations/doctor.ts";
import { putAccount } from "../../src/store/queries/data-source.ts";
import { requestRun } from "../../src/store/queries/sync-request.ts";
import type { Worker } from "../../src/worker/worker.ts";
import { startWorker } from "../../src/worker/worker.ts";
import { backUp, withTemporaryFolder } from "./backups.ts";
import { isCitus } from "./citus.ts";
import { createTestDatabase } from "./database.ts";
import { startFaultProxy } from "./fault-proxy.ts";
import type { FaultProxy } from "./fault-proxy.ts";
import { pageConnector, startPageSource } from "./page-source.ts";
import type { PageSource } from "./page-source.ts";
import { scrape } from "./scrape.ts";
import type { Observed, Scrape } from "./scrape.ts";
import { TEST_SECRET } from "./secret.ts";
import { startOn } from "./service.ts";
import type { TestService } from "./service.ts";
import { createTenant } from "./tenants.ts";
import type { Tenant } from "./tenants.ts";
import { APP, APP_OPTIONS, sendWebhook } from "./webhooks.ts";
import { connect, eventually, workerOptions } from "./worker.ts";

const OPTIONS = { ...APP_OPTIONS, DATABASE_CONNECTIONS: "2", METRICS_ON_API_PORT: "true" };
const SHOP = "well-known.myshopify.com";
const SOURCES = [
  ["shopify", "store"],
  ["loop", "label_cost"],
] as const;

/** A service that is watched, on a database that can be taken away, with two shops; the first has two sources. */
export type OnCallScene = {
  proxy: FaultProxy;
  service: TestService;
  pages: PageSource;
  tenants: [Tenant, Tenant];
  look(): Promise<Scrape>;
  /** Two scrapes, and what is done between them. */
  observe(work?: () => Promise<unknown>): Promise<Observed>;
  /** A request whose answer is not in the response cache. */
  ask(this: void, tenant: Pick<Tenant, "token">): Promise<Response>;
  /** A webhook of a topic that nobody asked for, which changes nothing. */
  hook(secret?: string): Promise<Response>;
  /** The alerts that `./returns doctor` speaks of, at this moment. */
  doctorAlerts(): Promise<string[]>;
  backUp(): Promise<void>;
  startSyncing(): Promise<void>;
  stopSyncing(): Promise<void>;
  /** Has both sources read, and waits until both are in that state. */
  syncAll(status: "ok" | "failed"): Promise<void>;
  /** While everything is well: requests are answered, and at once. */
  observeHealth(): Promise<Observed>;
  close(): Promise<void>;
};

export async function openOnCallScene(): Promise<OnCallScene> {
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
    doctorAlerts: () => doctorAlerts(service),
    backUp: async () => {
      if (isCitus()) await service.database.query("update installation set backed_up_at = now()");
      else await withTemporaryFolder((folder) => backUp(own, join(folder, "backup")));
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

async function doctorAlerts({ installation, address }: TestService): Promise<string[]> {
  const { checks } = await diagnose({
    database: installation.database,
    dataFolder: "/nowhere",
    isEmbedded: false,
    secret: TEST_SECRET,
    operationsAddress: address,
    retention: readConfig({}),
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

/** Answers that take so long are of a machine that is busy with other things. */
const CALM_MS = 100;
const CALM_SECONDS = 60;

/** On a busy machine it is tried until the machine is calm for a moment. */
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
