import { monthOfDate, monthToText } from "../lib/month.ts";
import type { Connection } from "../store/database.ts";
import { markMonths } from "../store/queries/dirty-month.ts";
import { resolveLinesAgain } from "../store/queries/facts.ts";
import { dropUnusableImages } from "../store/queries/import-stage.ts";
import { deriveCatalogue, putCatalogue } from "./catalogue.ts";
import { rebuildDirtyCohorts } from "./cohorts.ts";
import { mergeOrders } from "./documents.ts";
import type { MergedOrders, SourceOrders } from "./documents.ts";
import { putRunLabels, splitLabels } from "./labels.ts";
import type { PutLabels, SourceLabels, SplitLabels } from "./labels.ts";
import { newChangedKeys, addPlaces } from "./changed-keys.ts";
import type { ChangedKeys } from "./changed-keys.ts";

/** So many changed rows may mislead the planner until it has looked at them. */
export const MANY_ROWS = 1000;

export type StagedRun = {
  connection: Connection;
  shopKey: number;
  currencyCode: string;
  /** The labels of the run; null when it brings none. */
  labels: SourceLabels | null;
  /** The orders of the run; null when it brings none. */
  orders: SourceOrders | null;
  /** `stage` is "orders", "labels" or "cohorts". */
  onProgress: (stage: string, done: number) => void;
};

export type AppliedRun = {
  /** Products, variants, orders and labels that are new, different or gone, added up. */
  changes: number;
  merged: MergedOrders;
  labels: PutLabels;
  split: SplitLabels;
  /** Cohort months that were recomputed, as YYYY-MM. */
  dirtyMonths: string[];
};

/**
 * From what a run staged to what is served: catalogue, order documents, facts, labels, cohorts, in the transaction
 * that `createStage` and `lockShop` were called in. The way of every source; publishing is up to the caller.
 */
export async function applyStage(run: StagedRun): Promise<AppliedRun> {
  const { connection, shopKey, currencyCode, onProgress } = run;
  const changedKeys = newChangedKeys();
  const unusableImages = await dropUnusableImages(connection);
  const catalogueChanges = await putCatalogue(connection, shopKey, changedKeys);
  // Lines that this run does not touch; those of changed orders are resolved when they are written.
  if (catalogueChanges > 0) await resolveChangedLines(connection, shopKey, changedKeys);
  const merged = await mergeRunOrders(run, changedKeys);
  if (unusableImages > 0) merged.warnings.set("unusable_image", unusableImages);
  if (catalogueChanges > 0 || merged.changedOrders > 0)
    await deriveCatalogue(connection, shopKey, changedKeys);
  onProgress("labels", 0);
  const labels =
    run.labels === null ? NO_LABELS : await putRunLabels(connection, shopKey, run.labels, changedKeys);
  const size = Math.max(merged.changedOrders, labels.changed) >= MANY_ROWS ? "large" : "small";
  const split = await splitLabels(connection, shopKey, currencyCode, size, changedKeys);
  onProgress("cohorts", 0);
  await markMonths(connection, shopKey, [...changedKeys.months]);
  const months = await rebuildDirtyCohorts(connection, shopKey);
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

async function resolveChangedLines(
  connection: Connection,
  shopKey: number,
  changedKeys: ChangedKeys,
): Promise<void> {
  const { variants, skus } = changedKeys;
  addPlaces(changedKeys, await resolveLinesAgain(connection, shopKey, [...variants], [...skus]));
}

async function mergeRunOrders(
  { connection, shopKey, orders, onProgress }: StagedRun,
  changedKeys: ChangedKeys,
): Promise<MergedOrders> {
  if (orders === null) return { changedOrders: 0, unchangedOrders: 0, warnings: new Map() };
  return mergeOrders(connection, shopKey, orders, changedKeys, (done) => onProgress("orders", done));
}
