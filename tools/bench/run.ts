/**
 * Measures the service beside its floors and rivals: npm run bench [-- <row>… <options>]
 * Progress goes to stderr, the table to stdout. Everything happens on an embedded database of its own in the system's
 * folder for temporary files, and is removed afterwards.
 */
import { inspect, parseArgs } from "node:util";
import { formatTable } from "../../src/lib/table.ts";
import { measureBackfill } from "./backfill.ts";
import { measureConsole } from "./console.ts";
import { withContext } from "./context.ts";
import type { BenchContext } from "./context.ts";
import { measureImport } from "./import.ts";
import { measureQuestions } from "./questions.ts";
import { measureRebuild } from "./rebuild.ts";
import { measureCluster } from "./request/cluster.ts";
import { measureCrowd } from "./request/crowd.ts";
import { measureFairness } from "./request/fairness.ts";
import { measureLatency } from "./request/latency.ts";
import { measureMemory } from "./request/memory.ts";
import { measureSoak } from "./request/soak.ts";
import { measureThroughput } from "./request/throughput.ts";
import { measureToolCalls } from "./request/tool-call.ts";
import type { BenchRow } from "./measure.ts";

type Settings = { named: string[]; whaleLines: number; minutes: number };
type Measure = (context: BenchContext, minutes: number) => Promise<BenchRow[]>;

/** Rows of one group share a database; other groups get one that holds nothing else. */
const GROUPS: readonly Readonly<Record<string, Measure>>[] = [
  {
    throughput: measureThroughput,
    "tool-call": measureToolCalls,
    latency: measureLatency,
    console: measureConsole,
    memory: measureMemory,
  },
  { crowd: measureCrowd },
  { cluster: measureCluster },
  { fairness: measureFairness },
  { questions: measureQuestions, rebuild: measureRebuild },
  { import: measureImport },
  { backfill: measureBackfill },
  { soak: measureSoak },
];

const NAMES = GROUPS.flatMap((group) => Object.keys(group));
/** Only when they are named. */
const LONG = ["backfill", "cluster", "soak"];
/** A quarter of the whole whale, so that all rows take about half an hour. */
const WHALE_LINES = 1_500_000;
const SOAK_MINUTES = 10;
/** Three of them have settled, through which a line can be drawn that may miss them. */
const FEWEST_MINUTES = 4;
const USAGE = `npm run bench -- [row…] [--whale-lines <number>] [--minutes <number>]

  Rows: ${NAMES.join(", ")}; all but ${LONG.join(", ")} unless some are named, about half an hour.
  --whale-lines  order lines of the large store, at least 100000 (default ${WHALE_LINES}; 6000000 is the whole)
  --minutes      of the soak, at least ${FEWEST_MINUTES} (default ${SOAK_MINUTES})
  cluster needs BENCH_CITUS_URL, the coordinator of a Citus on this machine; BENCH_SERVER_URL is compared instead of the embedded server
`;

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(USAGE);
    return 0;
  }
  let settings: Settings;
  try {
    settings = readSettings(args);
  } catch {
    process.stderr.write(USAGE);
    return 2;
  }
  const { named, whaleLines, minutes } = settings;
  const isChosen = (name: string): boolean =>
    named.length > 0 ? named.includes(name) : !LONG.includes(name);
  const started = performance.now();
  const tell = (line: string): void => {
    const seconds = Math.round((performance.now() - started) / 1000);
    process.stderr.write(`${String(seconds).padStart(5)} s  ${line}\n`);
  };
  const rows: BenchRow[] = [];
  // What was measured before an interruption is not lost.
  process.once("exit", () => process.stdout.write(shownRows(rows)));
  let failures = 0;
  for (const group of GROUPS) {
    const chosen = Object.entries(group).filter(([name]) => isChosen(name));
    if (chosen.length === 0) continue;
    await withContext({ whaleLines: Math.floor(whaleLines), tell }, async (context) => {
      for (const [name, measure] of chosen) {
        try {
          tell(`Measuring ${name}.`);
          rows.push(...(await measure(context, minutes)));
        } catch (error) {
          failures += 1;
          tell(`${name} failed: ${inspect(error)}`);
        }
      }
    });
  }
  return failures > 0 ? 1 : 0;
}

/** Throws for what is not understood. */
function readSettings(args: string[]): Settings {
  const { values, positionals: named } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      "whale-lines": { type: "string", default: String(WHALE_LINES) },
      minutes: { type: "string", default: String(SOAK_MINUTES) },
    },
  });
  const whaleLines = Number(values["whale-lines"]);
  const minutes = Number(values.minutes);
  const isKnown = named.every((name) => NAMES.includes(name));
  if (!isKnown || !(whaleLines >= 100_000) || !(minutes >= FEWEST_MINUTES)) throw new Error(USAGE);
  return { named, whaleLines, minutes };
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
