import { COUNTED_PLAN } from "../context.ts";
import type { BenchContext } from "../context.ts";
import { loadStore } from "../stores/load-store.ts";
import type { LoadedStore } from "../stores/load-store.ts";
import type { BenchRow } from "../table.ts";
import { startFloor } from "./floor.ts";
import { putLoad, shownSpread, spreadOf } from "./load.ts";
import type { LoadRequest, Outcome } from "./load.ts";
import { ask, dashboardMix, questionsOf } from "./questions.ts";
import { SPREAD, startService } from "./server-process.ts";
import type { MeasuredServer } from "./server-process.ts";

const TYPICAL_P99_LIMIT_MS = 10;
const WHALE_P99_LIMIT_MS = 25;
const CONNECTIONS = 32;
const ROUNDS = 5;
const SECONDS = 4;
const WARM_UP_SECONDS = 2;
const CROWD_RATE_PER_SECOND = 400;
/** So that the slowest hundredth of a round are some fifty requests. */
const CROWD_SECONDS = 12;
const FULL = { seconds: SECONDS, ratePerSecond: null };
/** Small stores: a thousand of them are loaded in minutes. */
const CROWD_STORE = { lines: 1000, skus: 20, families: 4, categories: 3, vendors: 4 };

/**
 * p99 of a dashboard's mix of questions at half of the load that the server can take, from the appointed time on. The
 * floor, as warm and at the same rate, tells how much of it is the machine's.
 */
export async function measureLatency(context: BenchContext): Promise<BenchRow[]> {
  return [
    await measureHalfLoad(context, await context.typical(), TYPICAL_P99_LIMIT_MS),
    await measureHalfLoad(context, await context.whale(), WHALE_P99_LIMIT_MS),
  ];
}

async function measureHalfLoad(
  context: BenchContext,
  store: LoadedStore,
  limitMs: number,
): Promise<BenchRow> {
  const service = await startService(context.environment);
  const floor = await startFloor(context, service, questionsOf(store));
  const requests = dashboardMix(store, store.workspaces[0].token);
  try {
    context.tell(`Finding the full load of the ${store.kind} store.`);
    const full = await fullLoad(service, requests);
    await fullLoad(floor, requests);
    const timing = { seconds: SECONDS, ratePerSecond: Math.floor(full.perSecond / 2) };
    const own: Outcome[] = [];
    const floors: Outcome[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      own.push(await putLoad(loadOf(service, requests, timing)));
      floors.push(await putLoad(loadOf(floor, requests, timing)));
    }
    const p50 = (outcomes: Outcome[]): string => shownSpread(spreadOf(outcomes.map(({ p50Ms }) => p50Ms)), 1);
    const p99 = (outcomes: Outcome[]): string => shownSpread(spreadOf(outcomes.map(({ p99Ms }) => p99Ms)), 1);
    return {
      name: `p99 at half load, ${store.kind} store of ${store.plan.lines.toLocaleString("en")} lines; ${SPREAD}`,
      value: `${p99(own)} ms, p50 ${p50(own)} ms`,
      floor: `${p99(floors)} ms, p50 ${p50(floors)} ms: fixed bytes, no checks`,
      ratio: `${timing.ratePerSecond.toLocaleString("en")} of ${Math.round(full.perSecond).toLocaleString("en")} requests/s`,
      target: `≤ ${limitMs} ms`,
    };
  } finally {
    await Promise.all([service.stop(), floor.stop()]);
  }
}

/** Warms the server up, then finds what it can take. */
async function fullLoad(server: MeasuredServer, requests: readonly LoadRequest[]): Promise<Outcome> {
  await putLoad(loadOf(server, requests, { seconds: WARM_UP_SECONDS, ratePerSecond: null }));
  return putLoad(loadOf(server, requests, { seconds: SECONDS, ratePerSecond: null }));
}

/**
 * The same rate over one workspace and over many of its kind, in turn: a thousand small stores, or as many typical ones
 * as asked for.
 */
export async function measureCrowd(
  context: BenchContext,
  typicalWorkspaces: number | null,
): Promise<BenchRow[]> {
  const crowd = await loadStore(context.installation.database, {
    kind: "crowd",
    tokenPepper: context.installation.keys.tokenPepper,
    planKey: COUNTED_PLAN,
    ...(typicalWorkspaces === null ? { change: CROWD_STORE } : { workspaces: typicalWorkspaces }),
    withFacts: false,
    tell: context.tell,
  });
  context.tell("Asking one workspace, and all.");
  const service = await startService(context.environment);
  try {
    const summaryOf = ({ token }: { token: string }): LoadRequest[] => [
      ask(token, "/api/v1/summary", {
        start_month: "2025-01",
        end_month: "2025-11",
        sku: crowd.examples.sku,
      }),
    ];
    const one = summaryOf(crowd.workspaces[0]);
    const many = crowd.workspaces.flatMap(summaryOf);
    const timing = { seconds: CROWD_SECONDS, ratePerSecond: CROWD_RATE_PER_SECOND };
    for (const requests of [one, many]) await putLoad(loadOf(service, requests, timing));
    const inTurn = async (how: typeof timing | typeof FULL): Promise<{ one: Outcome; many: Outcome }[]> => {
      const rounds: { one: Outcome; many: Outcome }[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        rounds.push({
          one: await putLoad(loadOf(service, one, how)),
          many: await putLoad(loadOf(service, many, how)),
        });
      }
      return rounds;
    };
    const rounds = await inTurn(timing);
    const fullRounds = await inTurn(FULL);
    const size = `${crowd.workspaces.length.toLocaleString("en")} workspaces of ${crowd.plan.lines.toLocaleString("en")} lines, ${crowd.plan.skus} SKUs, the copies without facts`;
    const row = (name: "p50" | "p99", target: string): BenchRow => {
      const valueOf = (outcome: Outcome): number => (name === "p50" ? outcome.p50Ms : outcome.p99Ms);
      return {
        name: `${name} with ${size}, ${CROWD_RATE_PER_SECOND} requests/s; ${SPREAD}`,
        value: `${shownSpread(spreadOf(rounds.map(({ many: outcome }) => valueOf(outcome))), 2)} ms`,
        floor: `${shownSpread(spreadOf(rounds.map(({ one: outcome }) => valueOf(outcome))), 2)} ms with one`,
        ratio: shownSpread(spreadOf(rounds.map((round) => valueOf(round.many) / valueOf(round.one))), 2),
        target,
      };
    };
    const perSecond = (outcomes: Outcome[]): string =>
      `${shownSpread(spreadOf(outcomes.map((outcome) => outcome.perSecond)), 0)}/s`;
    const full = {
      name: `summary, as fast as answered, of ${size}; ${SPREAD}`,
      value: perSecond(fullRounds.map(({ many: outcome }) => outcome)),
      floor: `${perSecond(fullRounds.map(({ one: outcome }) => outcome))} of one, whose requests share statements`,
      ratio: shownSpread(spreadOf(fullRounds.map((round) => round.many.perSecond / round.one.perSecond)), 2),
      target: "",
    };
    return [row("p50", "≤ 1.5"), row("p99", "≤ 1.5"), full];
  } finally {
    await service.stop();
  }
}

function loadOf(
  { address }: MeasuredServer,
  requests: readonly LoadRequest[],
  timing: { seconds: number; ratePerSecond: number | null },
) {
  return { address, requests, connections: CONNECTIONS, ...timing };
}
