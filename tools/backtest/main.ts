/**
 * Replays stores day by day: npm run backtest [-- fit | [liability] <import folder>…] [--seed <first>]
 * Prints when early warnings (M17) would have been given, with the day of M16, how accurate outlooks (M18) and liabilities (M21) would
 * have been, and which misfits (M22) would have been named. Generated stores of M21 and M22 use `--seed` (1) and the numbers after it.
 */
import { OPERATOR } from "../../src/actions/actor.ts";
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { withContext } from "../bench/context.ts";
import type { BenchContext } from "../bench/context.ts";
import { writeDemoFolder } from "../../src/demo/demo-workspace.ts";
import { dayOfInstant, dayToText } from "../../src/lib/month.ts";
import { importFolder } from "../../src/sync/connectors/csv/import-folder.ts";
import { scoreFit, scoreLiability, scoreOutlooks } from "./scores.ts";
import { loadStoreLines } from "./store-lines.ts";
import type { StoreLine } from "./store-lines.ts";
import { BAD_SKUS, makeFitStore, makeMoneyStore, makeStore } from "./stores.ts";
import type { BadBatches } from "./stores.ts";
import { replayWarnings } from "./warnings.ts";
import { makeWorkspace } from "../../tests/support/workspace.ts";

const REAL_YEAR = resolve(import.meta.dirname, "../../../shared/data/online-retail");
const LAST_DEMO_DAY = "2026-11-22";
/** A base period needs 60 days that are 60 days old. */
const FIRST_JUDGED_DAYS = 120;
const WITHOUT_INCIDENTS_DAYS = 180;
const QUIET_SEEDS = [1, 3, 5];
const BATCH_DAYS = 75;
const BATCHES: readonly BadBatches[] = [
  { linesPerDay: 4, rate: 0.15, factor: 4 },
  { linesPerDay: 4, rate: 0.05, factor: 6 },
  { linesPerDay: 15, rate: 0.15, factor: 4 },
  { linesPerDay: 15, rate: 0.05, factor: 6 },
  { linesPerDay: 15, rate: 0.15, factor: 2 },
];

/** Stores of 200 returned units a month, two years each. */
const MONEY_STORES = 40;
const FIT_STORES = 40;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const printRow = (...cells: (string | number)[]): void => print(`| ${cells.join(" | ")} |`);
const tell = (line: string): void => void process.stderr.write(`${line}\n`);

const { values, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: "string", default: "1" } },
});
const firstSeed = Number(values.seed);
if (!Number.isSafeInteger(firstSeed) || firstSeed < 1)
  throw new RangeError(`--seed is a whole number from 1, not "${values.seed}"`);
const isLiabilityAlone = asked[0] === "liability";
const isFitAlone = asked[0] === "fit";
const folders = isLiabilityAlone || isFitAlone ? asked.slice(1) : asked;
if (folders.length === 0 && !isLiabilityAlone) printFit();
if (isFitAlone) process.exit(0);
if (folders.length === 0) scoreMoneyStores();
if (folders.length === 0 && !isLiabilityAlone) {
  replayMadeStores();
}
await withContext({ whaleLines: 0, tell }, async (context) => {
  for (const folder of folders.length > 0 ? folders : await ownFolders(context)) {
    const lines = await importedLines(context, folder);
    print(`\n## ${basename(folder)}: refunds still to come at month ends (M21)\n`);
    printLiability([lines]);
    if (!isLiabilityAlone) replayStore(basename(folder), lines);
  }
});

/** M22 of generated stores: planted misfits should be found, and at most one product-month in 1,000 should name one that is not there. */
function printFit(): void {
  tell("Looking for misfits in made-up stores.");
  const score = scoreFit(Array.from({ length: FIT_STORES }, (_, place) => makeFitStore(firstSeed + place)));
  print(`## ${FIT_STORES} made-up stores from seed ${firstSeed}: which sizes run small or large (M22)\n`);
  print(`- Products that fit: ${score.fittingMonths} product-months, ${score.invented} with a sentence.`);
  print(
    `- Sizes that fit of products that do not: ${score.fittingSizes} size-months, ${score.inventedSizes} named.\n`,
  );
  print("| Returns of the misfit's sizes in 12 months | Product-months | Found | Else marked as thin |");
  print("| --- | ---: | ---: | ---: |");
  for (const { least, months, found, marked } of score.misfits) {
    printRow(`${least} or more`, months, percent(found / months), percent(marked / months));
  }
  print("");
}

/** M21 of generated stores: intervals should contain 75 to 85 %, and errors should be half of "as last month". */
function scoreMoneyStores(): void {
  tell("Replaying month ends of made-up stores.");
  print(
    `## ${MONEY_STORES} made-up stores from seed ${firstSeed}: refunds still to come at month ends (M21)\n`,
  );
  printLiability(Array.from({ length: MONEY_STORES }, (_, place) => makeMoneyStore(firstSeed + place)));
}

function printLiability(stores: readonly (readonly StoreLine[])[]): void {
  print(
    "| Window | Month ends | Held by 80 % | Units held | Error ÷ as last month | Error ÷ what came | Bias |",
  );
  print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
  for (const windowDays of [30, 90]) {
    const score = scoreLiability(stores, windowDays);
    printRow(
      windowDays,
      score.monthEnds,
      percent(score.heldMoney / score.monthEnds),
      percent(score.heldUnits / score.monthEnds),
      (score.error / score.lastMonthError).toFixed(2),
      percent(score.error / score.truth),
      percent(score.signed / score.truth),
    );
  }
  print("");
}

/** The demo store, and a real year if there is one beside the project. */
async function ownFolders(context: BenchContext): Promise<string[]> {
  const demo = join(context.folder, "demo-store");
  await writeDemoFolder(demo, { today: LAST_DEMO_DAY, onProgress: () => {} });
  return [demo, ...(existsSync(join(REAL_YEAR, "order_lines.csv.gz")) ? [REAL_YEAR] : [])];
}

async function importedLines(context: BenchContext, folder: string): Promise<StoreLine[]> {
  const { database } = context.installation;
  const domain = `${basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/gu, "-")}.example.com`;
  const workspace = await makeWorkspace(database, domain, { currency: "USD", plan: "bench" });
  const now = new Date();
  tell(`Importing ${folder}.`);
  await importFolder({
    actor: OPERATOR,
    database,
    shopKey: workspace.shop_key,
    currencyCode: workspace.currency_code,
    folder,
    asOf: now,
    now,
    skipInvalid: true,
  });
  return loadStoreLines(database, workspace.shop_key);
}

function replayStore(name: string, lines: StoreLine[]): void {
  const firstDay = lines[0]?.ordered_day ?? dayOfInstant(Date.now());
  const lastDay = lines.reduce((last, line) => Math.max(last, line.ordered_day), firstDay);
  tell(`Replaying ${name}.`);
  const replay = replayWarnings(lines, { fromDay: firstDay + FIRST_JUDGED_DAYS, toDay: lastDay });
  print(
    `\n## ${name}: ${lines.length} lines, ${replay.days} days, ${Math.round(replay.entityMonths)} entity-months`,
  );
  print("\n| Warned (M17) | Spike (M16) | Entity | Days | Lines | Returned | Expected | p |");
  print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |");
  for (const warning of replay.announced) {
    const spike = warning.spikeDay === null ? "none" : dayToText(warning.spikeDay);
    const { windowDays, lines: sold, returnedLines, expectedLines, p } = warning;
    const entity = `${warning.kind} ${warning.key}`;
    const counts = [windowDays, sold, returnedLines, expectedLines.toFixed(2), p.toExponential(0)];
    printRow(dayToText(warning.asOfDay), spike, entity, ...counts);
  }
  print("\n| Outlook of | Window | Age | Months | Error ÷ as is | Held by 80 % | Held by 95 % |");
  print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
  for (const { scope, windowDays, ageDays, months, errorRatio, heldBy80, heldBy95 } of scoreOutlooks(lines)) {
    printRow(scope, windowDays, ageDays, months, errorRatio.toFixed(2), percent(heldBy80), percent(heldBy95));
  }
}

/** A store of 500 SKUs without incidents, and with bad batches. */
function replayMadeStores(): void {
  tell("Replaying made-up stores without incidents.");
  let falseWarnings = 0;
  let entityMonths = 0;
  for (const seed of QUIET_SEEDS) {
    const quiet = makeStore({ seed, days: WITHOUT_INCIDENTS_DAYS, batches: null });
    const replay = replayWarnings(quiet.lines, { fromDay: quiet.batchDay, toDay: quiet.lastDay });
    falseWarnings += replay.announced.length;
    entityMonths += replay.entityMonths;
  }
  print("## Made-up stores of 500 SKUs, without incidents");
  print(`\n${falseWarnings} false warnings in ${Math.round(entityMonths)} entity-months.`);
  print("\n## The same store, every tenth SKU with a bad batch\n");
  print(
    "| Lines a day | Rate | Times | Median days to the warning | 90 % within | Never in 75 days | False |",
  );
  print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
  for (const batches of BATCHES) {
    tell(`Replaying bad batches of ${batches.linesPerDay} lines a day, ${batches.rate} × ${batches.factor}.`);
    const store = makeStore({ seed: 2, days: BATCH_DAYS, batches });
    const replay = replayWarnings(store.lines, { fromDay: store.batchDay, toDay: store.lastDay });
    printBatch(batches, store.batchDay, replay.announced);
  }
}

type Announced = ReturnType<typeof replayWarnings>["announced"];

/** A batch counts as found on the day of the first warning about its SKU or an entity of which it is the largest part. */
function printBatch({ linesPerDay, rate, factor }: BadBatches, batchDay: number, announced: Announced): void {
  const namesOf = ({ kind, key, parts }: Announced[number]): string[] => [
    ...(kind === "sku" ? [key] : []),
    ...parts.filter((part) => part.kind === "sku").map((part) => part.key),
  ];
  const days = BAD_SKUS.map((sku) => announced.find((warning) => namesOf(warning).includes(sku))?.asOfDay)
    .map((day) => (day === undefined ? Infinity : day - batchDay))
    .toSorted((left, right) => left - right);
  const at = (part: number): string => {
    const day = days[Math.floor(days.length * part)] ?? Infinity;
    return day === Infinity ? "–" : String(day);
  };
  // Every group of this store contains a bad batch.
  const isTrue = (warning: Announced[number]): boolean =>
    warning.kind === "family" ||
    warning.kind === "analytics_category" ||
    namesOf(warning).some((sku) => BAD_SKUS.includes(sku));
  const never = days.filter((day) => day === Infinity).length;
  const falseWarnings = announced.filter((warning) => !isTrue(warning)).length;
  printRow(linesPerDay, percent(rate), factor, at(0.5), at(0.9), never, falseWarnings);
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
