import type { Database } from "../../src/store/database.ts";
import { listCohortMonths } from "../../src/store/queries/dirty-month.ts";
import { planForRun } from "../../src/store/query.ts";
import { setPrimaryWindow } from "../../src/store/queries/publish.ts";
import { rebuildCohorts, rebuildDirtyCohorts } from "../../src/sync/apply.ts";
import type { BenchContext } from "./context.ts";
import { shownTiming, timed } from "./measure.ts";
import type { BenchRow } from "./measure.ts";

const DIRTY_MONTHS = ["2023-05-01", "2024-02-01", "2024-09-01", "2025-06-01", "2025-11-01"];
/** One line in this many changes: as in a sync of a busy hour, and of a day. */
const CHANGED_SHARES = [1000, 50];
const WINDOWS_DAYS = [60, 14, 75, 365, 30];

/** Rolling up the large store: all months, one month with changed facts; and a change of the primary window. */
export async function measureRebuild(context: BenchContext): Promise<BenchRow[]> {
  const store = await context.whale();
  const [{ shopKey }] = store.workspaces;
  const { database } = context.installation;
  const size = `${store.plan.lines.toLocaleString("en")} lines`;
  const row = (name: string, tookMs: readonly number[], target: string): BenchRow => ({
    name: `${name}, ${size}`,
    value: shownTiming(tookMs),
    target,
  });
  context.tell("Rolling up all months.");
  const rows = [row("rebuild of all months", [await timed(() => rebuildAll(database, shopKey))], "")];
  for (const changedShare of CHANGED_SHARES) {
    const tookMs: number[] = [];
    for (const month of DIRTY_MONTHS) {
      context.tell(`Rolling up ${month.slice(0, 7)}, one line in ${changedShare} changed.`);
      for (const units of [1, -1] as const) {
        tookMs.push(await rebuildMonth(database, shopKey, { month, changedShare, units }));
      }
    }
    const changed = `one line in ${changedShare.toLocaleString("en")} changed`;
    rows.push(row(`rebuild of one dirty month, ${changed}`, tookMs, "≤ 2 s"));
  }
  const windowMs: number[] = [];
  for (const days of WINDOWS_DAYS) {
    windowMs.push(
      await timed(() => database.transaction((connection) => setPrimaryWindow(connection, shopKey, days))),
    );
  }
  return [...rows, row("change of the primary window", windowMs, "one update")];
}

function rebuildAll(database: Database, shopKey: number): Promise<void> {
  return database.transaction(async (connection) => {
    await planForRun(connection, "large");
    await rebuildCohorts(connection, shopKey, await listCohortMonths(connection, shopKey));
  });
}

/** Changes a share of a month's lines by a unit, and times its rollup. */
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
      await planForRun(connection, "small");
      await rebuildDirtyCohorts(connection, shopKey);
    }),
  );
}

const CHANGE_LINES = `
  update order_line set sold_units = sold_units + $3
   where shop_key = $1 and cohort_month = $2 and hashtext(line_id) % $4 = 0 and sold_units > 0`;
