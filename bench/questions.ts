import { isDeepStrictEqual } from "node:util";
import { join } from "node:path";
import { createAdmit } from "../src/admission/admit.ts";
import type { BenchContext } from "./context.ts";
import { openPool } from "./pool.ts";
import { alternate, shownNumber, shownTiming, timed } from "./measure.ts";
import { openColumnar } from "./rivals/columnar.ts";
import { askNormalized, loadNormalized } from "./rivals/normalized.ts";
import {
  admittedWorkspace,
  askOwn,
  ownMonths,
  ownReport,
  ownReturnCost,
  ownReturnRate,
  ownTotal,
} from "./rivals/own.ts";
import type { OwnQuestion } from "./rivals/own.ts";
import {
  monthsQuestion,
  reportQuestion,
  returnCostQuestion,
  returnRateQuestion,
  SHARINGS,
  totalQuestion,
} from "./rivals/question.ts";
import type { Question, Row, Sharing, Subject } from "./rivals/question.ts";
import type { LoadedStore } from "./stores/load-store.ts";
import type { BenchRow } from "./table.ts";

/**
 * Database time of the endpoints on the whale, beside SQL over normalised tables in the same PostgreSQL and beside
 * DuckDB in this process. Refuses to show a row whose three answers differ.
 */
export async function measureQuestions(context: BenchContext): Promise<BenchRow[]> {
  const { installation, keys, tell } = context;
  const store = await context.whale();
  const [{ shopKey, token }] = store.workspaces;
  tell("Loading the rivals: normalised tables, DuckDB.");
  await loadNormalized(installation.database, shopKey);
  const columnar = await openColumnar(installation.database, shopKey, join(context.folder, "facts"));
  const reading = openPool(installation.databaseUrl, { readOnly: true });
  const plain = openPool(installation.databaseUrl, { readOnly: false });
  try {
    const admit = createAdmit({ database: installation.database, pepper: keys.tokenPepper });
    const workspace = await admittedWorkspace(admit, token);
    const rows: BenchRow[] = [];
    for (const { own, question } of questionsOf(store)) {
      tell(`Asking ${question.name}.`);
      const mine = (await askOwn(own, reading, workspace)).answer;
      const askSql: Ask = (sharing) => askNormalized(plain, question, sharing);
      const askDuckDb: Ask = (sharing) => columnar.ask(question, sharing);
      for (const sharing of SHARINGS) {
        requireSame(question.name, mine, question.answerOf(await askSql(sharing)), "the SQL");
        requireSame(question.name, mine, question.answerOf(await askDuckDb(sharing)), "DuckDB");
      }
      const [ofSql, ofDuckDb] = [await fasterWay(askSql), await fasterWay(askDuckDb)];
      const timings = await alternate({
        own: async () => (await askOwn(own, reading, workspace)).ms,
        normalized: () => timed(() => askSql(ofSql)),
        columnar: () => timed(() => askDuckDb(ofDuckDb)),
      });
      const factor = (ms: number): string => `${shownNumber(ms / timings.own.medianMs)}×`;
      const row = {
        name: `${question.name}, ${store.plan.lines.toLocaleString("en")} lines`,
        value: shownTiming(timings.own),
        floor: `SQL ${shownTiming(timings.normalized)}; DuckDB ${shownTiming(timings.columnar)}`,
        ratio: `SQL ${factor(timings.normalized.medianMs)}; DuckDB ${factor(timings.columnar.medianMs)}`,
        target: "faster than both",
      };
      tell(`${row.value}; ${row.floor}`);
      rows.push(row);
    }
    return rows;
  } finally {
    await Promise.all([reading.close(), plain.close()]);
    columnar.close();
  }
}

type Ask = (sharing: Sharing) => Promise<Row[][]>;

const SLOW_MS = 1000;

/** Each rival answers in the way that is faster for it: the least of three times each, slow ones of one. */
async function fasterWay(askRival: Ask): Promise<Sharing> {
  const leastMs = new Map<Sharing, number>();
  for (let round = 0; round < 3 && Math.max(0, ...leastMs.values()) < SLOW_MS; round += 1) {
    for (const sharing of SHARINGS) {
      const tookMs = await timed(() => askRival(sharing));
      leastMs.set(sharing, Math.min(tookMs, leastMs.get(sharing) ?? Infinity));
    }
  }
  return SHARINGS.toSorted((left, right) => (leastMs.get(left) ?? 0) - (leastMs.get(right) ?? 0))[0] ?? "as";
}

function requireSame(name: string, own: unknown, other: unknown, whose: string): void {
  if (isDeepStrictEqual(own, other)) return;
  throw new Error(
    `${name}: ${whose} answers differently.\n${JSON.stringify(own).slice(0, 2000)}\n${JSON.stringify(other).slice(0, 2000)}`,
  );
}

// The as-of leaves the last month of the store incomplete for the primary window (M5).
const ALL_MONTHS = { from: "2023-01-01", to: "2025-12-01" };
const ALL = { start_month: "2023-01", end_month: "2025-11" };
const MONTH = { from: "2025-11-01", to: "2025-12-01" };
const YEAR = { from: "2024-12-01", to: "2025-12-01" };
// A report compares with as many months before: together almost all there are.
const REPORT_MONTHS = {
  all: { from: "2023-02-01", to: "2025-12-01" },
  counted: { from: "2024-07-01", to: "2025-12-01" },
};
const REPORT = { start_month: "2024-07", end_month: "2025-11" };
const MIN_SOLD_UNITS = 20;

function questionsOf({ examples }: LoadedStore): { own: OwnQuestion; question: Question }[] {
  const subjects: [string, Subject][] = [
    ["a SKU", { kind: "sku", key: examples.sku }],
    ["a product", { kind: "product", key: examples.productGid }],
    ["a group", { kind: "family", key: examples.family }],
    ["the workspace", { kind: "workspace" }],
  ];
  const vendor: Subject = { kind: "vendor", key: examples.vendor };
  const everything: Subject = { kind: "workspace" };
  return [
    ...subjects.map(([name, subject]) => ({
      own: ownTotal(subject, ALL),
      question: totalQuestion(`summary of ${name}`, subject, ALL_MONTHS),
    })),
    ...subjects.map(([name, subject]) => ({
      own: ownMonths(subject, ALL),
      question: monthsQuestion(`timeseries of ${name}`, subject, ALL_MONTHS),
    })),
    {
      own: ownReturnRate("month", undefined),
      question: returnRateQuestion("return-rate leaderboard of a month", everything, MONTH, MIN_SOLD_UNITS),
    },
    {
      own: ownReturnRate("year", undefined),
      question: returnRateQuestion("return-rate leaderboard of a year", everything, YEAR, MIN_SOLD_UNITS),
    },
    {
      own: ownReturnRate("year", examples.vendor),
      question: returnRateQuestion("return-rate leaderboard of a vendor", vendor, YEAR, MIN_SOLD_UNITS),
    },
    {
      own: ownReturnCost(undefined, ALL),
      question: returnCostQuestion("return-cost leaderboard of three years", everything, ALL_MONTHS),
    },
    {
      own: ownReturnCost(examples.vendor, ALL),
      question: returnCostQuestion("return-cost leaderboard of a vendor", vendor, ALL_MONTHS),
    },
    ...subjects.map(([name, subject]) => ({
      own: ownReport(subject, REPORT),
      question: reportQuestion(`report of ${name}`, subject, REPORT_MONTHS),
    })),
  ];
}
