import { randomUUIDv7 } from "node:crypto";
import type { Connection, Database } from "../../../store/database.ts";
import { insertAuditEvent } from "../../../store/queries/audit.ts";
import { resolveLinesAgain } from "../../../store/queries/facts.ts";
import { countStaged, createStage, lockShop } from "../../../store/queries/import-stage.ts";
import type { StagedCounts } from "../../../store/queries/import-stage.ts";
import { putLabels } from "../../../store/queries/label-write.ts";
import {
  analyzeData,
  findVersion,
  insertBroadcastAlert,
  publishImport,
  putLabelSource,
  putSaleEvents,
  putStoreSource,
} from "../../../store/queries/publish.ts";
import { deriveCatalogue, putCatalogue } from "../../catalogue.ts";
import { rebuildDirtyCohorts } from "../../cohorts.ts";
import { mergeStagedOrders } from "../../documents.ts";
import { splitLabels } from "../../labels.ts";
import { checkStage } from "./check-stage.ts";
import { findFolderFiles } from "./folder-files.ts";
import type { FolderFile } from "./folder-files.ts";
import { openProblemList } from "./problems.ts";
import type { ImportWarning, RowProblem } from "./problems.ts";
import { stageFile } from "./stage-files.ts";
import { labelWarnings, projectionWarnings } from "./warnings.ts";

const STORE_SOURCE = "csv";
const LABEL_SOURCE = "csv_labels";
const MAX_REPORTED = 1000;
/** So many changed orders may mislead the planner until it has looked at them. */
const MANY_ORDERS = 1000;

export type ImportOptions = {
  database: Database;
  shopKey: number;
  currencyCode: string;
  folder: string;
  /** M5: taken as given, also when it goes back. */
  asOf: Date;
  /** true: rows that cannot be used are left out; false: a single one of them keeps everything out. */
  skipInvalid: boolean;
  /** `stage` is a file's name, then "orders", "labels" and "cohorts"; done and total are bytes, then orders. */
  onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** How many of the rows that cannot be used are listed; 1000 unless told. */
  maxReported?: number | undefined;
};

export type ImportProgress = { stage: string; doneBytes: number; totalBytes: number };

/** Rows of the folder that were used, and orders by whether they differ from what was stored. */
export type ImportCounts = StagedCounts & { changed_orders: number; unchanged_orders: number };

export type ImportResult = {
  /** false: nothing was imported, because of the rows in `invalid`. */
  imported: boolean;
  counts: ImportCounts;
  /** The first of the rows that cannot be used; invalidCount counts all. */
  invalid: RowProblem[];
  invalidCount: number;
  warnings: ImportWarning[];
  /** Cohort months that were made anew, as YYYY-MM. */
  dirtyMonths: string[];
  dataVersion: number;
};

/**
 * Imports a folder of CSV files, all of it or nothing, in one transaction: until its end, and after a failure, the
 * previous data is served. Importing is an upsert. Two imports of one shop wait for each other. Throws ImportError
 * for a folder or file that cannot be read.
 */
export async function importFolder(options: ImportOptions): Promise<ImportResult> {
  const files = await findFolderFiles(options.folder);
  const result = await options.database.transaction((connection) => importFiles(options, files, connection));
  if (result.counts.changed_orders >= MANY_ORDERS) await analyzeData(options.database);
  return result;
}

async function importFiles(
  options: ImportOptions,
  files: FolderFile[],
  connection: Connection,
): Promise<ImportResult> {
  await lockShop(connection, options.shopKey);
  await createStage(connection);
  const problems = openProblemList(options.maxReported ?? MAX_REPORTED);
  const warnings: ImportWarning[] = [];
  const run: Run = { ...options, connection, files, warnings };
  await readFiles(run, (file, onBytes) =>
    stageFile(file, { connection, currencyCode: options.currencyCode, problems, warnings }, onBytes),
  );
  await checkStage({ connection, shopKey: options.shopKey, files, problems, warnings });
  const staged = await countStaged(connection);
  const rows = { invalid: problems.list(), invalidCount: problems.count(), warnings };
  if (problems.count() > 0 && !options.skipInvalid) {
    const counts = { ...staged, changed_orders: 0, unchanged_orders: 0 };
    const dataVersion = await findVersion(connection, options.shopKey);
    return { imported: false, counts, ...rows, dirtyMonths: [], dataVersion };
  }
  return { imported: true, ...rows, ...(await applyStage(run, staged)) };
}

type Run = ImportOptions & { connection: Connection; files: FolderFile[]; warnings: ImportWarning[] };

async function readFiles(
  run: Run,
  read: (file: FolderFile, onBytes: (bytes: number) => void) => Promise<void>,
): Promise<void> {
  const totalBytes = run.files.reduce((sum, file) => sum + file.bytes, 0);
  let bytesBefore = 0;
  for (const file of run.files) {
    await read(file, (bytes) =>
      run.onProgress?.({ stage: file.fileName, doneBytes: bytesBefore + bytes, totalBytes }),
    );
    bytesBefore += file.bytes;
  }
}

type Applied = Pick<ImportResult, "counts" | "dirtyMonths" | "dataVersion">;

async function applyStage(run: Run, staged: StagedCounts): Promise<Applied> {
  const { connection, shopKey, currencyCode, asOf } = run;
  const hasLabels = run.files.some((file) => file.name === "return_labels");
  const report = (stage: string, done: number, total: number): void =>
    run.onProgress?.({ stage, doneBytes: done, totalBytes: total });

  const catalogueChanges = await putCatalogue(connection, shopKey);
  // Lines that this folder does not touch; those of changed orders are resolved when they are written.
  if (catalogueChanges > 0) await resolveLinesAgain(connection, shopKey);
  const merged = await mergeStagedOrders(connection, shopKey, (done) =>
    report("orders", done, staged.orders),
  );
  if (catalogueChanges > 0 || merged.changedOrders > 0) await deriveCatalogue(connection, shopKey);
  report("labels", 0, 1);
  const labelChanges = await putLabels(connection, shopKey, LABEL_SOURCE);
  // Statistics that know only other shops make the planner expect a single row of this one.
  if (merged.changedOrders >= MANY_ORDERS) await analyzeData(connection);
  const split = await splitLabels(connection, shopKey, currencyCode);
  const saleEventChanges = await putSaleEvents(connection, shopKey);
  report("cohorts", 0, 1);
  const months = await rebuildDirtyCohorts(connection, shopKey);
  report("cohorts", 1, 1);

  const isChanged = catalogueChanges + merged.changedOrders + labelChanges + saleEventChanges > 0;
  const dataVersion = await publishImport(connection, shopKey, asOf, isChanged);
  await putStoreSource(connection, shopKey, STORE_SOURCE, asOf);
  if (hasLabels) await putLabelSource(connection, shopKey, LABEL_SOURCE, asOf, currencyCode);
  run.warnings.push(...projectionWarnings(merged.warnings), ...labelWarnings(split));
  const counts = {
    ...staged,
    changed_orders: merged.changedOrders,
    unchanged_orders: merged.unchangedOrders,
  };
  if (isChanged) await announce(connection, shopKey, dataVersion, merged.changedOrders);
  const detail = { source: STORE_SOURCE, as_of: asOf.toISOString(), data_version: dataVersion, ...counts };
  await insertAuditEvent(connection, shopKey, { actor: "operator", action: "import", detail });
  return { counts, dirtyMonths: months.map((month) => month.slice(0, 7)), dataVersion };
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
    body: `${orders.toLocaleString("en")} orders were new or changed.`,
    metadata: { source: STORE_SOURCE, orders },
  });
}
