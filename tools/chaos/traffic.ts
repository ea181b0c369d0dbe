import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../src/store/database.ts";
import type { WebhookMessage } from "../simulators/shopify/webhooks.ts";
import type { Fleet } from "./fleet.ts";
import { importVersion, syncShop } from "./shops.ts";
import type { CitusShop } from "./shops.ts";

/** An attempt for a shop, with start and end (ms since 1970). `outcome`: a status (0 = no answer), "done", or what failed. */
export type Tried = { shopKey: number; startedMs: number; endedMs: number; outcome: string };

export type Traffic = ReturnType<typeof startTraffic>;

export type TrafficPlan = {
  database: Database;
  fleet: Fleet;
  imported: readonly CitusShop[];
  synced: readonly CitusShop[];
  /** Imports run one after another within each group, so that an unreachable node only delays its own. */
  importGroups: readonly (readonly CitusShop[])[];
};

const CLIENTS = 6;
const CLIENT_PAUSE_MS = 25;
const IMPORT_PAUSE_MS = 300;
const CHANGE_PAUSE_MS = 1500;
const WEBHOOK_ATTEMPTS = 3;
const WEBHOOK_PAUSE_MS = 500;
export const DONE = "done";
/** Outcomes of accepted webhooks. */
export const ACCEPTED = "200";
export const ACCEPTED_AGAIN = "200 when sent again";

/** Sends requests and webhooks and runs imports until stopped; each list grows. */
export function startTraffic(plan: TrafficPlan) {
  const requests: Tried[] = [];
  const webhooks: Tried[] = [];
  const imports: Tried[] = [];
  const over = new AbortController();
  const running = Promise.all([
    ...Array.from({ length: CLIENTS }, (_, client) => askOn(plan, client, requests, over.signal)),
    ...plan.importGroups.map((shops) => importOn(plan.database, shops, imports, over.signal)),
    changeOn(plan, webhooks, over.signal),
  ]);
  running.catch(() => {});
  const stop = async (): Promise<void> => {
    over.abort();
    await running;
  };
  return { requests, webhooks, imports, stop };
}

/** Sends requests of one shop after another, so that all nodes always have some. */
async function askOn(plan: TrafficPlan, client: number, asked: Tried[], over: AbortSignal): Promise<void> {
  const shops = [...plan.imported, ...plan.synced];
  for (let turn = client; !over.aborted; turn += CLIENTS) {
    const shop = shops[turn % shops.length] as CitusShop;
    const month = String((turn % 9) + 1).padStart(2, "0");
    const path = turn % 2 === 0 ? "summary" : "leaderboards/return-rate";
    const url = `${plan.fleet.address()}/api/v1/${path}?start_month=2026-01&end_month=2026-${month}`;
    const headers = { authorization: `Bearer ${shop.token}` };
    const status = (): Promise<string> =>
      fetch(url, { headers }).then(
        async (answer) => (await answer.arrayBuffer(), String(answer.status)),
        () => "0",
      );
    asked.push(await timed(shop, status));
    await sleep(CLIENT_PAUSE_MS);
  }
}

/** Imports the newest export of its store into one shop after another, repeatedly. */
async function importOn(
  database: Database,
  shops: readonly CitusShop[],
  imports: Tried[],
  over: AbortSignal,
): Promise<void> {
  for (let turn = 0; !over.aborted && shops.length > 0; turn++) {
    const shop = shops[turn % shops.length] as CitusShop;
    const version = shop.store.versions.length - 1;
    imports.push(
      await timed(shop, () =>
        importVersion(database, shop, version, new Date()).then(
          () => DONE,
          (error: unknown) => String(error instanceof Error ? error.message : error),
        ),
      ),
    );
    await sleep(IMPORT_PAUSE_MS);
  }
}

/** Changes one store after another, sends its webhooks, exports it, and requests a sync of its workspace. */
async function changeOn(plan: TrafficPlan, webhooks: Tried[], over: AbortSignal): Promise<void> {
  for (let turn = 0; !over.aborted; turn++) {
    const shop = plan.synced[turn % plan.synced.length] as CitusShop;
    const { store } = shop;
    for (const message of await store.change()) {
      webhooks.push(await timed(shop, () => tell(plan.fleet, shop, message)));
    }
    await store.export();
    // This fails for a shop whose node is down; a later turn retries.
    await syncShop(plan.database, shop).catch(() => {});
    await sleep(CHANGE_PAUSE_MS);
  }
}

/** Sends a webhook; what is not accepted within five seconds is sent again, as the platform does. */
async function tell(fleet: Fleet, { store }: CitusShop, message: WebhookMessage): Promise<string> {
  let outcome = "";
  for (let attempt = 1; attempt <= WEBHOOK_ATTEMPTS; attempt++) {
    const uri = `${fleet.address()}/webhooks/shopify`;
    const [delivery] = await store.simulator.control("deliver", { messages: [message], uri });
    outcome = String(delivery?.status);
    if (outcome === ACCEPTED) return attempt === 1 ? ACCEPTED : ACCEPTED_AGAIN;
    await sleep(WEBHOOK_PAUSE_MS);
  }
  return outcome;
}

async function timed({ shopKey }: CitusShop, attempt: () => Promise<string>): Promise<Tried> {
  const startedMs = Date.now();
  const outcome = await attempt();
  return { shopKey, startedMs, endedMs: Date.now(), outcome };
}
