import { isDeepStrictEqual } from "node:util";
import { dayFromText, monthOfDate, monthToDate, monthToText } from "../lib/month.ts";
import { latestCompleteMonth } from "../metrics/completeness.ts";
import { projectOrder } from "../metrics/classify.ts";
import type { OrderDocument } from "../metrics/order.ts";
import type { Connection, Database } from "../store/database.ts";
import { planAsUsual, planForManyRows, planForRun, sizeOfMonths } from "../store/query.ts";
import { addMonth, changeMonth, listHeldMonths } from "../store/queries/cohort-rollup.ts";
import {
  clearDirtyMonths,
  listCohortMonths,
  listDirtyMonths,
  markMonths,
} from "../store/queries/dirty-month.ts";
import { resolveLinesAgain } from "../store/queries/facts.ts";
import { dropUnusableImages, lockWorkspace } from "../store/queries/import-stage.ts";
import { refreshAllUnmatched } from "../store/queries/label-write.ts";
import { putListings, removeUnsoldListings } from "../store/queries/listing.ts";
import { followOrderRules } from "../store/queries/order-rules.ts";
import { findCurrency, raiseDataVersion } from "../store/queries/publish.ts";
import {
  quarterOf,
  replaceSkuQuarter,
  listYearsOfWindows,
  loadYearState,
  removeOtherYears,
  replaceSkuYear,
  type ChangedSkus,
} from "../store/queries/sku-rollup.ts";
import { deriveCatalogue, putCatalogue } from "./catalogue.ts";
import { addAll, addPlaces, newChangedKeys } from "./changed-keys.ts";
import { mergeOrders, type MergedOrders, type SourceOrders } from "./document-merge.ts";
import { putRunLabels, splitLabels, type PutLabels, type SourceLabels, type SplitLabels } from "./labels.ts";
import { loadRules, openOrdersBetween } from "./order-rules.ts";

/** Number of changed rows that may mislead the planner until they are analyzed. */
export const MANY_ROWS = 1000;

type StagedRun = {
  connection: Connection;
  shopKey: number;
  currencyCode: string;
  /** Whether products and variants were staged. */
  hasCatalogue: boolean;
  /** The labels of the run; null when it brings none. */
  labels: SourceLabels | null;
  /** The orders of the run; null when it brings none. */
  orders: SourceOrders | null;
  /** Variants, products, SKUs and labels that it may change, each; without a limit by default. */
  mostKeys?: number | undefined;
  /** `stage` is "orders", "labels" or "cohorts". */
  onProgress: (stage: string, done: number) => void;
};

type AppliedRun = {
  /** Products, variants, orders and labels that are new, different or gone, added up. */
  changes: number;
  merged: MergedOrders;
  labels: PutLabels;
  split: SplitLabels;
  /** Cohort months that were recomputed, as YYYY-MM. */
  dirtyMonths: string[];
};

/**
 * Applies a run's input to the served data: catalogue, order documents, facts, labels, cohorts, in the transaction of
 * `lockWorkspace` and `planForRun`, with a catalogue also of `createStage`. Common to all sources; the caller publishes.
 * Throws `TooManyKeys`.
 */
export async function applyStage(run: StagedRun): Promise<AppliedRun> {
  const { connection, shopKey, currencyCode, onProgress } = run;
  const changedKeys = newChangedKeys(run.mostKeys);
  const unusableImages = run.hasCatalogue ? await dropUnusableImages(connection) : 0;
  const catalogueChanges = run.hasCatalogue ? await putCatalogue(connection, shopKey, changedKeys) : 0;
  // Statistics do not include this transaction's rows: the planner may expect a single variant, and loop over all for each name.
  const isLargeCatalogue = catalogueChanges >= MANY_ROWS;
  if (isLargeCatalogue) await planForManyRows(connection);
  // Lines that this run does not change; those of changed orders are resolved when they are written.
  if (catalogueChanges > 0) {
    const { variants, skus } = changedKeys;
    addPlaces(changedKeys, await resolveLinesAgain(connection, shopKey, [...variants], [...skus]));
  }
  const merged =
    run.orders === null
      ? { changedOrders: 0, unchangedOrders: 0, warnings: new Map() }
      : await mergeOrders(connection, shopKey, run.orders, changedKeys, (done) => onProgress("orders", done));
  if (unusableImages > 0) merged.warnings.set("unusable_image", unusableImages);
  if (catalogueChanges > 0 || merged.changedOrders > 0)
    await deriveCatalogue(connection, shopKey, changedKeys);
  if (isLargeCatalogue) await planAsUsual(connection);
  onProgress("labels", 0);
  const labels =
    run.labels === null ? NO_LABELS : await putRunLabels(connection, shopKey, run.labels, changedKeys);
  const size = Math.max(merged.changedOrders, labels.changed) >= MANY_ROWS ? "large" : "small";
  const split = await splitLabels(connection, shopKey, currencyCode, size, changedKeys);
  onProgress("cohorts", 0);
  await markMonths(connection, shopKey, [...changedKeys.months]);
  const months = await rebuildDirtyCohorts(connection, shopKey, size);
  onProgress("cohorts", 1);
  return {
    changes: catalogueChanges + merged.changedOrders + labels.changed + labels.removed,
    merged,
    labels,
    split,
    dirtyMonths: months.map((month) => monthToText(monthOfDate(month))),
  };
}

const NO_LABELS: PutLabels = { read: 0, changed: 0, removed: 0 };

/** Rolls up cohort months (first days, YYYY-MM-DD) from their facts, and brings the workspace's unmatched labels up to date. */
export async function rebuildCohorts(
  connection: Connection,
  shopKey: number,
  months: readonly string[],
): Promise<void> {
  await rollUp(connection, shopKey, months, { sums: "all", run: "large" });
  await refreshAllUnmatched(connection, shopKey);
  await clearDirtyMonths(connection, shopKey, months);
}

/** Rolls up the months whose facts changed; returns them as YYYY-MM-DD. `run` is large when it may have changed a thousand orders or labels. */
export async function rebuildDirtyCohorts(
  connection: Connection,
  shopKey: number,
  run: "large" | "small" = "large",
): Promise<string[]> {
  const months = await listDirtyMonths(connection, shopKey);
  await rollUp(connection, shopKey, months, { sums: "changed", run });
  await clearDirtyMonths(connection, shopKey, months);
  return months;
}

/** `sums`: the SKUs of quarters and years to add up: all, or those whose cohort rows change. */
async function rollUp(
  connection: Connection,
  shopKey: number,
  months: readonly string[],
  { sums, run }: { sums: "all" | "changed"; run: "large" | "small" },
): Promise<void> {
  if (months.length === 0) return;
  const heldMonths = await listHeldMonths(connection, shopKey, months);
  const held = new Set(heldMonths.map(({ month }) => month));
  await planForManyRows(
    connection,
    run === "large" ? run : sizeOfMonths(heldMonths.map(({ units }) => units)),
  );
  await putListings(connection, shopKey, months);
  const skus = new Set<string>();
  const toSum = (): string[] | null =>
    sums === "all" || held.size < months.length || skus.size > MANY_ROWS ? null : [...skus];
  for (const [quarter, monthsOfQuarter] of Map.groupBy(months, quarterOf)) {
    for (const month of monthsOfQuarter) {
      if (held.has(month)) addAll(skus, await changeMonth(connection, shopKey, month));
      else await addMonth(connection, shopKey, month);
    }
    await replaceSkuQuarter(connection, shopKey, quarter, toSum());
  }
  await rollUpYears(connection, shopKey, months, toSum());
  await removeUnsoldListings(connection, shopKey, toSum());
  await planAsUsual(connection);
}

/** Years end with the newest month that is complete in the primary window on the day of the newest order, as rankings do (M12). */
async function rollUpYears(
  connection: Connection,
  shopKey: number,
  months: readonly string[],
  changedSkus: ChangedSkus,
): Promise<void> {
  const { newest_day: newestDay, primary_days: primaryDays } = await loadYearState(connection, shopKey);
  const newest = latestCompleteMonth(primaryDays, newestDay === null ? null : dayFromText(newestDay)) ?? 0;
  const yearsOf = (days: readonly string[]): Set<number> =>
    new Set(days.map(monthOfDate).map((month) => month + ((((newest - month) % 12) + 12) % 12)));
  const wanted = yearsOf(await listCohortMonths(connection, shopKey));
  const changed = yearsOf(months);
  const known = new Set(await listYearsOfWindows(connection, shopKey, primaryDays));
  for (const lastMonth of wanted) {
    const year = { lastMonth, primaryDays };
    if (!known.has(lastMonth)) await replaceSkuYear(connection, shopKey, year, null);
    else if (changed.has(lastMonth)) await replaceSkuYear(connection, shopKey, year, changedSkus);
  }
  await removeOtherYears(connection, shopKey, [...wanted].map(monthToDate));
}

/**
 * Applies a workspace's current rules to its facts, in one step: only orders that they count differently are projected
 * again. Returns whether anything had to be done.
 */
export async function applyRules(database: Database, shopKey: number, stop?: AbortSignal): Promise<boolean> {
  if ((await loadRules(database, shopKey)).isApplied) return false;
  await database.transaction(async (connection) => {
    await lockWorkspace(connection, shopKey);
    const { wanted, applied } = await loadRules(connection, shopKey);
    await planForRun(connection, "large");
    const next = await openOrdersBetween(connection, shopKey, { rules: [applied, wanted] });
    const isSame = (document: OrderDocument): boolean =>
      isDeepStrictEqual(projectOrder(document, applied), projectOrder(document, wanted));
    await applyStage({
      connection,
      shopKey,
      currencyCode: await findCurrency(connection, shopKey),
      hasCatalogue: false,
      labels: null,
      orders: {
        next: async () =>
          (await next()).map((stored) => () => ({ orderId: stored.orderId, stored, part: stored })),
        merge: (stored) => (stored === null || isSame(stored) ? null : stored),
        rules: wanted,
      },
      onProgress: () => {},
    });
    await followOrderRules(connection, shopKey, wanted);
    await raiseDataVersion(connection, shopKey);
  }, stop);
  return true;
}
