import type { Connection, Database } from "../store/database.ts";
import {
  clearDirtyMonths,
  insertCohorts,
  listCohortMonths,
  listDirtyMonths,
  removeCohorts,
} from "../store/queries/cohort-rebuild.ts";
import { lockShop } from "../store/queries/import-stage.ts";
import { raiseVersion, setPrimaryWindow } from "../store/queries/publish.ts";

const WINDOWS = ["30d", "90d", "primary", "lifetime"];

/** Makes the cohort rows of months (first days, YYYY-MM-DD) anew from the facts. */
export async function rebuildCohorts(
  connection: Connection,
  shopKey: number,
  months: readonly string[],
): Promise<void> {
  await replaceCohorts(connection, shopKey, months, WINDOWS);
}

/** Makes the cohort rows of all months whose facts changed anew; returns those months as YYYY-MM-DD. */
export async function rebuildDirtyCohorts(connection: Connection, shopKey: number): Promise<string[]> {
  const months = await listDirtyMonths(connection, shopKey);
  await rebuildCohorts(connection, shopKey, months);
  await clearDirtyMonths(connection, shopKey);
  return months;
}

/**
 * M4: sets the primary window (1–365 days) and makes its cohort rows anew; reads see the old ones until then.
 * Returns the new data version.
 */
export async function rebuildPrimaryWindow(
  database: Database,
  shopKey: number,
  primaryWindowDays: number,
): Promise<number> {
  return database.transaction(async (connection) => {
    await lockShop(connection, shopKey);
    await setPrimaryWindow(connection, shopKey, primaryWindowDays);
    const months = await listCohortMonths(connection, shopKey);
    await replaceCohorts(connection, shopKey, months, ["primary"]);
    return raiseVersion(connection, shopKey);
  });
}

async function replaceCohorts(
  connection: Connection,
  shopKey: number,
  months: readonly string[],
  windows: readonly string[],
): Promise<void> {
  if (months.length === 0) return;
  await connection.client.query("set local work_mem = '64MB'");
  await removeCohorts(connection, shopKey, months, windows);
  await insertCohorts(connection, shopKey, months, windows);
}
