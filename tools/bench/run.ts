/**
 * Measures the service against reference servers and DuckDB: npm run bench [-- <row>… <options>]
 * Progress goes to stderr, the table to stdout. Everything happens on a separate embedded database in the system's folder for
 * temporary files, and is removed afterwards.
 */
import { inspect, parseArgs } from "node:util";
import { formatTable } from "../../src/lib/table.ts";
import { withContext } from "./context.ts";
import type { BenchContext } from "./context.ts";
import { measureImport } from "./import.ts";
import { measureQuestions } from "./questions.ts";
import { measureRebuild } from "./rebuild.ts";
import { measureScale } from "./scale.ts";
import { measureCluster } from "./cluster.ts";
import { measureFairness } from "./fairness.ts";
import { measureFreshness } from "./freshness.ts";
import { measureThroughput } from "./throughput.ts";
import type { BenchRow } from "./measure.ts";

type Settings = {
  named: string[];
  whaleLines: number;
  workspaces: number[];
  minutes: number;
  orderEvery: number;
};
type Measure = (context: BenchContext, settings: Settings) => Promise<BenchRow[]>;

/** Rows of one group share a database; each group has its own. */
const GROUPS: readonly Readonly<Record<string, Measure>>[] = [
  { throughput: measureThroughput },
  { fairness: measureFairness },
  { questions: measureQuestions, rebuild: measureRebuild },
  { import: measureImport },
  { cluster: measureCluster },
  { scale: (context, { workspaces }) => measureScale(context, workspaces) },
  {
    freshness: (context, { workspaces: [workspaces = 1000], minutes, orderEvery }) =>
      measureFreshness(context, { workspaces, minutes, orderEvery }),
  },
];

const NAMES = GROUPS.flatMap((group) => Object.keys(group));
/** Rows that only run when they are named. */
const NAMED_ONLY = ["cluster", "scale", "freshness"];
const WHALE_LINES = 1_500_000;
const WORKSPACES = "1000,10000";
const USAGE = `npm run bench -- [row…] [--whale-lines <number>] [--workspaces <numbers>] [--minutes <number>] [--order-every <minutes>]

  Rows: ${NAMES.join(", ")}; without a name all but ${NAMED_ONLY.join(", ")}, about 20 minutes.
  --whale-lines  order lines of the large store, at least 100000 (default ${WHALE_LINES})
  --workspaces   of scale, in rising order (default ${WORKSPACES}; 100000 needs 40 GB of disk)
                 the first one: of freshness
  --minutes      simulated by freshness (default 120, in 30 minutes)
  --order-every  minutes between two orders of a shop with webhooks, of freshness (default 10)
  cluster needs BENCH_CITUS_URL, the coordinator of a Citus on this machine; BENCH_SERVER_URL is compared instead of the embedded server
`;

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(USAGE);
    return 0;
  }
  const settings = readSettings(args);
  if (settings === null) {
    process.stderr.write(USAGE);
    return 2;
  }
  const { named, whaleLines } = settings;
  const isChosen = (name: string): boolean =>
    named.length > 0 ? named.includes(name) : !NAMED_ONLY.includes(name);
  const started = performance.now();
  const tell = (line: string): void => {
    const seconds = Math.round((performance.now() - started) / 1000);
    process.stderr.write(`${String(seconds).padStart(5)} s  ${line}\n`);
  };
  const rows: BenchRow[] = [];
  // Rows measured before an interruption are printed, too.
  process.once("exit", () => process.stdout.write(shownRows(rows)));
  let failures = 0;
  for (const group of GROUPS) {
    const chosen = Object.entries(group).filter(([name]) => isChosen(name));
    if (chosen.length === 0) continue;
    await withContext({ whaleLines: Math.floor(whaleLines), tell }, async (context) => {
      for (const [name, measure] of chosen) {
        try {
          tell(`Measuring ${name}.`);
          rows.push(...(await measure(context, settings)));
        } catch (error) {
          failures += 1;
          tell(`${name} failed: ${inspect(error)}`);
        }
      }
    });
  }
  return failures > 0 ? 1 : 0;
}

/** null = invalid arguments. */
function readSettings(args: string[]): Settings | null {
  try {
    const { values, positionals: named } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        "whale-lines": { type: "string", default: String(WHALE_LINES) },
        workspaces: { type: "string", default: WORKSPACES },
        minutes: { type: "string", default: "120" },
        "order-every": { type: "string", default: "10" },
      },
    });
    const whaleLines = Number(values["whale-lines"]);
    const workspaces = values.workspaces.split(",").map(Number);
    const minutes = Number(values.minutes);
    const orderEvery = Number(values["order-every"]);
    const isKnown = named.every((name) => NAMES.includes(name)) && workspaces.every((count) => count >= 100);
    return isKnown && whaleLines >= 100_000 && minutes > 0 && orderEvery > 0
      ? { named, whaleLines, workspaces, minutes, orderEvery }
      : null;
  } catch {
    return null;
  }
}

function shownRows(rows: readonly BenchRow[]): string {
  const cells = rows.map(({ name, value, floor = "", ratio = "", target = "" }) => [
    name,
    value,
    floor,
    ratio,
    target,
  ]);
  return formatTable(["measured", "value", "floor", "ratio", "target"], cells);
}
