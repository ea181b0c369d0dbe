import { isDeepStrictEqual } from "node:util";
import { join } from "node:path";
import { createAdmit } from "../../src/access/admit.ts";
import type { Answer } from "../../src/contract/endpoint.ts";
import type { ReportData } from "../../src/contract/report.ts";
import { report } from "../../src/endpoints/report.ts";
import { returnCostLeaderboard } from "../../src/endpoints/return-cost-leaderboard.ts";
import { returnRateLeaderboard } from "../../src/endpoints/return-rate-leaderboard.ts";
import { summary } from "../../src/endpoints/summary.ts";
import { timeseries } from "../../src/endpoints/timeseries.ts";
import type { Database, Queryable } from "../../src/store/database.ts";
import type { Workspace } from "../../src/store/workspace.ts";
import type { BenchContext } from "./context.ts";
import { openBenchDatabase } from "./context.ts";
import { shownNumber, shownTiming, spreadOf, timed } from "./measure.ts";
import type { BenchRow } from "./measure.ts";
import { linesOf, openDuckDb, SHARINGS, unmatchedLabels } from "./duckdb.ts";
import type { Months, Rival, Row, Sharing, Statements, Subject } from "./duckdb.ts";
import type { LoadedStore } from "./store.ts";

type Call = { database: Queryable; workspace: Workspace };

/** An endpoint with its input, the equivalent statements for DuckDB, and both answers in a comparable form. */
type Question = {
  name: string;
  ask: (call: Call) => Promise<Answer>;
  ownAnswer: (data: unknown) => unknown;
  statements: Statements;
  rivalAnswer: (results: readonly Row[][]) => unknown;
};

/**
 * Database time of the endpoints on the large store, compared with DuckDB in this process over the same facts. Throws if the
 * two answers differ.
 */
export async function measureQuestions(context: BenchContext): Promise<BenchRow[]> {
  const { installation, keys, tell } = context;
  const { database } = installation;
  const store = await context.whale();
  const [{ shopKey, token }] = store.workspaces;
  const reading = openBenchDatabase(installation.databaseUrl, { maxConnections: 1, readOnly: true });
  tell("Loading DuckDB.");
  const duckDb = await openDuckDb(database, shopKey, join(context.folder, "facts"));
  try {
    const admit = createAdmit({ database, pepper: keys.tokenPepper });
    const { workspace } = await admit(`Bearer ${token}`, { scope: null, entitlements: [], counted: false });
    const rows: BenchRow[] = [];
    for (const question of questionsOf(store)) {
      tell(`Asking ${question.name}.`);
      const own = () => askOwn(question, reading, workspace);
      const rival = await prepareRival(duckDb.ask, question, (await own()).answer);
      const ownMs: number[] = [];
      const rivalMs: number[] = [];
      // In turn, so that both have the same load of the machine. The first round is a warm-up.
      for (let round = 0; round <= ROUNDS; round += 1) {
        const tookMs = [(await own()).ms, await rival()] as const;
        if (round === 0) continue;
        ownMs.push(tookMs[0]);
        rivalMs.push(tookMs[1]);
      }
      const row = {
        name: `${question.name}, ${store.plan.lines.toLocaleString("en")} lines`,
        value: shownTiming(ownMs),
        floor: `DuckDB ${shownTiming(rivalMs)}`,
        ratio: `${shownNumber(spreadOf(rivalMs).median / spreadOf(ownMs).median)}×`,
        target: "faster",
      };
      tell(`${row.value}; ${row.floor}`);
      rows.push(row);
    }
    return rows;
  } finally {
    await reading.close();
    duckDb.close();
  }
}

/** Milliseconds that an endpoint waits for the database, and its answer. */
async function askOwn(
  { ask, ownAnswer }: Question,
  database: Database,
  workspace: Workspace,
): Promise<{ ms: number; answer: unknown }> {
  let ms = 0;
  const watched: Queryable = {
    rows: async <Found>(...statement: Parameters<Queryable["rows"]>) => {
      const startedMs = performance.now();
      const rows = await database.rows<Found>(...statement);
      ms += performance.now() - startedMs;
      return rows;
    },
  };
  const answer = await ask({ database: watched, workspace });
  if (answer.kind !== "json") throw new Error("the endpoint answered with a file");
  return { ms, answer: ownAnswer(answer.body.data) };
}

/** The statements in the form that is faster for DuckDB, by the minimum of three runs each. */
async function prepareRival(
  rival: Rival,
  { name, statements, rivalAnswer }: Question,
  own: unknown,
): Promise<() => Promise<number>> {
  const forms: { leastMs: number; run: () => Promise<number> }[] = [];
  for (const sharing of SHARINGS) {
    const texts = statements(sharing);
    const other = rivalAnswer(await rival(texts));
    if (!isDeepStrictEqual(own, other)) {
      const [ours, theirs] = [own, other].map((answer) => JSON.stringify(answer).slice(0, 2000));
      throw new Error(`${name}: DuckDB answers differently.\n${ours}\n${theirs}`);
    }
    const run = (): Promise<number> => timed(() => rival(texts));
    forms.push({ leastMs: Math.min(await run(), await run(), await run()), run });
  }
  const [first, second] = forms as [(typeof forms)[0], (typeof forms)[0]];
  return first.leastMs <= second.leastMs ? first.run : second.run;
}

const ROUNDS = 9;

// The as-of leaves the last month of the store incomplete for the primary window (M5).
const ALL = { start_month: "2023-01", end_month: "2025-11" };
const ALL_MONTHS = { from: "2023-01-01", to: "2025-12-01" };
const MONTH = { from: "2025-11-01", to: "2025-12-01" };
const YEAR = { from: "2024-12-01", to: "2025-12-01" };
// A report compares with as many months before: together almost all months.
const REPORT = { start_month: "2024-07", end_month: "2025-11" };
const REPORT_MONTHS = { from: "2024-07-01", to: "2025-12-01" };
const COMPARED_MONTHS = { from: "2023-02-01", to: "2025-12-01" };
const MIN_SOLD_UNITS = 20;
const ROWS = 50;

type Selector = {
  sku?: string;
  product_gid?: string;
  product_group_type?: "family";
  product_group_key?: string;
};
type Asked = { of: string; subject: Subject; selector: Selector };

function questionsOf({ examples: { sku, productGid, family, vendor } }: LoadedStore): Question[] {
  const everything: Subject = { kind: "workspace", key: "" };
  const subjects: Asked[] = [
    { of: "a SKU", subject: { kind: "sku", key: sku }, selector: { sku } },
    { of: "a product", subject: { kind: "product", key: productGid }, selector: { product_gid: productGid } },
    {
      of: "a group",
      subject: { kind: "family", key: family },
      selector: { product_group_type: "family", product_group_key: family },
    },
    { of: "the workspace", subject: everything, selector: {} },
  ];
  const ofVendor = { subject: { kind: "vendor", key: vendor } as const, input: { vendor } };
  const ofAll = { subject: everything, input: {} };
  return [
    ...subjects.map(totalQuestion),
    ...subjects.map(monthsQuestion),
    returnRateQuestion("a month", "month", ofAll),
    returnRateQuestion("a year", "year", ofAll),
    returnRateQuestion("a vendor", "year", ofVendor),
    returnCostQuestion("three years", ofAll),
    returnCostQuestion("a vendor", ofVendor),
    ...subjects.map(reportQuestion),
  ];
}

type Ranked = { subject: Subject; input: { vendor?: string } };
type OwnRow = {
  cohort_month: string;
  sku: string;
  sold_units: number;
  returned_units: number;
  total_refunded_amount: number;
  total_return_label_cost: number;
};

const ownRows = (data: unknown): OwnRow[] => (data as { rows: OwnRow[] }).rows;
const ownFigures = (row: OwnRow): number[] => [row.sold_units, row.returned_units];
const ownCosts = (row: OwnRow): number[] =>
  [row.total_refunded_amount, row.total_return_label_cost].map(cents);

/** M6: units sold and returned over all months. */
function totalQuestion({ of, subject, selector }: Asked): Question {
  return {
    name: `summary of ${of}`,
    ask: (call) => summary({ ...call, input: { ...ALL, ...selector } }),
    ownAnswer: (data) => ownFigures(data as OwnRow),
    statements: (sharing) => [
      `${linesOf(sharing, subject, ALL_MONTHS)}
       select (select sum(sold_units) from line) as sold_units,
              (select sum(units) from returned where ${IN_WINDOW}) as returned_units`,
    ],
    rivalAnswer: ([[row = {}] = []]) => figuresOf(row, RETURNED),
  };
}

/** The same by cohort month. */
function monthsQuestion({ of, subject, selector }: Asked): Question {
  return {
    name: `timeseries of ${of}`,
    ask: (call) => timeseries({ ...call, input: { ...ALL, ...selector } }),
    ownAnswer: (data) =>
      ownRows(data)
        .filter((row) => row.sold_units > 0)
        .map((row) => [monthOf(row.cohort_month), ...ownFigures(row)]),
    statements: (sharing) => [
      `${linesOf(sharing, subject, ALL_MONTHS)} ${sumsBy("month", RETURNED)} order by month`,
    ],
    rivalAnswer: ([rows = []]) => rows.map((row) => [monthOf(row["month"]), ...figuresOf(row, RETURNED)]),
  };
}

/** M12. */
function returnRateQuestion(of: string, period: "month" | "year", { subject, input }: Ranked): Question {
  return {
    name: `return-rate leaderboard of ${of}`,
    ask: (call) => returnRateLeaderboard({ ...call, input: { period, limit: ROWS, ...input } }),
    ownAnswer: (data) => ownRows(data).map((row) => [row.sku, ...ownFigures(row)]),
    statements: (sharing) => [
      `${linesOf(sharing, subject, period === "month" ? MONTH : YEAR)} ${sumsBy("sku", RETURNED)}
       having sum(sold_units) >= ${MIN_SOLD_UNITS}
        order by sum(returned_units)::float8 / sum(sold_units) desc, sum(returned_units) desc, sum(sold_units) desc, sku
        limit ${ROWS}`,
    ],
    rivalAnswer: ([rows = []]) => rows.map((row) => [row["sku"], ...figuresOf(row, RETURNED)]),
  };
}

/** M13. */
function returnCostQuestion(of: string, { subject, input }: Ranked): Question {
  return {
    name: `return-cost leaderboard of ${of}`,
    ask: (call) => returnCostLeaderboard({ ...call, input: { ...ALL, limit: ROWS, ...input } }),
    ownAnswer: (data) => ownRows(data).map((row) => [row.sku, ...ownFigures(row), ...ownCosts(row)]),
    statements: (sharing) => [
      `${linesOf(sharing, subject, ALL_MONTHS)} ${sumsBy("sku", [...RETURNED, ...COSTS, "restocked_cost_minor"])}
       having sum(refund_minor) + sum(label_minor) > 0
        order by sum(refund_minor) + sum(label_minor) desc, sku limit ${ROWS}`,
    ],
    rivalAnswer: ([rows = []]) => rows.map((row) => [row["sku"], ...figuresOf(row, [...RETURNED, ...COSTS])]),
  };
}

/** The whole report: a statement for each part; only the whole workspace has labels of no line (M10). */
function reportQuestion({ of, subject, selector }: Asked): Question {
  const lines = (sharing: Sharing, months: Months = REPORT_MONTHS): string =>
    linesOf(sharing, subject, months);
  const returnedBy = (key: string): string =>
    `select ${key}, sum(units) as units from returned where ${IN_WINDOW} group by ${key}`;
  return {
    name: `report of ${of}`,
    ask: (call) => report({ ...call, input: { ...REPORT, ...selector } }),
    ownAnswer: (data) => ownReport(data as Required<ReportData>),
    statements: (sharing) => [
      `${lines(sharing, COMPARED_MONTHS)} ${sumsBy("month", [...TREND, "restocked_cost_minor"])} order by month`,
      `${lines(sharing)} ${returnedBy("reason")}`,
      `${lines(sharing)} ${returnedBy("lag_days")}`,
      `${lines(sharing)} select status, sum(units) as units from requested group by status`,
      `${lines(sharing)} ${MISMATCH}`,
      ...(subject.kind === "workspace" ? [unmatchedLabels(REPORT_MONTHS)] : []),
    ],
    rivalAnswer: rivalReport,
  };
}

const WINDOW_DAYS = 30;
const IN_WINDOW = `lag_days <= ${WINDOW_DAYS}`;

/** The part of a rival's lines that a figure adds up, and its column there. */
const FIGURES = {
  sold_units: ["line", "sold_units"],
  returned_units: ["returned", "units"],
  refunded_units: ["refunded", "units"],
  refund_minor: ["refunded", "refund_minor"],
  label_minor: ["labeled", "label_minor"],
  restocked_cost_minor: ["refunded", "restocked_cost_minor"],
} as const;
type Figure = keyof typeof FIGURES;

const RETURNED: Figure[] = ["sold_units", "returned_units"];
const COSTS: Figure[] = ["refund_minor", "label_minor"];
const TREND: Figure[] = [...RETURNED, "refunded_units", ...COSTS];

/** A select of figures by month or SKU, up to its `group by`. */
function sumsBy(key: "month" | "sku", figures: readonly Figure[]): string {
  const parts = [...new Set(figures.map((figure) => FIGURES[figure][0]))].map((part) => {
    const sums = figures.map((figure) => {
      const [from, column] = FIGURES[figure];
      return `${from === part ? `sum(${column})` : "0"} as ${figure}`;
    });
    const condition = part === "line" ? "" : `where ${IN_WINDOW}`;
    return `select ${key}, ${sums.join(", ")} from ${part} ${condition} group by ${key}`;
  });
  const sums = figures.map((figure) => `sum(${figure}) as ${figure}`);
  return `select ${key}, ${sums.join(", ")} from (${parts.join(" union all ")}) m group by ${key}`;
}

const MISMATCH = `
  select sum(greatest(0, m.returned_units - m.refunded_units)) as returned_not_refunded,
         sum(greatest(0, m.refunded_units - m.returned_units)) as refunded_not_returned,
         sum(case when b.line_id is null then 0 else m.returned_units end) as with_label
    from (select line_id, sum(returned_units) as returned_units, sum(refunded_units) as refunded_units
            from (select line_id, units as returned_units, 0 as refunded_units from returned where ${IN_WINDOW}
                  union all
                  select line_id, 0, units from refunded where ${IN_WINDOW}) e
           group by line_id) m
    left join (select distinct line_id from labeled where ${IN_WINDOW}) b on b.line_id = m.line_id`;

/** The figures that are compared; a lag stands for its bucket. */
function ownReport(data: Required<ReportData>): object {
  const { lifecycle_coverage: lifecycle, refunds, comparison, costs } = data;
  const buckets = data.timing_buckets.filter((row) => row.returned_units > 0);
  return {
    trend: data.trend.map((row) => [
      monthOf(row.cohort_month),
      row.sold_units,
      row.returned_units,
      row.refunded_units,
      cents(row.refunded_amount),
      cents(row.return_label_cost),
    ]),
    compared: [comparison?.sold_units ?? 0, comparison?.returned_units ?? 0],
    reasons: Object.fromEntries(data.return_reasons.map((row) => [row.reason, row.returned_units])),
    byLag: Object.fromEntries(buckets.map((row) => [row.bucket, row.returned_units])),
    requests: {
      CANCELED: lifecycle.canceled_units,
      CLOSED: lifecycle.closed_units,
      DECLINED: lifecycle.declined_units,
      OPEN: lifecycle.open_units,
      REQUESTED: lifecycle.requested_units,
    },
    mismatch: [refunds.returned_not_refunded_units, refunds.refunded_not_returned_units],
    withLabel: Math.round((lifecycle.share_with_label ?? 0) * data.summary.returned_units),
    unmatchedMinor: cents(costs.unmatched_label_cost ?? 0),
  };
}

function rivalReport(results: readonly Row[][]): object {
  const [months = [], reasons = [], lags = [], requests = [], [mismatch = {}] = [], [unmatched = {}] = []] =
    results;
  const isCompared = (row: Row): boolean => monthOf(row["month"]) < REPORT.start_month;
  const before = months.filter(isCompared).map((row) => figuresOf(row, RETURNED));
  const sum = (index: number): number => before.reduce((total, figures) => total + (figures[index] ?? 0), 0);
  return {
    trend: months
      .filter((row) => !isCompared(row))
      .map((row) => [monthOf(row["month"]), ...figuresOf(row, TREND)]),
    compared: [sum(0), sum(1)],
    reasons: totalsBy(reasons, (row) => String(row["reason"])),
    byLag: totalsBy(lags, (row) => bucketOf(Number(row["lag_days"]))),
    requests: totalsBy(requests, (row) => String(row["status"])),
    mismatch: figuresOf(mismatch, ["returned_not_refunded", "refunded_not_returned"]),
    withLabel: Number(mismatch["with_label"]),
    unmatchedMinor: Number(unmatched["label_minor"] ?? 0),
  };
}

function totalsBy(rows: readonly Row[], keyOf: (row: Row) => string): Record<string, number> {
  const totals: Record<string, number> = {};
  for (const row of rows) totals[keyOf(row)] = (totals[keyOf(row)] ?? 0) + Number(row["units"]);
  return totals;
}

function figuresOf(row: Row, figures: readonly string[]): number[] {
  return figures.map((figure) => Number(row[figure]));
}

function bucketOf(lagDays: number): string {
  if (lagDays <= 7) return "0-7";
  return lagDays <= 14 ? "8-14" : "15-30";
}

/** YYYY-MM of a date as a driver returns it. */
function monthOf(value: unknown): string {
  return String(value).slice(0, 7);
}

function cents(amount: number): number {
  return Math.round(amount * 100);
}
