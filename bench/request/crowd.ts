import { COUNTED_PLAN } from "../context.ts";
import type { BenchContext } from "../context.ts";
import { loadStore } from "../stores/load-store.ts";
import type { LoadedStore } from "../stores/load-store.ts";
import type { BenchRow } from "../table.ts";
import { putLoad, shownSpread, spreadOf } from "./load.ts";
import type { LoadRequest, Outcome } from "./load.ts";
import { ask } from "./questions.ts";
import { SPREAD, startService } from "./server-process.ts";

const CONNECTIONS = 32;
const ROUNDS = 5;
const RATE_PER_SECOND = 400;
/** So long that the slowest hundredth of a round are some fifty requests. */
const PACED = { seconds: 12, ratePerSecond: RATE_PER_SECOND };
const AS_FAST_AS_ANSWERED = { seconds: 4, ratePerSecond: null };
/** Small stores: a thousand of them are loaded in minutes. */
const SMALL_STORE = { lines: 1000, skus: 20, families: 4, categories: 3, vendors: 4 };

type Round = { one: Outcome; many: Outcome };

/**
 * The same load over one workspace and over many of its kind, in turn: a thousand small stores, or as many typical ones
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
    ...(typicalWorkspaces === null ? { change: SMALL_STORE } : { workspaces: typicalWorkspaces }),
    withFacts: false,
    tell: context.tell,
  });
  context.tell("Asking one workspace, and all.");
  const service = await startService(context.environment);
  try {
    const one = crowd.workspaces.slice(0, 1).flatMap(summaryOf(crowd));
    const many = crowd.workspaces.flatMap(summaryOf(crowd));
    const put = (requests: readonly LoadRequest[], how: typeof PACED | typeof AS_FAST_AS_ANSWERED) =>
      putLoad({ address: service.address, connections: CONNECTIONS, requests, ...how });
    const inTurn = async (how: typeof PACED | typeof AS_FAST_AS_ANSWERED): Promise<Round[]> => {
      const rounds: Round[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        rounds.push({ one: await put(one, how), many: await put(many, how) });
      }
      return rounds;
    };
    for (const requests of [one, many]) await put(requests, PACED);
    return rowsOf(crowd, await inTurn(PACED), await inTurn(AS_FAST_AS_ANSWERED));
  } finally {
    await service.stop();
  }
}

function summaryOf({ examples }: LoadedStore): (workspace: { token: string }) => LoadRequest[] {
  const input = { start_month: "2025-01", end_month: "2025-11", sku: examples.sku };
  return ({ token }) => [ask(token, "/api/v1/summary", input)];
}

function rowsOf(crowd: LoadedStore, paced: readonly Round[], asFast: readonly Round[]): BenchRow[] {
  const count = crowd.workspaces.length.toLocaleString("en");
  const size = `${count} workspaces of ${crowd.plan.lines.toLocaleString("en")} lines, ${crowd.plan.skus} SKUs, the copies without facts`;
  const compared = (rounds: readonly Round[], valueOf: (outcome: Outcome) => number, digits: number) => ({
    many: shownSpread(spreadOf(rounds.map(({ many }) => valueOf(many))), digits),
    one: shownSpread(spreadOf(rounds.map(({ one }) => valueOf(one))), digits),
    ratio: shownSpread(spreadOf(rounds.map(({ one, many }) => valueOf(many) / valueOf(one))), 2),
  });
  const latency = (name: string, valueOf: (outcome: Outcome) => number): BenchRow => {
    const { many, one, ratio } = compared(paced, valueOf, 2);
    return {
      name: `${name} with ${size}, ${RATE_PER_SECOND} requests/s; ${SPREAD}`,
      value: `${many} ms`,
      floor: `${one} ms with one`,
      ratio,
      target: "≤ 1.5",
    };
  };
  const { many, one, ratio } = compared(asFast, ({ perSecond }) => perSecond, 0);
  return [
    latency("p50", ({ p50Ms }) => p50Ms),
    latency("p99", ({ p99Ms }) => p99Ms),
    {
      name: `summary, as fast as answered, of ${size}; ${SPREAD}`,
      value: `${many}/s`,
      floor: `${one}/s of one, whose requests share statements`,
      ratio,
      target: "",
    },
  ];
}
