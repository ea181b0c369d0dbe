import type { BenchContext } from "../context.ts";
import type { LoadedStore } from "../stores/store.ts";
import type { BenchRow } from "../measure.ts";
import { startFloor, dashboardMix, questionsOf } from "./questions.ts";
import { putLoad, SPREAD, startService } from "../servers.ts";
import { shownSpread, spreadOf } from "../measure.ts";
import type { LoadRequest, Outcome, MeasuredServer } from "../servers.ts";

const TYPICAL_P99_LIMIT_MS = 10;
const WHALE_P99_LIMIT_MS = 25;
const CONNECTIONS = 32;
const ROUNDS = 5;
const SECONDS = 4;
const WARM_UP_SECONDS = 10;

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

function loadOf(
  { address }: MeasuredServer,
  requests: readonly LoadRequest[],
  timing: { seconds: number; ratePerSecond: number | null },
) {
  return { address, requests, connections: CONNECTIONS, ...timing };
}
