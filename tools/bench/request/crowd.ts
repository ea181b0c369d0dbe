import type { BenchContext } from "../context.ts";
import { SMALL_STORE } from "../stores/store.ts";
import type { LoadedStore } from "../stores/store.ts";
import type { BenchRow } from "../measure.ts";
import { putLoad, SPREAD, cpuSecondsOf, startService } from "../servers.ts";
import { shownSpread, spreadOf } from "../measure.ts";
import type { LoadRequest, Outcome } from "../servers.ts";
import { summariesOf } from "./questions.ts";

const CONNECTIONS = 32;
const ROUNDS = 5;
const RATE_PER_SECOND = 400;
/** So long that the slowest hundredth of a round are some fifty requests. */
const PACED = { seconds: 12, ratePerSecond: RATE_PER_SECOND };
const AS_FAST_AS_ANSWERED = { seconds: 4, ratePerSecond: null };

type Measured = Outcome & { databaseMicroseconds: number };
type Round = { one: Measured; many: Measured };

/**
 * The same load over one workspace and over a thousand of its kind, in turn.
 */
export async function measureCrowd(context: BenchContext): Promise<BenchRow[]> {
  const crowd = await context.crowd({ change: SMALL_STORE });
  context.tell("Asking one workspace, and all.");
  const service = await startService(context.environment);
  try {
    const many = summariesOf(crowd);
    const one = many.slice(0, 1);
    const put = async (requests: readonly LoadRequest[], how: typeof PACED | typeof AS_FAST_AS_ANSWERED) => {
      const before = await admissionSeconds(context);
      const outcome = await putLoad({ address: service.address, connections: CONNECTIONS, requests, ...how });
      const seconds = (await admissionSeconds(context)) - before;
      return { ...outcome, databaseMicroseconds: (seconds / outcome.requests) * 1e6 };
    };
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

const LIST_ADMISSION = {
  name: "bench_list_admission",
  text: `select pid from pg_stat_activity where datname = current_database() and application_name = 'returns-admission'`,
};

/** Of the connections that are open now; they outlive a round. */
async function admissionSeconds({ installation }: BenchContext): Promise<number> {
  const rows = await installation.database.rows<{ pid: number }>(LIST_ADMISSION, []);
  return rows.reduce((sum, { pid }) => sum + cpuSecondsOf(pid), 0);
}

function rowsOf(crowd: LoadedStore, paced: readonly Round[], asFast: readonly Round[]): BenchRow[] {
  const count = crowd.workspaces.length.toLocaleString("en");
  const size = `${count} workspaces of ${crowd.plan.lines.toLocaleString("en")} lines, ${crowd.plan.skus} SKUs, the copies without facts`;
  const compared = (rounds: readonly Round[], valueOf: (outcome: Measured) => number, digits: number) => ({
    many: shownSpread(spreadOf(rounds.map(({ many }) => valueOf(many))), digits),
    one: shownSpread(spreadOf(rounds.map(({ one }) => valueOf(one))), digits),
    ratio: shownSpread(spreadOf(rounds.map(({ one, many }) => valueOf(many) / valueOf(one))), 2),
  });
  const latency = (name: string, valueOf: (outcome: Measured) => number): BenchRow => {
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
  const databaseTime = compared(asFast, ({ databaseMicroseconds }) => databaseMicroseconds, 0);
  return [
    latency("p50", ({ p50Ms }) => p50Ms),
    latency("p99", ({ p99Ms }) => p99Ms),
    {
      name: `summary, as fast as answered, of ${size}; ${SPREAD}`,
      value: `${many}/s`,
      floor: `${one}/s of one`,
      ratio,
      target: "≥ 0.8",
    },
    {
      name: `processor time of PostgreSQL for admission in the same rounds`,
      value: `${databaseTime.many} µs`,
      floor: `${databaseTime.one} µs with one`,
      ratio: databaseTime.ratio,
      target: "≤ 100 µs",
    },
  ];
}
