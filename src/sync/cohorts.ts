import type { Connection } from "../store/database.ts";
import { replaceCohorts, replaceGroupDays } from "../store/queries/cohort-rollup.ts";
import { clearDirtyMonths, listDirtyMonths } from "../store/queries/dirty-month.ts";
import { putListings, removeUnsoldListings } from "../store/queries/listing.ts";
import { quarterOf, replaceSkuQuarter } from "../store/queries/sku-quarter.ts";
import { refreshAllUnmatched } from "../store/queries/unmatched-label.ts";

// The planner expects a few rows after each grouping, and from that a loop over all rows for each, or sorts where hashing
// takes a fraction; it has to see the values, since shops differ in size. The first setting has Citus tell the
// others to the node of the shop; to others it says nothing.
const PLANNED_FOR_MANY_ROWS = `set local citus.propagate_set_commands = 'local'; set local jit = off;
  set local work_mem = '64MB'; set local hash_mem_multiplier = 8; set local plan_cache_mode = force_custom_plan;
  set local enable_nestloop = off; set local enable_mergejoin = off; set local enable_sort = off`;
const PLANNED_AS_USUAL = `set local hash_mem_multiplier to default; set local plan_cache_mode to default;
  set local enable_nestloop to default; set local enable_mergejoin to default; set local enable_sort to default`;

/** Rolls up cohort months (first days, YYYY-MM-DD) from their facts, and brings the shop's unmatched labels up to date. */
export async function rebuildCohorts(
  connection: Connection,
  shopKey: number,
  months: readonly string[],
): Promise<void> {
  await rollUp(connection, shopKey, months);
  await refreshAllUnmatched(connection, shopKey);
  await clearDirtyMonths(connection, shopKey, months);
}

/** Rolls up the months whose facts changed; returns them as YYYY-MM-DD. */
export async function rebuildDirtyCohorts(connection: Connection, shopKey: number): Promise<string[]> {
  const months = await listDirtyMonths(connection, shopKey);
  await rollUp(connection, shopKey, months);
  await clearDirtyMonths(connection, shopKey, months);
  return months;
}

async function rollUp(connection: Connection, shopKey: number, months: readonly string[]): Promise<void> {
  if (months.length === 0) return;
  await connection.client.query(PLANNED_FOR_MANY_ROWS);
  await putListings(connection, shopKey, months);
  for (const [quarter, monthsOfQuarter] of Map.groupBy(months, quarterOf)) {
    for (const month of monthsOfQuarter) {
      await replaceCohorts(connection, shopKey, month);
      await replaceGroupDays(connection, shopKey, month);
    }
    await replaceSkuQuarter(connection, shopKey, quarter);
  }
  await removeUnsoldListings(connection, shopKey);
  await connection.client.query(PLANNED_AS_USUAL);
}
