import type { Connection } from "../../../store/database.ts";
import { insertAuditEvent } from "../../../store/queries/audit.ts";
import type { AuditActor } from "../../../store/queries/audit.ts";
import { raiseDataVersion, requireDataVersion } from "../../../store/queries/data-version.ts";
import {
  listDeletedLabels,
  listDeletedSaleEvents,
  openStagedLabels,
  openStagedSaleEvents,
} from "../../../store/queries/import-stage.ts";
import type { StagedCounts } from "../../../store/queries/import-stage.ts";
import {
  countKnownSkus,
  findNewestOrderDay,
  publishImport,
  putLabelSource,
  putSaleEvents,
  putStoreSource,
  removeSaleEvents,
} from "../../../store/queries/publish.ts";
import { applyStage } from "../../apply.ts";
import type { MergedOrders } from "../../documents.ts";
import { announce } from "../../publish.ts";
import type { FolderFile } from "./folder-files.ts";
import type { ImportWarning } from "./problems.ts";
import type { StagedFolder } from "./stage-files.ts";
import type { OrderTally, StagedOrders } from "./staged-orders.ts";
import { byFile, fileWarnings, labelWarnings, oldOrdersWarnings, projectionWarnings } from "./warnings.ts";

const STORE_SOURCE = "csv";
const LABEL_SOURCE = "csv_labels";

/** A folder that is being imported, in the transaction of `connection`. */
export type FolderRun = {
  connection: Connection;
  /** Who imports, for the audit. */
  actor: AuditActor;
  shopKey: number;
  currencyCode: string;
  /** M5 */
  asOf: Date;
  files: readonly FolderFile[];
  onProgress?: ((progress: ImportProgress) => void) | undefined;
};

/** `stage` is a file's name, then "orders", "labels" and "cohorts"; done and total are bytes, then rows of orders. */
export type ImportProgress = { stage: string; doneBytes: number; totalBytes: number };

/** Rows of the folder that were used, deleted ones apart, and orders by whether they differ from what was stored. */
export type ImportCounts = ReturnType<typeof countsOf>;

export function countsOf(
  staged: StagedCounts,
  { used, deletedRows, orders }: OrderTally,
  merged?: MergedOrders,
) {
  return {
    products: staged.products,
    variants: staged.variants,
    order_lines: used.lines,
    orders,
    returns: used.returns,
    refunds: used.refunds,
    return_labels: staged.return_labels,
    sale_events: staged.sale_events,
    deleted_rows: staged.deleted_labels + staged.deleted_sale_events + deletedRows,
    changed_orders: merged?.changedOrders ?? 0,
    unchanged_orders: merged?.unchangedOrders ?? 0,
  };
}

export type AppliedFolder = {
  counts: ImportCounts;
  warnings: ImportWarning[];
  /** Cohort months that were recomputed, as YYYY-MM. */
  changed_months: string[];
  data_version: number;
};

/** Stores and publishes the staged rows of a folder. */
export async function applyFolder(
  run: FolderRun,
  staged: StagedFolder,
  orders: StagedOrders,
): Promise<AppliedFolder> {
  const { connection, shopKey, currencyCode, files } = run;
  const saleEvents = await applySaleEvents(connection, shopKey);
  const gone = await listDeletedLabels(connection);
  const { changes, merged, labels, split, dirtyMonths } = await applyStage({
    connection,
    shopKey,
    currencyCode,
    labels: { source: LABEL_SOURCE, gone, next: await openStagedLabels(connection) },
    orders,
    onProgress: (stage, done) => {
      // The orders report their rows themselves.
      if (stage !== "orders") run.onProgress?.({ stage, doneBytes: done, totalBytes: 1 });
    },
  });
  const isChanged = changes + saleEvents.changed + saleEvents.removed > 0;
  const dataVersion = await publish(run, isChanged);
  const warnings = [
    ...staged.warnings,
    ...fileWarnings(files, "repeated_row", byFile(orders.tally.repeated)),
    ...fileWarnings(files, "unknown_deleted_row", {
      ...byFile(orders.tally.unknown),
      return_labels: staged.counts.deleted_labels - labels.removed,
      sale_events: staged.counts.deleted_sale_events - saleEvents.removed,
    }),
    ...projectionWarnings(merged.warnings),
    ...labelWarnings(split),
    ...fileWarnings(files, "unknown_sale_sku", {
      sale_events: saleEvents.skus.size - (await countKnownSkus(connection, shopKey, [...saleEvents.skus])),
    }),
    ...(bringsOrders(files)
      ? oldOrdersWarnings(await findNewestOrderDay(connection, shopKey), run.asOf)
      : []),
  ];
  const counts = countsOf(staged.counts, orders.tally, merged);
  if (isChanged) {
    const title = "Import completed";
    await announce(connection, {
      shopKey,
      source: STORE_SOURCE,
      title,
      dataVersion,
      orders: merged.changedOrders,
    });
  }
  await record(run, { data_version: dataVersion, ...counts });
  return { counts, warnings, changed_months: dirtyMonths, data_version: dataVersion };
}

/** Sale events that are new or different, those removed, and the SKUs that the stored ones name. */
type AppliedSaleEvents = { changed: number; removed: number; skus: ReadonlySet<string> };

async function applySaleEvents(connection: Connection, shopKey: number): Promise<AppliedSaleEvents> {
  const gone = await listDeletedSaleEvents(connection);
  const removed = gone.length === 0 ? [] : await removeSaleEvents(connection, shopKey, gone);
  const next = await openStagedSaleEvents(connection);
  const skus = new Set<string>();
  let changed = 0;
  for (let events = await next(); events.length > 0; events = await next()) {
    changed += (await putSaleEvents(connection, shopKey, events)).length;
    for (const event of events) for (const sku of event.skus ?? []) skus.add(sku);
  }
  return { changed, removed: removed.length, skus };
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

async function record(
  { connection, actor, shopKey, asOf }: FolderRun,
  figures: Record<string, number>,
): Promise<void> {
  const detail = { source: STORE_SOURCE, as_of: asOf.toISOString(), ...figures };
  await insertAuditEvent(connection, shopKey, {
    actor: actor.name,
    origin: actor.origin,
    action: "import",
    detail,
  });
}
