import type { Connection } from "../store/database.ts";
import { planAsUsual, planForManyRows } from "../store/many-rows.ts";
import { replaceCohorts, replaceGroupDays } from "../store/queries/cohort-rollup.ts";
import { clearDirtyMonths, listDirtyMonths } from "../store/queries/dirty-month.ts";
import { putListings, removeUnsoldListings } from "../store/queries/listing.ts";
import { quarterOf, replaceSkuQuarter } from "../store/queries/sku-quarter.ts";
import { refreshAllUnmatched } from "../store/queries/unmatched-label.ts";

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
  await planForManyRows(connection);
  await putListings(connection, shopKey, months);
  for (const [quarter, monthsOfQuarter] of Map.groupBy(months, quarterOf)) {
    for (const month of monthsOfQuarter) {
      await replaceGroupDays(connection, shopKey, month);
      await replaceCohorts(connection, shopKey, month);
    }
    await replaceSkuQuarter(connection, shopKey, quarter);
  }
  await removeUnsoldListings(connection, shopKey);
  await planAsUsual(connection);
}
