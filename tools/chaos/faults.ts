import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { knownMigrations } from "../../src/store/migrate.ts";
import { createNextVersion } from "../../tests/support/next-version.ts";
import { serviceEnvironment } from "../../tests/support/service.ts";
import { runCommand } from "./cluster.ts";
import type { Scene } from "./part.ts";
import { DONE, ACCEPTED, ACCEPTED_AGAIN } from "./traffic.ts";
import type { Tried } from "./traffic.ts";

const NODE_AWAY_MS = 20_000;
const COORDINATOR_AWAY_MS = 5000;
/** Requests must be answered this long after a server is back. */
const RECOVERY_LIMIT_MS = 5000;
/** The longest wait for admission of a request that cannot be answered. */
const WAIT_LIMIT_MS = 4000;
/** Delayed imports and syncs must have ended by then. */
const LONGEST_CATCH_UP_MS = 90_000;

/** What was observed during one fault, and which promises were broken. */
export type Finding = { name: string; observed: string[]; problems: string[] };

/** Faults, in turn; the first, without a fault, is the baseline. */
export const CAUSES: readonly ((scene: Scene) => Promise<Finding>)[] = [
  (scene) => undisturbed(scene, "nothing happens for 20 s", () => sleep(20_000, "")),
  killNode,
  restartCoordinator,
  (scene) =>
    undisturbed(scene, "a shard moved to another node", async () => {
      const tables = await scene.cluster.moveShop(scene.imported[0]?.shopKey ?? 0);
      return `${tables} tables`;
    }),
  (scene) =>
    undisturbed(scene, "a node added and the cluster rebalanced", async () => {
      const shards = await scene.cluster.addSpare();
      return `${shards} shards on the new node`;
    }),
  upgradeRolling,
];

type Outage = { fromMs: number; awayMs: number; backMs: number; caughtUpMs: number | null; back: string };

/** Stops a server at once and starts it again; resolves once these shops have caught up, or it took too long. */
async function takeAway(
  scene: Scene,
  place: string,
  lastsMs: number,
  fits: (shopKey: number) => boolean,
): Promise<Outage> {
  const fromMs = Date.now();
  await runCommand("stop", place);
  const awayMs = Date.now();
  await sleep(lastsMs);
  await runCommand("start", place);
  await scene.cluster.answers(place);
  const backMs = Date.now();
  const caughtUpMs = await untilCaughtUp(scene, backMs, fits);
  const refused = scene.traffic.requests.filter(
    ({ endedMs, outcome }) => endedMs > backMs && outcome !== "200",
  );
  const lastRefusalMs = Math.max(0, ...refused.map(({ endedMs }) => endedMs - backMs));
  const caughtUp = caughtUpMs === null ? "no time" : shownSeconds(caughtUpMs);
  const back = `back: answered after ${shownSeconds(lastRefusalMs)}, imports and syncs after ${caughtUp}`;
  return { fromMs, awayMs, backMs, caughtUpMs, back };
}

/** One node dies and comes back: only its own shops are affected. */
async function killNode(scene: Scene): Promise<Finding> {
  const { cluster, fleet, log } = scene;
  const [, place = ""] = cluster.nodes;
  const nodes = await cluster.nodesOf([...scene.imported, ...scene.synced].map(({ shopKey }) => shopKey));
  const isLost = (shopKey: number): boolean => nodes.get(shopKey) === place;
  log("a node is killed for 20 s");
  fleet.takeUnready();
  const { fromMs, awayMs, backMs, caughtUpMs, back } = await takeAway(scene, place, NODE_AWAY_MS, isLost);
  const others = await partOf(scene, fromMs, backMs, (shopKey) => !isLost(shopKey));
  const lost = await partOf(scene, awayMs, backMs, isLost);
  const refused = lost.requests.filter(({ outcome }) => /^5\d\d$/u.test(outcome));
  const problems = [
    ...disturbances(others, "of other shops"),
    ...when(refused.length === 0, "the fault had no effect"),
    ...when(
      lost.requests.some((one) => one.outcome !== "200" && !refused.includes(one)),
      "answers other than 200 and 5xx",
    ),
    ...waitProblems(lost),
    ...lateProblems(await partOf(scene, backMs + RECOVERY_LIMIT_MS, Date.now(), isLost)),
    ...when(caughtUpMs === null, "imports or syncs of the node's shops did not catch up"),
    ...fleet.ended(),
    ...when(fleet.takeUnready() > 0, "a server said it was not ready"),
  ];
  const shownLost = `the node's: requests ${shownOutcomes(lost.requests)} (longest ${shownSeconds(longestMs(lost.requests))}), webhooks ${shownOutcomes(lost.webhooks)}`;
  const observed = [`others: ${shownPart(others)}`, shownLost, back];
  return { name: "a node killed for 20 s", observed, problems };
}

/** The coordinator restarts: no request is answered meanwhile, all are afterwards. */
async function restartCoordinator(scene: Scene): Promise<Finding> {
  const { cluster, fleet, log } = scene;
  log("the coordinator restarts");
  const everyWorkspace = (): boolean => true;
  const outage = await takeAway(scene, cluster.coordinator, COORDINATOR_AWAY_MS, everyWorkspace);
  const { fromMs, backMs, caughtUpMs, back } = outage;
  const away = await partOf(scene, fromMs, backMs, everyWorkspace);
  const problems = [
    ...lateProblems(await partOf(scene, backMs + RECOVERY_LIMIT_MS, Date.now(), everyWorkspace)),
    ...waitProblems(away),
    ...when(caughtUpMs === null, "imports or syncs did not catch up"),
    ...fleet.ended(),
  ];
  const shownAway = `away for ${shownSeconds(backMs - fromMs)}: requests ${shownOutcomes(away.requests)} (longest ${shownSeconds(longestMs(away.requests))})`;
  fleet.takeUnready();
  return { name: "the coordinator restarted", observed: [shownAway, back], problems };
}

function when(is: boolean, problem: string): string[] {
  return is ? [problem] : [];
}

/** Does something that must affect no shop; `cause` resolves to what it did, `ends` are the allowed outcomes of syncs besides success. */
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
    return { name, observed: [], problems: [`it failed: ${String(error)}`] };
  }
  const tookMs = Date.now() - fromMs;
  await sleep(RECOVERY_LIMIT_MS);
  const part = await partOf(scene, fromMs, Date.now(), () => true);
  const problems = [
    ...disturbances(part, "of all shops", ends),
    ...scene.fleet.ended(),
    ...when(scene.fleet.takeUnready() > 0, "a server said it was not ready"),
  ];
  return { name, observed: [shownSeconds(tookMs), did, shownPart(part)], problems };
}

function waitProblems({ requests }: Part): string[] {
  const longest = longestMs(requests);
  return when(longest > WAIT_LIMIT_MS, `a request waited ${shownSeconds(longest)}`);
}

function lateProblems({ requests }: Part): string[] {
  const bad = requests.filter(({ outcome }) => outcome !== "200");
  if (requests.length === 0) return ["no request after the recovery"];
  return when(bad.length > 0, `after the recovery ${shownOutcomes(bad)}`);
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
    const hasSome = (tried: readonly Tried[] = [], good?: string, fromMs = backMs): boolean =>
      tried.some(({ startedMs, outcome }) => startedMs > fromMs && (good === undefined || outcome === good));
    const isDone =
      hasSome(part?.imports, DONE) &&
      hasSome(part?.runs, "succeeded") &&
      hasSome(part?.webhooks, ACCEPTED) &&
      hasSome(part?.requests, undefined, backMs + RECOVERY_LIMIT_MS);
    if (isDone) return Date.now() - backMs;
    await sleep(500);
  }
  return null;
}

/** Part of what was tried: of some shops, within some time. */
type Part = Record<"requests" | "webhooks" | "imports" | "runs", Tried[]>;

/** The attempts that overlap the time, of the shops that fit. */
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

/** `outcome` is a run's status. */
async function listRuns({ cluster, synced }: Scene): Promise<Tried[]> {
  const found = await cluster.rows<{ shop_key: string; started: string; ended: string; outcome: string }>(
    `select shop_key, extract(epoch from started_at) * 1000 as started,
            extract(epoch from coalesce(finished_at, now())) * 1000 as ended, concat_ws(': ', status, error) as outcome
       from sync_run where shop_key = any ($1) order by started_at`,
    [synced.map(({ shopKey }) => shopKey)],
  );
  return found.map(({ shop_key, started, ended, outcome }) => ({
    shopKey: Number(shop_key),
    startedMs: Number(started),
    endedMs: Number(ended),
    outcome,
  }));
}

/** Failures of traffic that must not be affected, one sentence each; `ends` are the allowed outcomes of syncs besides success. */
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

/** Additions of a later version that this one must tolerate: a column of a table of shops, and a new table. */
const migrationAfter = (last: string): string => `-- Works with ${last}.
alter table workspace add column chaos_note text;
create table chaos_note (
  shop_key bigint not null references workspace on delete cascade,
  note text not null,
  primary key (shop_key, note)
);
`;

/** A newer version, with one migration more, takes this one's place process by process. */
async function upgradeRolling(scene: Scene): Promise<Finding> {
  const last = (await knownMigrations()).at(-1) ?? "";
  const { entry } = createNextVersion({ "9999_chaos_note": migrationAfter(last) });
  const replace = (): Promise<string> => replaceAll(scene, join(dirname(entry), "../.."));
  // A worker that is stopped hands its runs on to the next one.
  return undisturbed(scene, "a rolling upgrade across a migration", replace, ["interrupted"]);
}

/** Old servers answer on the new schema until a new one takes requests beside them. */
async function replaceAll({ cluster, fleet }: Scene, checkout: string): Promise<string> {
  const [oldServers, oldWorkers] = [fleet.running("server"), fleet.running("worker")];
  const command = [join(checkout, "src/cli/main.ts"), "migrate", "--distribute"];
  const env = { PATH: process.env["PATH"], ...serviceEnvironment(cluster.url) };
  await promisify(execFile)(process.execPath, command, { env });
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
