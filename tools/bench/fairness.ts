import type { BenchContext } from "./context.ts";
import { ask, summariesOf } from "./store.ts";
import type { LoadedStore } from "./store.ts";
import type { BenchRow } from "./measure.ts";
import { putLoad, tryLoad, SPREAD, startService } from "./servers.ts";
import { shownSpread, spreadOf } from "./measure.ts";
import type { LoadRequest, LoadOutcome } from "./servers.ts";

const ROUNDS = 5;
/** Few enough to keep up with one request at a time: the p99 shows waiting, not a backlog. */
const QUIET = { connections: 8, seconds: 10, ratePerSecond: 10 };
/** Longer than the quiet load, which is measured from its beginning to its end. */
const BUSY = { connections: 16, seconds: 12, ratePerSecond: null };
const BUSY_SHOPS = 5;
const WORKSPACES = BUSY_SHOPS + 1;

type Workspace = LoadedStore["workspaces"][number];
type Round = { alone: LoadOutcome; besideOne: LoadOutcome; besideFive: LoadOutcome };

/**
 * The p99 of one workspace's requests, alone and beside workspaces that request their whole report as fast as they are
 * answered. Nothing is cached, so that each request runs statements.
 */
export async function measureFairness(context: BenchContext): Promise<BenchRow[]> {
  const store = await context.crowd({ workspaces: WORKSPACES });
  const [, ...busy] = store.workspaces;
  const service = await startService({ ...context.environment, ANSWER_MEMORY_MB: "0" });
  const quietLoad = { address: service.address, requests: summariesOf(store).slice(0, 1), ...QUIET };
  const putBeside = async (workspaces: readonly Workspace[]): Promise<LoadOutcome> => {
    const noise = tryLoad({ address: service.address, requests: workspaces.map(reportOf), ...BUSY });
    const outcome = await putLoad(quietLoad);
    await noise;
    return outcome;
  };
  try {
    await putBeside(busy);
    const rounds: Round[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      context.tell(`Round ${round + 1} of ${ROUNDS}.`);
      rounds.push({
        alone: await putLoad(quietLoad),
        besideOne: await putBeside(busy.slice(0, 1)),
        besideFive: await putBeside(busy),
      });
    }
    return [
      { ...rowOf("one workspace", rounds, ({ besideOne }) => besideOne), target: "≤ 5" },
      rowOf(`${BUSY_SHOPS} workspaces`, rounds, ({ besideFive }) => besideFive),
    ];
  } finally {
    await service.stop();
  }
}

function reportOf({ token }: Workspace): LoadRequest {
  return ask(token, "/api/v1/report", { start_month: "2023-01", end_month: "2025-11", breakdownBy: "sku" });
}

function rowOf(beside: string, rounds: readonly Round[], outcomeOf: (round: Round) => LoadOutcome): BenchRow {
  const shown = (valueOf: (round: Round) => number, digits: number): string =>
    shownSpread(spreadOf(rounds.map(valueOf)), digits);
  return {
    name: `p99 of a workspace's requests beside ${beside} with expensive ones, nothing remembered; ${SPREAD}`,
    value: `${shown((round) => outcomeOf(round).p99Ms, 1)} ms`,
    floor: `${shown(({ alone }) => alone.p99Ms, 1)} ms alone`,
    ratio: shown((round) => outcomeOf(round).p99Ms / round.alone.p99Ms, 1),
  };
}
