import { setTimeout as sleep } from "node:timers/promises";
import type { Finding } from "../finding.ts";
import {
  disturbances,
  findingOf,
  longestMs,
  partOf,
  shownOutcomes,
  shownPart,
  shownSeconds,
} from "./evidence.ts";
import type { Part } from "./evidence.ts";
import type { Scene } from "./scene.ts";
import { DONE } from "./traffic.ts";

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

/** Does something that no shop may notice; `cause` resolves to what it did. */
export async function undisturbed(
  scene: Scene,
  name: string,
  cause: () => Promise<string>,
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
    ...disturbances(part, "of all shops"),
    ...scene.fleet.ended(),
    ...(scene.fleet.takeUnready() > 0 ? ["a server said it was not ready"] : []),
  ];
  return findingOf(
    name,
    [[shownSeconds(tookMs), did].filter((text) => text !== "").join(", "), shownPart(part)],
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
