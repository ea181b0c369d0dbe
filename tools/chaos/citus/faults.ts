import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { knownMigrations } from "../../../src/store/migrate.ts";
import { serviceEnvironment } from "../../../tests/support/service.ts";
import { findingOf } from "../database.ts";
import type { Finding } from "../database.ts";
import { PROJECT } from "./fleet.ts";
import type { Scene } from "./part.ts";
import { DONE, ACCEPTED, ACCEPTED_AGAIN } from "./traffic.ts";
import type { Tried } from "./traffic.ts";

const NODE_AWAY_MS = 20_000;
const COORDINATOR_AWAY_MS = 5000;
/** Requests are answered again so long after a server is back. */
const RECOVERY_LIMIT_MS = 5000;
/** A request that cannot be answered waits for admission at most. */
const WAIT_LIMIT_MS = 4000;
/** Imports and syncs that were held up have ended again by then. */
const LONGEST_CATCH_UP_MS = 90_000;

/** Everything goes on undisturbed for a while: what the other findings are compared with. */
export async function leaveAlone(scene: Scene): Promise<Finding> {
  return undisturbed(scene, "nothing happens for 20 s", async () => {
    await sleep(20_000);
    return "";
  });
}

/** One node dies and comes back: its own shops notice, nobody else. */
export async function killNode(scene: Scene): Promise<Finding> {
  const { cluster, given, fleet, log } = scene;
  const place = cluster.nodes[1];
  if (place === undefined) throw new Error("there is no second node");
  const nodes = await cluster.nodesOf([...scene.imported, ...scene.synced].map(({ shopKey }) => shopKey));
  const isLost = (shopKey: number): boolean => nodes.get(shopKey) === `${place.host}:${place.port}`;
  log("a node is killed for 20 s");
  fleet.takeUnready();
  const fromMs = Date.now();
  await given.stop(place);
  const awayMs = Date.now();
  await sleep(NODE_AWAY_MS);
  await given.start(place);
  await cluster.answers(place);
  const backMs = Date.now();
  const caughtUpMs = await untilCaughtUp(scene, backMs, isLost);
  const others = await partOf(scene, fromMs, backMs, (shopKey) => !isLost(shopKey));
  const lost = await partOf(scene, awayMs, backMs, isLost);
  const lateLost = await partOf(scene, backMs + RECOVERY_LIMIT_MS, Date.now(), isLost);
  const problems = [
    ...disturbances(others, "of other shops"),
    ...lossProblems(lost),
    ...lateProblems(lateLost),
    ...(caughtUpMs === null ? ["imports or syncs of the node's shops did not catch up"] : []),
    ...fleet.ended(),
    ...(fleet.takeUnready() > 0 ? ["a server said it was not ready"] : []),
  ];
  const observed = [
    `others: ${shownPart(others)}`,
    `the node's: requests ${shownOutcomes(lost.requests)} (longest ${shownSeconds(longestMs(lost.requests))}), webhooks ${shownOutcomes(lost.webhooks)}`,
    `back: answered after ${shownSeconds(lastRefusalMs(scene, backMs))}, imports and syncs after ${shownCatchUp(caughtUpMs)}`,
  ];
  return findingOf("a node killed for 20 s", observed, problems);
}

/** The coordinator restarts: nobody is answered meanwhile, everybody is afterwards. */
export async function restartCoordinator(scene: Scene): Promise<Finding> {
  const { cluster, given, fleet, log } = scene;
  log("the coordinator restarts");
  const fromMs = Date.now();
  await given.stop(cluster.coordinator);
  await sleep(COORDINATOR_AWAY_MS);
  await given.start(cluster.coordinator);
  await cluster.answers(cluster.coordinator);
  const backMs = Date.now();
  const everyShop = (): boolean => true;
  const caughtUpMs = await untilCaughtUp(scene, backMs, everyShop);
  const away = await partOf(scene, fromMs, backMs, everyShop);
  const late = await partOf(scene, backMs + RECOVERY_LIMIT_MS, Date.now(), everyShop);
  const longest = longestMs(away.requests);
  const problems = [
    ...lateProblems(late),
    ...(longest > WAIT_LIMIT_MS ? [`a request waited ${shownSeconds(longest)}`] : []),
    ...(caughtUpMs === null ? ["imports or syncs did not catch up"] : []),
    ...fleet.ended(),
  ];
  const observed = [
    `away for ${shownSeconds(backMs - fromMs)}: requests ${shownOutcomes(away.requests)} (longest ${shownSeconds(longest)})`,
    `back: answered after ${shownSeconds(lastRefusalMs(scene, backMs))}, imports and syncs after ${shownCatchUp(caughtUpMs)}`,
  ];
  fleet.takeUnready();
  return findingOf("the coordinator restarted", observed, problems);
}

/** A shop's shards go to the other node while it is asked. */
export async function moveShard(scene: Scene): Promise<Finding> {
  return undisturbed(scene, "a shard moved to another node", async () => {
    const [shop] = scene.imported;
    const tables = await scene.cluster.moveShop(shop?.shopKey ?? 0);
    return `${tables} tables`;
  });
}

export async function addNode(scene: Scene): Promise<Finding> {
  return undisturbed(scene, "a node added and the cluster rebalanced", async () => {
    const shards = await scene.cluster.addSpare();
    return `${shards} shards on the new node`;
  });
}

/** Does something that no shop may notice; `cause` resolves to what it did, `ends` are those of syncs beside success. */
async function undisturbed(
  scene: Scene,
  name: string,
  cause: () => Promise<string>,
  ends: readonly string[] = [],
): Promise<Finding> {
  scene.log(name);
  scene.fleet.takeUnready();
  const fromMs = Date.now();
  let did: string;
  try {
    did = await cause();
  } catch (error) {
    return findingOf(name, [], [`it failed: ${String(error)}`]);
  }
  const tookMs = Date.now() - fromMs;
  await sleep(RECOVERY_LIMIT_MS);
  const part = await partOf(scene, fromMs, Date.now(), () => true);
  const problems = [
    ...disturbances(part, "of all shops", ends),
    ...scene.fleet.ended(),
    ...(scene.fleet.takeUnready() > 0 ? ["a server said it was not ready"] : []),
  ];
  return findingOf(
    name,
    [[shownSeconds(tookMs), did].filter((words) => words !== "").join(", "), shownPart(part)],
    problems,
  );
}

function lossProblems(lost: Part): string[] {
  const { requests } = lost;
  const longest = longestMs(requests);
  const refused = requests.filter(({ outcome }) => /^5\d\d$/u.test(outcome));
  return [
    ...(refused.length === 0 ? ["the fault had no effect"] : []),
    ...(requests.every(({ outcome }) => /^(?:200|5\d\d)$/u.test(outcome))
      ? []
      : ["answers other than 200 and 5xx"]),
    ...(longest > WAIT_LIMIT_MS ? [`a request waited ${shownSeconds(longest)}`] : []),
  ];
}

function lateProblems({ requests }: Part): string[] {
  const bad = requests.filter(({ outcome }) => outcome !== "200");
  if (requests.length === 0) return ["no request after the recovery"];
  return bad.length === 0 ? [] : [`after the recovery ${shownOutcomes(bad)}`];
}

/** How long after the return a request was still refused. */
function lastRefusalMs({ traffic }: Scene, backMs: number): number {
  const refused = traffic.requests.filter(({ endedMs, outcome }) => endedMs > backMs && outcome !== "200");
  return Math.max(0, ...refused.map(({ endedMs }) => endedMs - backMs));
}

/** How long it took until an import, a sync and a webhook of these shops succeeded again; null = too long. */
async function untilCaughtUp(
  scene: Scene,
  backMs: number,
  fits: (shopKey: number) => boolean,
): Promise<number | null> {
  while (Date.now() - backMs < LONGEST_CATCH_UP_MS) {
    // The first statements may meet connections that the fault has cut.
    const part = await partOf(scene, backMs, Date.now(), fits).catch(() => null);
    const { imports, runs, webhooks, requests } = part ?? {
      imports: [],
      runs: [],
      webhooks: [],
      requests: [],
    };
    const isDone =
      imports.some(({ startedMs, outcome }) => startedMs > backMs && outcome === DONE) &&
      runs.some(({ startedMs, outcome }) => startedMs > backMs && outcome === "succeeded") &&
      webhooks.some(({ startedMs, outcome }) => startedMs > backMs && outcome === "200") &&
      requests.some(({ startedMs }) => startedMs > backMs + RECOVERY_LIMIT_MS);
    if (isDone) return Date.now() - backMs;
    await sleep(500);
  }
  return null;
}

function shownCatchUp(milliseconds: number | null): string {
  return milliseconds === null ? "no time" : shownSeconds(milliseconds);
}

/** Part of what was tried: of some shops, within some time. */
type Part = { requests: Tried[]; webhooks: Tried[]; imports: Tried[]; runs: Run[] };

/** A sync run; `outcome` is its status. */
type Run = Tried;

/** What overlaps the time, of the shops that fit. */
async function partOf(
  scene: Scene,
  fromMs: number,
  toMs: number,
  fits: (shopKey: number) => boolean,
): Promise<Part> {
  const within = (all: readonly Tried[]): Tried[] =>
    all.filter(({ shopKey, startedMs, endedMs }) => fits(shopKey) && endedMs >= fromMs && startedMs <= toMs);
  const { requests, webhooks, imports } = scene.traffic;
  return {
    requests: within(requests),
    webhooks: within(webhooks),
    imports: within(imports),
    runs: within(await listRuns(scene)),
  };
}

async function listRuns({ cluster, synced }: Scene): Promise<Run[]> {
  const runs: Run[] = [];
  for (const { shopKey } of synced) {
    const found = await cluster.rows<{
      status: string;
      started_at: Date;
      finished_at: Date | null;
      error: string | null;
    }>(
      "select status, started_at, finished_at, error from sync_run where shop_key = $1 order by started_at",
      [shopKey],
    );
    for (const { status, started_at, finished_at, error } of found) {
      runs.push({
        shopKey,
        startedMs: started_at.getTime(),
        endedMs: finished_at?.getTime() ?? Date.now(),
        outcome: error === null ? status : `${status}: ${error}`,
      });
    }
  }
  return runs;
}

/** What is wrong with traffic that must not notice anything, one sentence each; `ends` are those of syncs beside success. */
function disturbances(part: Part, whose: string, ends: readonly string[] = []): string[] {
  return [
    ...unless(part.requests, ["200"], `requests ${whose}`),
    ...unless(part.webhooks, [ACCEPTED, ACCEPTED_AGAIN], `webhooks ${whose}`),
    ...unless(part.imports, [DONE], `imports ${whose}`),
    ...unless(part.runs, ["succeeded", "running", ...ends], `syncs ${whose}`),
  ];
}

function unless(tried: readonly Tried[], good: readonly string[], what: string): string[] {
  if (tried.length === 0) return [`no ${what}`];
  const bad = tried.filter(({ outcome }) => !good.includes(outcome));
  return bad.length === 0 ? [] : [`${bad.length} of ${tried.length} ${what}: ${shownOutcomes(bad)}`];
}

/** How many of each outcome. */
function shownOutcomes(tried: readonly Tried[]): string {
  const byOutcome = [...Map.groupBy(tried, ({ outcome }) => outcome)];
  const shown = byOutcome.map(([outcome, those]) => `${those.length} × ${outcome.replaceAll(/\s+/gu, " ")}`);
  return shown.join(", ") || "none";
}

function shownPart({ requests, webhooks, imports, runs }: Part): string {
  return (
    `requests ${shownOutcomes(requests)} (longest ${shownSeconds(longestMs(requests))}), webhooks ${shownOutcomes(webhooks)}, ` +
    `imports ${shownOutcomes(imports)}, syncs ${shownOutcomes(runs)}`
  );
}

function longestMs(tried: readonly Tried[]): number {
  return Math.max(0, ...tried.map(({ startedMs, endedMs }) => endedMs - startedMs));
}

function shownSeconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

/** What a later version might add, which this one works with: a column of a table of shops, and a table of its own. */
const migrationAfter = (last: string): string => `-- Works with ${last}.
alter table workspace add column chaos_note text;
create table chaos_note (
  shop_key bigint not null references workspace on delete cascade,
  note text not null,
  primary key (shop_key, note)
);
`;

/** Folders with code; the others are linked. */
const COPIED: ReadonlySet<string> = new Set(["src", "tests"]);

/** A newer version, with one migration more, takes this one's place process by process. */
export async function upgradeRolling(scene: Scene): Promise<Finding> {
  const checkout = mkdtempSync(join(tmpdir(), "returns-chaos-version-"));
  try {
    for (const part of readdirSync(PROJECT)) {
      if (COPIED.has(part)) cpSync(join(PROJECT, part), join(checkout, part), { recursive: true });
      else symlinkSync(join(PROJECT, part), join(checkout, part));
    }
    const last = (await knownMigrations()).at(-1) ?? "";
    writeFileSync(join(checkout, "src/store/migrations/9999_chaos_note.sql"), migrationAfter(last));
    const replace = (): Promise<string> => replaceAll(scene, checkout);
    // A worker that is stopped hands its runs on to the next one.
    return await undisturbed(scene, "a rolling upgrade across a migration", replace, ["interrupted"]);
  } finally {
    // What its processes run is loaded already.
    rmSync(checkout, { recursive: true, force: true });
  }
}

/** Old servers answer on the new schema until a new one takes requests beside them. */
async function replaceAll({ cluster, fleet }: Scene, checkout: string): Promise<string> {
  const [oldServers, oldWorkers] = [[...fleet.servers], [...fleet.workers]];
  await migrateWith(checkout, cluster.url);
  for (const old of oldServers) {
    await fleet.addServer(checkout);
    await old.stop();
  }
  for (const old of oldWorkers) {
    await fleet.addWorker(checkout);
    await old.stop();
  }
  return `${oldServers.length} servers and ${oldWorkers.length} workers replaced`;
}

async function migrateWith(checkout: string, databaseUrl: string): Promise<void> {
  const main = join(checkout, "src/cli/main.ts");
  const child = spawn(process.execPath, [main, "migrate", "--distribute"], {
    env: { PATH: process.env["PATH"], ...serviceEnvironment(databaseUrl) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  if (code !== 0) throw new Error(`migrate ended with ${code}: ${said}`);
}
