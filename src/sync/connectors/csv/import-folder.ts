import type { Connection, Database } from "../../../store/database.ts";
import { insertAuditEvent } from "../../../store/queries/audit.ts";
import type { AuditActor } from "../../../store/queries/audit.ts";
import { findConnectedStore } from "../../../store/queries/data-source.ts";
import { requireDataVersion, raiseDataVersion } from "../../../store/queries/data-version.ts";
import {
  createStage,
  lockShopForRun,
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
import { analyzeData } from "../../../store/statistics.ts";
import { MANY_ROWS, applyStage } from "../../apply.ts";
import type { RowKind } from "../../document-merge.ts";
import type { MergedOrders } from "../../documents.ts";
import { announce } from "../../publish.ts";
import { findFolderFiles, openTextLimit } from "./folder-files.ts";
import type { FolderFile } from "./folder-files.ts";
import { openProblemList } from "./problems.ts";
import type { RowProblem, ImportWarning } from "./problems.ts";
import { stageFolder } from "./stage-files.ts";
import type { StagedFolder } from "./stage-files.ts";
import { readStagedOrders } from "./staged-orders.ts";
import type { OrderTally, StagedOrders } from "./staged-orders.ts";
import { byFile, fileWarnings, labelWarnings, oldOrdersWarnings, projectionWarnings } from "./warnings.ts";

const STORE_SOURCE = "csv";
const LABEL_SOURCE = "csv_labels";

/** A folder that is being imported, in the transaction of `connection`. */
type FolderRun = {
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
type ImportProgress = { stage: string; doneBytes: number; totalBytes: number };

/** Rows of the folder that were used, deleted ones apart, and orders by whether they differ from what was stored. */
type ImportCounts = ReturnType<typeof countsOf>;

function countsOf(staged: StagedCounts, { used, deletedRows, orders }: OrderTally, merged?: MergedOrders) {
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

type AppliedFolder = {
  counts: ImportCounts;
  warnings: ImportWarning[];
  /** Cohort months that were recomputed, as YYYY-MM. */
  changed_months: string[];
  data_version: number;
};

/** Stores and publishes the staged rows of a folder. */
async function applyFolder(
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

const MAX_REPORTED = 1000;
const DAY_MS = 86_400_000;

export type ImportOptions = {
  database: Database;
  /** Who imports, for the audit. */
  actor: AuditActor;
  shopKey: number;
  currencyCode: string;
  folder: string;
  /** M5: taken as given, also when it goes back. */
  asOf: Date;
  /** The present moment: orders of more than a day later are refused. */
  now: Date;
  /** true: rows that cannot be used are left out; false: a single one of them keeps everything out. */
  skipInvalid: boolean;
  /** Stops the import, which then throws the signal's reason and leaves the data as it was. */
  signal?: AbortSignal | undefined;
  /** Another run is writing this shop's data; the import begins when it has ended. */
  onWait?: (() => void) | undefined;
  /** `stage` is a file's name, then "orders", "labels" and "cohorts"; done and total are bytes, then rows of orders. */
  onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** How many of the rows that cannot be used are listed; 1000 by default. */
  maxReported?: number | undefined;
  /** The most text that the files may hold together, unpacked; without a limit by default. */
  mostTextBytes?: number | undefined;
  /** Called once all is stored, in the transaction of the import; throwing undoes it. */
  onStored?: ((connection: Connection, result: ImportResult) => Promise<void>) | undefined;
};

export type ImportResult = AppliedFolder & {
  /** false: nothing was imported, because of the rows in `invalid`, or because there is no other row. */
  imported: boolean;
  /** All rows that cannot be used; `invalid` lists the first of them. */
  invalid_count: number;
  invalid: RowProblem[];
};

/**
 * Imports a folder of CSV files, all of it or nothing, in one transaction: until its end, and after a failure, the
 * previous data is served. Importing is an upsert. Two imports of one shop wait for each other. Throws ImportError
 * for a folder or file that cannot be read.
 */
export async function importFolder(options: ImportOptions): Promise<ImportResult> {
  const connectedStore = await findConnectedStore(options.database, options.shopKey);
  const found = await findFolderFiles(options.folder, connectedStore);
  const textLimit = openTextLimit(options.mostTextBytes ?? Infinity);
  const files = found.map((file) => ({ ...file, textLimit }));
  try {
    const result = await options.database.transaction(
      (connection) => importFiles(options, files, connection),
      options.signal,
    );
    if (result.counts.changed_orders >= MANY_ROWS) await analyzeData(options.database, options.shopKey);
    return result;
  } catch (error) {
    if (error instanceof NothingImported) return error.result;
    throw error;
  }
}

/** Rolls back what was written before the last order was checked. */
class NothingImported extends Error {
  override name = "NothingImported";
  result: ImportResult;

  constructor(result: ImportResult) {
    super("nothing was imported");
    this.result = result;
  }
}

/** Stages every file; then one pass over the staged orders checks, merges and stores them. */
async function importFiles(
  options: ImportOptions,
  files: FolderFile[],
  connection: Connection,
): Promise<ImportResult> {
  const { shopKey, onProgress } = options;
  await lockShopForRun(connection, shopKey, options.onWait);
  await createStage(connection);
  const problems = openProblemList(options.maxReported ?? MAX_REPORTED, files);
  const latestOrderAt = new Date(options.now.getTime() + DAY_MS).toISOString();
  const staging = { ...options, connection, latestOrderAt, problems };
  const totalBytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const staged = await stageFolder(files, staging, (stage, doneBytes) =>
    onProgress?.({ stage, doneBytes, totalBytes }),
  );
  const dataVersion = await requireDataVersion(connection, shopKey);
  const invalid = () => ({ invalid_count: problems.count(), invalid: problems.list() });
  const isRefused = (): boolean => problems.count() > 0 && !options.skipInvalid;
  const orders = await readStagedOrders({
    connection,
    shopKey,
    onProblem: (kind, problem) => problems.add({ ...problem, file: fileNameOf(files, kind) }),
    onRows: (done) => onProgress?.({ stage: "orders", doneBytes: done, totalBytes: staged.orderRows }),
    isWanted: () => !isRefused(),
    onEnd: (tally) => {
      const counts = countsOf(staged.counts, tally);
      if (!isRefused() && Object.values(counts).some((count) => count > 0)) return;
      const warnings = [...staged.warnings, ...fileWarnings(files, "repeated_row", byFile(tally.repeated))];
      throw new NothingImported({
        imported: false,
        counts,
        ...invalid(),
        warnings,
        changed_months: [],
        data_version: dataVersion,
      });
    },
  });
  const { counts, ...applied } = await applyFolder({ ...options, connection, files }, staged, orders);
  const result = { imported: true, counts, ...invalid(), ...applied };
  await options.onStored?.(connection, result);
  return result;
}

function fileNameOf(files: readonly FolderFile[], kind: RowKind): string {
  const name = kind === "lines" ? "order_lines" : kind;
  return files.find((file) => file.name === name)?.fileName ?? name;
}
