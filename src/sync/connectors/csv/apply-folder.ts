import { randomUUIDv7 } from "node:crypto";
import type { Connection } from "../../../store/database.ts";
import { insertAuditEvent } from "../../../store/queries/audit.ts";
import { raiseDataVersion, requireDataVersion } from "../../../store/queries/data-version.ts";
import type { StagedCounts } from "../../../store/queries/import-stage.ts";
import { removeDeletedLabels } from "../../../store/queries/label-write.ts";
import {
  countDeleted,
  countUnknownSaleSkus,
  findNewestOrderDay,
  insertBroadcastAlert,
  publishImport,
  putLabelSource,
  putSaleEvents,
  putStoreSource,
  removeSaleEvents,
} from "../../../store/queries/publish.ts";
import { applyStage } from "../../apply.ts";
import type { MergedOrders } from "../../documents.ts";
import { changedOrdersSentence } from "../../publish.ts";
import type { FolderFile } from "./folder-files.ts";
import type { ImportWarning } from "./problems.ts";
import type { StagedFolder } from "./stage-files.ts";
import type { OrderTally, StagedOrders } from "./staged-orders.ts";
import {
  deletionWarnings,
  labelWarnings,
  oldOrdersWarnings,
  projectionWarnings,
  repeatedOrderRows,
  saleEventWarnings,
} from "./warnings.ts";

const STORE_SOURCE = "csv";
const LABEL_SOURCE = "csv_labels";

/** A folder that is being imported, in the transaction of `connection`. */
export type FolderRun = {
  connection: Connection;
  shopKey: number;
  currencyCode: string;
  /** M5 */
  asOf: Date;
  files: readonly FolderFile[];
  onProgress?: ((progress: ImportProgress) => void) | undefined;
};

/** `stage` is a file's name, then "orders", "labels" and "cohorts"; done and total are bytes, then rows of orders. */
export type ImportProgress = { stage: string; doneBytes: number; totalBytes: number };

/** Rows of the folder that were used, and orders by whether they differ from what was stored. */
export type ImportCounts = {
  products: number;
  variants: number;
  order_lines: number;
  orders: number;
  returns: number;
  refunds: number;
  return_labels: number;
  sale_events: number;
  /** Rows of any file that say that something is gone; the others do not count them. */
  deleted_rows: number;
  changed_orders: number;
  unchanged_orders: number;
};

export function countsOf(staged: StagedCounts, tally: OrderTally, merged?: MergedOrders): ImportCounts {
  return {
    products: staged.products,
    variants: staged.variants,
    order_lines: tally.order_lines,
    orders: tally.orders,
    returns: tally.returns,
    refunds: tally.refunds,
    return_labels: staged.return_labels,
    sale_events: staged.sale_events,
    deleted_rows: staged.deleted_rows + tally.deleted_rows,
    changed_orders: merged?.changedOrders ?? 0,
    unchanged_orders: merged?.unchangedOrders ?? 0,
  };
}

export type AppliedFolder = {
  counts: ImportCounts;
  warnings: ImportWarning[];
  /** Cohort months that were recomputed, as YYYY-MM. */
  dirtyMonths: string[];
  dataVersion: number;
};

/** Stores and publishes the staged rows of a folder. */
export async function applyFolder(
  run: FolderRun,
  staged: StagedFolder,
  orders: StagedOrders,
): Promise<AppliedFolder> {
  const { connection, shopKey, currencyCode, files } = run;
  const gone = await removeDeleted(connection, shopKey);
  const saleEventChanges = await putSaleEvents(connection, shopKey);
  const { changes, merged, split, dirtyMonths } = await applyStage({
    connection,
    shopKey,
    currencyCode,
    labelSource: LABEL_SOURCE,
    orders,
    onProgress: (stage, done) => {
      // The orders report their rows themselves.
      if (stage !== "orders") run.onProgress?.({ stage, doneBytes: done, totalBytes: 1 });
    },
  });
  const isChanged = changes + saleEventChanges + gone.removed > 0;
  const dataVersion = await publish(run, isChanged);
  const warnings = [
    ...staged.warnings,
    ...repeatedOrderRows(files, orders.tally),
    ...deletionWarnings(files, { ...orders.tally.unknown, ...gone.unknown }),
    ...projectionWarnings(merged.warnings),
    ...labelWarnings(split),
    ...saleEventWarnings(files, await countUnknownSaleSkus(connection, shopKey)),
    ...(bringsOrders(files)
      ? oldOrdersWarnings(await findNewestOrderDay(connection, shopKey), run.asOf)
      : []),
  ];
  const counts = countsOf(staged.counts, orders.tally, merged);
  if (isChanged) await announce(connection, shopKey, dataVersion, merged.changedOrders);
  await record(run, { data_version: dataVersion, ...counts });
  return { counts, dirtyMonths, dataVersion, warnings };
}

type RemovedRecords = { removed: number; unknown: { return_labels: number; sale_events: number } };

/** Removes the labels and sale events that deleted rows name; those that name nothing stored are `unknown`. */
async function removeDeleted(connection: Connection, shopKey: number): Promise<RemovedRecords> {
  const said = await countDeleted(connection);
  const labels = said.labels === 0 ? 0 : await removeDeletedLabels(connection, shopKey, LABEL_SOURCE);
  const saleEvents = said.sale_events === 0 ? 0 : await removeSaleEvents(connection, shopKey);
  return {
    removed: labels + saleEvents,
    unknown: { return_labels: said.labels - labels, sale_events: said.sale_events - saleEvents },
  };
}

/**
 * M5: a folder says up to when orders are complete when it brings their lines. Labels, sale events and corrections
 * leave the as-of where it is. Returns the data version.
 */
async function publish(run: FolderRun, isChanged: boolean): Promise<number> {
  const { connection, shopKey, currencyCode, asOf, files } = run;
  if (files.some(({ name }) => name === "return_labels")) {
    await putLabelSource(connection, shopKey, LABEL_SOURCE, asOf, currencyCode);
  }
  if (bringsOrders(files)) {
    await putStoreSource(connection, shopKey, STORE_SOURCE, asOf);
    return publishImport(connection, shopKey, asOf, isChanged);
  }
  return isChanged ? raiseDataVersion(connection, shopKey) : requireDataVersion(connection, shopKey);
}

function bringsOrders(files: readonly FolderFile[]): boolean {
  return files.some(({ name }) => name === "order_lines");
}

async function announce(
  connection: Connection,
  shopKey: number,
  dataVersion: number,
  orders: number,
): Promise<void> {
  await insertBroadcastAlert(connection, shopKey, {
    alertId: randomUUIDv7(),
    eventKey: `backfill:${STORE_SOURCE}:${dataVersion}`,
    category: "backfill_completed",
    severity: "info",
    title: "Import completed",
    body: changedOrdersSentence(orders),
    metadata: { source: STORE_SOURCE, orders },
  });
}

async function record(
  { connection, shopKey, asOf }: FolderRun,
  figures: Record<string, number>,
): Promise<void> {
  const detail = { source: STORE_SOURCE, as_of: asOf.toISOString(), ...figures };
  await insertAuditEvent(connection, shopKey, { actor: "operator", action: "import", detail });
}
