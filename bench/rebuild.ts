import { createAdmit } from "../src/admission/admit.ts";
import { summary } from "../src/endpoints/summary.ts";
import type { Database } from "../src/store/database.ts";
import type { Workspace } from "../src/store/workspace.ts";
import { TOUCH_ENTITIES_OF_LINE } from "../src/store/queries/facts.ts";
import { createStage } from "../src/store/queries/import-stage.ts";
import { rebuildDirtyCohorts, rebuildPrimaryWindow } from "../src/sync/cohorts.ts";
import type { BenchContext } from "./context.ts";
import { shownNumber, shownTiming, timed, timingOf } from "./measure.ts";
import { openPool } from "./pool.ts";
import { admittedWorkspace } from "./rivals/own.ts";
import { AS_OF } from "./stores/store-plan.ts";
import type { BenchRow } from "./table.ts";

const DIRTY_MONTHS = ["2023-05-01", "2024-02-01", "2024-09-01", "2025-06-01", "2025-11-01"];
/** One line in so many: what a sync of a busy hour brings, and a day's. */
const CHANGED_SHARES = [1000, 50];
const WINDOWS_DAYS = [60, 14, 75, 365, 30];

/** Making prepared answers of the whale anew: one month whose facts changed, and the primary window of all months. */
export async function measureRebuild(context: BenchContext): Promise<BenchRow[]> {
  const store = await context.whale();
  const [{ shopKey, token }] = store.workspaces;
  const { database, keys, databaseUrl } = context.installation;
  const size = `${store.plan.lines.toLocaleString("en")} lines`;
  const months: BenchRow[] = [];
  for (const changedShare of CHANGED_SHARES) {
    const tookMs: number[] = [];
    for (const month of DIRTY_MONTHS) {
      context.tell(`Rebuilding ${month.slice(0, 7)}, one line in ${changedShare} changed.`);
      for (const units of [1, -1] as const) {
        tookMs.push(await rebuildMonth(database, shopKey, { month, changedShare, units }));
      }
    }
    months.push({
      name: `rebuild of one dirty month, one line in ${changedShare.toLocaleString("en")} changed, ${size}`,
      value: shownTiming(timingOf(tookMs)),
      floor: "",
      ratio: "",
      target: "≤ 2 s",
    });
  }

  const reading = openPool(databaseUrl, { readOnly: true });
  try {
    const admit = createAdmit({ database, pepper: keys.tokenPepper });
    const workspace = await admittedWorkspace(admit, token);
    const aloneMs: number[] = [];
    const changesMs: number[] = [];
    const readsMs: number[] = [];
    for (const days of WINDOWS_DAYS) {
      context.tell(`Changing the primary window to ${days} days.`);
      aloneMs.push(...(await readSome(reading, workspace)));
      const { tookMs, meanwhileMs } = await changeWindow(database, reading, workspace, days);
      changesMs.push(tookMs);
      readsMs.push(...meanwhileMs);
    }
    const alone = timingOf(aloneMs);
    return [
      ...months,
      {
        name: `change of the primary window, ${size}`,
        value: shownTiming(timingOf(changesMs)),
        floor: "",
        ratio: "",
        target: "≤ 30 s",
      },
      {
        name: "reads of the old version meanwhile",
        value: `${shownTiming(timingOf(readsMs))}, ${readsMs.length} reads`,
        floor: `${shownTiming(alone)} without a rebuild`,
        ratio: `${shownNumber(timingOf(readsMs).medianMs / alone.medianMs)}×`,
        target: "each of one version",
      },
    ];
  } finally {
    await reading.close();
  }
}

/** Changes a share of a month's lines by a unit, and times what makes its prepared rows right again. */
async function rebuildMonth(
  database: Database,
  shopKey: number,
  { month, changedShare, units }: { month: string; changedShare: number; units: 1 | -1 },
): Promise<number> {
  await database.transaction(async ({ client }) => {
    await client.query(CHANGE_LINES, [shopKey, month, units, changedShare]);
    await client.query("insert into dirty_cohort (shop_key, cohort_month) values ($1, $2)", [shopKey, month]);
  });
  return timed(() =>
    database.transaction(async (connection) => {
      await createStage(connection);
      await connection.client.query(TOUCH_CHANGED, [shopKey, month, changedShare]);
      await rebuildDirtyCohorts(connection, shopKey, "touched");
    }),
  );
}

const CHANGE_LINES = `
  update order_line set sold_units = sold_units + $3
   where shop_key = $1 and cohort_month = $2 and hashtext(line_id) % $4 = 0 and sold_units > 0`;

/** As a run notes it while it changes lines. */
const TOUCH_CHANGED = `
  with line as (
    select sku, product_gid from order_line
     where shop_key = $1 and cohort_month = $2 and hashtext(line_id) % $3 = 0
  ), ${TOUCH_ENTITIES_OF_LINE}
  select from line`;

const READS = 200;

async function readSome(reading: Database, workspace: Workspace): Promise<number[]> {
  const tookMs: number[] = [];
  for (let read = 0; read < READS; read += 1) {
    tookMs.push(await timed(() => returnedUnits(reading, workspace)));
  }
  return tookMs;
}

/** Changes the window while reads go on; fails when a read is neither of the old version nor of the new one. */
async function changeWindow(
  database: Database,
  reading: Database,
  workspace: Workspace,
  days: number,
): Promise<{ tookMs: number; meanwhileMs: number[] }> {
  const before = await returnedUnits(reading, workspace);
  const progress = { isDone: false };
  const change = timed(() => rebuildPrimaryWindow(database, workspace.shopKey, days)).finally(() => {
    progress.isDone = true;
  });
  // It is awaited below; until then a failure must not count as unhandled.
  change.catch(() => {});
  const meanwhileMs: number[] = [];
  const seen = new Set<number>();
  while (!progress.isDone) {
    meanwhileMs.push(await timed(async () => seen.add(await returnedUnits(reading, workspace))));
    await new Promise((done) => setTimeout(done, 5));
  }
  const tookMs = await change;
  const after = await returnedUnits(reading, workspace);
  const strange = [...seen].filter((units) => units !== before && units !== after);
  if (strange.length > 0 || before === after) {
    throw new Error(`reads saw ${[...seen].join(", ")} between ${before} and ${after}`);
  }
  return { tookMs, meanwhileMs };
}

/** Asked with incomplete months: the same ones whatever the window. */
async function returnedUnits(reading: Database, workspace: Workspace): Promise<number> {
  const input = { start_month: "2023-01", end_month: "2025-12", include_incomplete: true };
  const answer = await summary(reading, { workspace, input, now: AS_OF });
  if (answer.kind !== "json") throw new Error("the summary answered with a file");
  return (answer.body.data as { returned_units: number }).returned_units;
}
