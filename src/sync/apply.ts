import { monthOfDate, monthToText } from "../lib/month.ts";
import type { Connection } from "../store/database.ts";
import { dropUnusableImages } from "../store/queries/catalogue.ts";
import { resolveLinesAgain } from "../store/queries/facts.ts";
import { putLabels } from "../store/queries/label-write.ts";
import { listRedactedLabels, redactStagedLabels } from "../store/queries/redacted-order.ts";
import { deriveCatalogue, putCatalogue } from "./catalogue.ts";
import { rebuildDirtyCohorts } from "./cohorts.ts";
import { mergeOrders } from "./documents.ts";
import type { MergedOrders, SourceOrders } from "./documents.ts";
import { splitLabels } from "./labels.ts";
import type { SplitLabels } from "./labels.ts";

/** So many changed rows may mislead the planner until it has looked at them. */
export const MANY_ROWS = 1000;

export type StagedRun = {
  connection: Connection;
  shopKey: number;
  currencyCode: string;
  /** The source whose labels are staged. */
  labelSource: string | null;
  /** The orders of the run; null when it brings none. */
  orders: SourceOrders | null;
  /** `stage` is "orders", "labels" or "cohorts". */
  onProgress: (stage: string, done: number) => void;
};

export type AppliedRun = {
  /** Products, variants, orders and labels that are new or different, added up. */
  changes: number;
  merged: MergedOrders;
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
  const unusableImages = await dropUnusableImages(connection);
  const catalogueChanges = await putCatalogue(connection, shopKey);
  // Lines that this run does not touch; those of changed orders are resolved when they are written.
  if (catalogueChanges > 0) await resolveLinesAgain(connection, shopKey);
  const merged = await mergeRunOrders(run);
  if (unusableImages > 0) merged.warnings.set("unusable_image", unusableImages);
  if (catalogueChanges > 0 || merged.changedOrders > 0) await deriveCatalogue(connection, shopKey);
  onProgress("labels", 0);
  const labelChanges = run.labelSource === null ? 0 : await putRunLabels(run, run.labelSource);
  const size = Math.max(merged.changedOrders, labelChanges) >= MANY_ROWS ? "large" : "small";
  const split = await splitLabels(connection, shopKey, currencyCode, size);
  onProgress("cohorts", 0);
  const months = await rebuildDirtyCohorts(connection, shopKey);
  onProgress("cohorts", 1);
  return {
    changes: catalogueChanges + merged.changedOrders + labelChanges,
    merged,
    split,
    dirtyMonths: months.map((month) => monthToText(monthOfDate(month))),
  };
}

async function putRunLabels({ connection, shopKey }: StagedRun, source: string): Promise<number> {
  const redacted = await listRedactedLabels(connection, shopKey, source);
  if (redacted.length > 0) await redactStagedLabels(connection, redacted);
  return putLabels(connection, shopKey, source);
}

async function mergeRunOrders({ connection, shopKey, orders, onProgress }: StagedRun): Promise<MergedOrders> {
  if (orders === null) return { changedOrders: 0, unchangedOrders: 0, warnings: new Map() };
  return mergeOrders(connection, shopKey, orders, (done) => onProgress("orders", done));
}
