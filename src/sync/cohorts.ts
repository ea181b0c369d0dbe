import type { Connection, Database } from "../store/database.ts";
import { raiseDataVersion } from "../store/queries/data-version.ts";
import { COHORT_WINDOWS } from "../store/queries/cohort-facts.ts";
import {
  clearDirtyMonths,
  listCohortMonths,
  listDirtyMonths,
  loadTouchedEntities,
  putMonthCohorts,
  putPrimaryCohorts,
  removeEmptyCohorts,
} from "../store/queries/cohort-rebuild.ts";
import type { ChangedCohort, TouchedEntities } from "../store/queries/cohort-rebuild.ts";
import { lockShop } from "../store/queries/import-stage.ts";
import { putListings, removeUnsoldListings } from "../store/queries/listing.ts";
import { setPrimaryWindow } from "../store/queries/publish.ts";
import { putSkuQuarters, quarterOf, removeEmptySkuQuarters } from "../store/queries/sku-quarter.ts";
import { refreshAllUnmatched } from "../store/queries/unmatched-label.ts";

/** From here on reading a whole quarter is faster than looking up its changed SKUs. */
const MANY_SKUS = 2000;
/** From here on making all rows of a month anew is hardly slower than those of the touched entities. */
const MOST_TOUCHED = 5000;

// What is cheapest depends on how a month's order ids lie among all, so the planner has to see them each time; and an
// estimate of one row where there are thousands must not end in a loop of all rows over all rows. Compiling these
// statements takes seconds. The first setting has Citus tell the others to the node of the shop; to others it says nothing.
const PLANNED_FOR_MANY_ROWS = `set local citus.propagate_set_commands = 'local'; set local jit = off;
  set local work_mem = '64MB'; set local hash_mem_multiplier = 8;
  set local plan_cache_mode = force_custom_plan; set local enable_nestloop = off`;
const PLANNED_AS_USUAL = `set local hash_mem_multiplier to default; set local plan_cache_mode to default;
  set local enable_nestloop to default`;

/**
 * Makes everything that is prepared from the facts of months (first days, YYYY-MM-DD) anew, and the shop's unmatched
 * labels.
 */
export async function rebuildCohorts(
  connection: Connection,
  shopKey: number,
  months: readonly string[],
): Promise<void> {
  await replaceCohorts(connection, shopKey, months, allOf(null));
  await refreshAllUnmatched(connection, shopKey);
  await clearDirtyMonths(connection, shopKey, months);
}

/**
 * Makes what is prepared from the months whose facts changed anew: of the SKUs and products that the run touched, or of
 * all, as it must be where months were marked before it. Returns those months as YYYY-MM-DD.
 */
export async function rebuildDirtyCohorts(
  connection: Connection,
  shopKey: number,
  entities: "touched" | "all",
): Promise<string[]> {
  const months = await listDirtyMonths(connection, shopKey);
  const touched = entities === "touched" ? await loadTouchedEntities(connection, MOST_TOUCHED) : null;
  await replaceCohorts(connection, shopKey, months, allOf(touched));
  await clearDirtyMonths(connection, shopKey, months);
  return months;
}

/**
 * M4: sets the primary window (1–365 days) and makes its cohort rows anew from those of the other windows, which have
 * to be right first; reads see the old ones until then. Returns the new data version.
 */
export async function rebuildPrimaryWindow(
  database: Database,
  shopKey: number,
  primaryWindowDays: number,
): Promise<number> {
  return database.transaction(async (connection) => {
    await lockShop(connection, shopKey);
    await setPrimaryWindow(connection, shopKey, primaryWindowDays);
    const dirtyMonths = await listDirtyMonths(connection, shopKey);
    if (dirtyMonths.length > 0) await rebuildCohorts(connection, shopKey, dirtyMonths);
    const months = await listCohortMonths(connection, shopKey);
    await replaceCohorts(connection, shopKey, months, {
      names: ["primary"],
      put: (_connection, _shopKey, month) => putPrimaryCohorts(connection, shopKey, month, primaryWindowDays),
    });
    return raiseDataVersion(connection, shopKey);
  });
}

/** The windows that are made anew, and what makes those of a month. */
type Windows = {
  names: readonly string[];
  put: (connection: Connection, shopKey: number, month: string) => Promise<ChangedCohort[]>;
};

function allOf(touched: TouchedEntities | null): Windows {
  return {
    names: COHORT_WINDOWS,
    put: (connection, shopKey, month) => putMonthCohorts(connection, shopKey, month, touched),
  };
}

async function replaceCohorts(
  connection: Connection,
  shopKey: number,
  months: readonly string[],
  { names, put }: Windows,
): Promise<void> {
  if (months.length === 0) return;
  await connection.client.query(PLANNED_FOR_MANY_ROWS);
  for (const [quarter, monthsOfQuarter] of Map.groupBy(months, quarterOf)) {
    const changedSkus = new Set<string>();
    let emptied = false;
    for (const month of monthsOfQuarter) {
      for (const row of await put(connection, shopKey, month)) {
        if (row.entity_kind === "sku") changedSkus.add(row.entity_key);
        emptied ||= row.sold_units === 0;
      }
    }
    const skus = changedSkus.size > MANY_SKUS ? null : [...changedSkus];
    if (changedSkus.size > 0) {
      await putListings(connection, shopKey, monthsOfQuarter);
      await putSkuQuarters(connection, shopKey, quarter, names, skus);
    }
    if (!emptied) continue;
    await removeEmptyCohorts(connection, shopKey, monthsOfQuarter);
    await removeEmptySkuQuarters(connection, shopKey, quarter, names);
    await removeUnsoldListings(connection, shopKey);
  }
  await connection.client.query(PLANNED_AS_USUAL);
}
