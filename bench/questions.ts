import { createAdmit } from "../src/admission/admit.ts";
import type { Answer } from "../src/contract/call.ts";
import { report } from "../src/endpoints/report.ts";
import { returnCostLeaderboard } from "../src/endpoints/return-cost-leaderboard.ts";
import { returnRateLeaderboard } from "../src/endpoints/return-rate-leaderboard.ts";
import { summary } from "../src/endpoints/summary.ts";
import { timeseries } from "../src/endpoints/timeseries.ts";
import { openDatabase } from "../src/store/database.ts";
import type { Database, Queryable } from "../src/store/database.ts";
import type { Workspace } from "../src/store/workspace.ts";
import type { BenchContext } from "./context.ts";
import { shownTiming } from "./measure.ts";
import type { BenchRow } from "./measure.ts";
import type { LoadedStore } from "./stores/store.ts";

const ROUNDS = 9;

type Call = { database: Queryable; workspace: Workspace };
type Question = { name: string; ask: (call: Call) => Promise<Answer> };

/** Database time of the endpoints on the whale, over one connection that reads as the service's own do. */
export async function measureQuestions(context: BenchContext): Promise<BenchRow[]> {
  const { installation, keys, tell } = context;
  const store = await context.whale();
  const reading = openDatabase({
    url: installation.databaseUrl,
    maxConnections: 1,
    readOnly: true,
    statementTimeoutMs: 0,
    applicationName: "returns-bench",
    onConnectionError: () => {},
  });
  try {
    const admit = createAdmit({ database: installation.database, pepper: keys.tokenPepper });
    const [{ token }] = store.workspaces;
    const { workspace } = await admit(`Bearer ${token}`, { scope: null, entitlements: [], counted: false });
    const rows: BenchRow[] = [];
    for (const { name, ask } of questionsOf(store)) {
      tell(`Asking ${name}.`);
      const tookMs: number[] = [];
      for (let round = 0; round <= ROUNDS; round += 1) tookMs.push(await databaseMs(ask, reading, workspace));
      // The first round warms up.
      const value = shownTiming(tookMs.slice(1));
      rows.push({ name: `${name}, ${store.plan.lines.toLocaleString("en")} lines: database time`, value });
    }
    return rows;
  } finally {
    await reading.close();
  }
}

/** Milliseconds that an endpoint waits for the database. */
async function databaseMs(ask: Question["ask"], database: Database, workspace: Workspace): Promise<number> {
  let waitedMs = 0;
  const watched: Queryable = {
    rows: async <Row>(...statement: Parameters<Queryable["rows"]>) => {
      const startedMs = performance.now();
      const rows = await database.rows<Row>(...statement);
      waitedMs += performance.now() - startedMs;
      return rows;
    },
  };
  await ask({ database: watched, workspace });
  return waitedMs;
}

// The as-of leaves the last month of the store incomplete for the primary window (M5).
const ALL = { start_month: "2023-01", end_month: "2025-11" };
// A report compares with as many months before: together almost all there are.
const REPORT = { start_month: "2024-07", end_month: "2025-11" };
const ROWS = 50;

function questionsOf({ examples }: LoadedStore): Question[] {
  const subjects = {
    "a SKU": { sku: examples.sku },
    "a product": { product_gid: examples.productGid },
    "a group": { product_group_type: "family" as const, product_group_key: examples.family },
    "the workspace": {},
  };
  const rankings = { "a month": { period: "month" as const }, "a year": { period: "year" as const } };
  const ofVendor = { vendor: examples.vendor };
  return [
    ...Object.entries(subjects).flatMap(([name, selector]): Question[] => [
      { name: `summary of ${name}`, ask: (call) => summary({ ...call, input: { ...ALL, ...selector } }) },
      {
        name: `timeseries of ${name}`,
        ask: (call) => timeseries({ ...call, input: { ...ALL, ...selector } }),
      },
      { name: `report of ${name}`, ask: (call) => report({ ...call, input: { ...REPORT, ...selector } }) },
    ]),
    ...Object.entries({ ...rankings, "a vendor": { period: "year" as const, ...ofVendor } }).map(
      ([name, input]): Question => ({
        name: `return-rate leaderboard of ${name}`,
        ask: (call) => returnRateLeaderboard({ ...call, input: { ...input, limit: ROWS } }),
      }),
    ),
    ...Object.entries({ "three years": {}, "a vendor": ofVendor }).map(([name, input]): Question => ({
      name: `return-cost leaderboard of ${name}`,
      ask: (call) => returnCostLeaderboard({ ...call, input: { ...ALL, ...input, limit: ROWS } }),
    })),
  ];
}
