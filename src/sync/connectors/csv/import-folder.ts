import { randomUUIDv7 } from "node:crypto";
import type { Connection, Database } from "../../../store/database.ts";
import { raiseDataVersion, requireDataVersion } from "../../../store/queries/data-version.ts";
import { findConnectedStore } from "../../../store/queries/data-source.ts";
import { insertAuditEvent } from "../../../store/queries/audit.ts";
import { analyzeStage, countStaged, createStage, lockShop } from "../../../store/queries/import-stage.ts";
import type { StagedCounts } from "../../../store/queries/import-stage.ts";
import { hasOrders, withSavepoint } from "../../../store/queries/ordered-import.ts";
import {
  analyzeData,
  countUnknownSaleSkus,
  insertBroadcastAlert,
  publishImport,
  putLabelSource,
  putSaleEvents,
  putStoreSource,
} from "../../../store/queries/publish.ts";
import { applyStage, MANY_ROWS } from "../../apply.ts";
import type { SaidOrders } from "../../documents.ts";
import { changedOrdersSentence } from "../../publish.ts";
import { checkStage, removeRepetitions } from "./check-stage.ts";
import { findFolderFiles } from "./folder-files.ts";
import type { FolderFile } from "./folder-files.ts";
import { NotInOrder, openOrderedLines } from "./ordered-lines.ts";
import { ImportError, openProblemList } from "./problems.ts";
import type { ImportWarning, RowProblem } from "./problems.ts";
import { stageFile } from "./stage-files.ts";
import { readStagedOrders } from "./staged-orders.ts";
import { labelWarnings, projectionWarnings, saleEventWarnings } from "./warnings.ts";

const STORE_SOURCE = "csv";
const LABEL_SOURCE = "csv_labels";
const MAX_REPORTED = 1000;
const UNIQUE_VIOLATION = "23505";

export type ImportOptions = {
  database: Database;
  shopKey: number;
  currencyCode: string;
  folder: string;
  /** M5: taken as given, also when it goes back. */
  asOf: Date;
  /** true: rows that cannot be used are left out; false: a single one of them keeps everything out. */
  skipInvalid: boolean;
  /** Stops the import, which then throws the signal's reason and leaves the data as it was. */
  signal?: AbortSignal | undefined;
  /** Another run is writing this shop's data; the import begins when it has ended. */
  onWait?: (() => void) | undefined;
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
  const connectedStore = await findConnectedStore(options.database, options.shopKey);
  const files = await findFolderFiles(options.folder, connectedStore);
  const result = await options.database.transaction(
    (connection) => importFiles(options, files, connection),
    options.signal,
  );
  if (result.counts.changed_orders >= MANY_ROWS) await analyzeData(options.database);
  return result;
}

async function importFiles(
  options: ImportOptions,
  files: FolderFile[],
  connection: Connection,
): Promise<ImportResult> {
  await lockShop(connection, options.shopKey, options.onWait);
  await createStage(connection);
  const run = { ...options, connection, files, onFile: openByteCounter(options, files) };
  const hasLines = files.some((file) => file.name === "order_lines");
  const isFirst = hasLines && !(await hasOrders(connection, options.shopKey));
  return (isFirst ? await importInOrder(run) : null) ?? importStaged(run);
}

type Run = ImportOptions & {
  connection: Connection;
  files: FolderFile[];
  /** Tells the progress of the bytes read of a file. */
  onFile: (file: FolderFile) => (bytes: number) => void;
};

/**
 * A first import whose lines stand together by order needs no stage for them. Null when the folder turns out to be of
 * another kind, or has anything that is to be refused or told: then nothing has happened, and the stage tells.
 */
async function importInOrder(run: Run): Promise<ImportResult | null> {
  const { connection, currencyCode } = run;
  const warnings: ImportWarning[] = [];
  const options = { connection, currencyCode, problems: openProblemList(0), warnings };
  const linesFile = run.files.find((file) => file.name === "order_lines") as FolderFile;
  const attempt = async (): Promise<ImportResult> => {
    for (const file of run.files) if (file !== linesFile) await stageFile(file, options, run.onFile(file));
    await analyzeStage(connection);
    await removeRepetitions({ connection, files: run.files, warnings });
    if (options.problems.count() > 0 || warnings.some(({ kind }) => kind === "repeated_row")) {
      throw new NotInOrder("rows are to be refused or told");
    }
    const orders = await openOrderedLines(linesFile, options, run.onFile(linesFile));
    try {
      const counted = async (): Promise<StagedCounts> => {
        orders.finish();
        const counts = orders.counts();
        return { ...(await countStaged(connection)), order_lines: counts.lines, orders: counts.orders };
      };
      const applied = await applyFolder(run, { orders, counted, warnings });
      return { imported: true, invalid: [], invalidCount: 0, ...applied };
    } finally {
      await orders.close();
    }
  };
  return withSavepoint(connection, attempt).catch((error: unknown) => {
    const isRepeatedKey = (error as { code?: string }).code === UNIQUE_VIOLATION;
    if (error instanceof NotInOrder || error instanceof ImportError || isRepeatedKey) return null;
    throw error;
  });
}

async function importStaged(run: Run): Promise<ImportResult> {
  const { connection, shopKey, currencyCode, files } = run;
  const problems = openProblemList(run.maxReported ?? MAX_REPORTED);
  const warnings: ImportWarning[] = [];
  for (const file of files) {
    await stageFile(file, { connection, currencyCode, problems, warnings }, run.onFile(file));
  }
  await checkStage({ connection, shopKey, files, problems, warnings });
  const staged = await countStaged(connection);
  const rows = { invalid: problems.list(), invalidCount: problems.count(), warnings };
  if (problems.count() > 0 && !run.skipInvalid) {
    const counts = { ...staged, changed_orders: 0, unchanged_orders: 0 };
    const dataVersion = await requireDataVersion(connection, shopKey);
    return { imported: false, counts, ...rows, dirtyMonths: [], dataVersion };
  }
  const orders = await readStagedOrders(connection, shopKey);
  const counted = (): Promise<StagedCounts> => Promise.resolve(staged);
  const applied = await applyFolder(run, { orders, counted, orderCount: staged.orders, warnings });
  return { imported: true, ...rows, ...applied };
}

/** Adds up the bytes of the files, whatever order they are read in. */
function openByteCounter(options: ImportOptions, files: readonly FolderFile[]): Run["onFile"] {
  const totalBytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const bytesByFile = new Map<string, number>();
  return (file) => (bytes) => {
    bytesByFile.set(file.fileName, bytes);
    const doneBytes = bytesByFile.values().reduce((sum, done) => sum + done, 0);
    options.onProgress?.({ stage: file.fileName, doneBytes, totalBytes });
  };
}

type FolderRows = {
  orders: SaidOrders;
  /** Asked when all orders have been merged. */
  counted: () => Promise<StagedCounts>;
  /** How many orders there are; not known while their file is being read, which tells its own progress. */
  orderCount?: number;
  warnings: ImportWarning[];
};

type Applied = Pick<ImportResult, "counts" | "dirtyMonths" | "dataVersion" | "warnings">;

async function applyFolder(run: Run, rows: FolderRows): Promise<Applied> {
  const { connection, shopKey, currencyCode, asOf } = run;
  const { orderCount } = rows;
  const hasLabels = run.files.some((file) => file.name === "return_labels");
  const saleEventChanges = await putSaleEvents(connection, shopKey);
  const { changes, merged, split, dirtyMonths } = await applyStage({
    connection,
    shopKey,
    currencyCode,
    labelSource: LABEL_SOURCE,
    orders: rows.orders,
    onProgress: (stage, done) => {
      if (stage === "orders" && orderCount === undefined) return;
      run.onProgress?.({ stage, doneBytes: done, totalBytes: stage === "orders" ? (orderCount ?? 0) : 1 });
    },
  });
  const staged = await rows.counted();
  const isChanged = changes + saleEventChanges > 0;
  const dataVersion = await publish(run, isChanged);
  if (hasLabels) await putLabelSource(connection, shopKey, LABEL_SOURCE, asOf, currencyCode);
  const unknownSkus = await countUnknownSaleSkus(connection, shopKey);
  const warnings = [
    ...inFileOrder(rows.warnings, run.files),
    ...projectionWarnings(merged.warnings),
    ...labelWarnings(split),
    ...saleEventWarnings(run.files, unknownSkus),
  ];
  const counts = {
    ...staged,
    changed_orders: merged.changedOrders,
    unchanged_orders: merged.unchangedOrders,
  };
  if (isChanged) await announce(connection, shopKey, dataVersion, merged.changedOrders);
  const detail = { source: STORE_SOURCE, as_of: asOf.toISOString(), data_version: dataVersion, ...counts };
  await insertAuditEvent(connection, shopKey, { actor: "operator", action: "import", detail });
  return { counts, dirtyMonths, dataVersion, warnings };
}

/** Beside a connected store a folder says nothing of when orders were last read. Returns the data version. */
async function publish({ connection, shopKey, asOf, files }: Run, isChanged: boolean): Promise<number> {
  if (files.some((file) => file.name === "order_lines")) {
    await putStoreSource(connection, shopKey, STORE_SOURCE, asOf);
    return publishImport(connection, shopKey, asOf, isChanged);
  }
  return isChanged ? raiseDataVersion(connection, shopKey) : requireDataVersion(connection, shopKey);
}

/** Unknown columns by file; what was found among all rows stays behind them. */
function inFileOrder(warnings: readonly ImportWarning[], files: readonly FolderFile[]): ImportWarning[] {
  const placeOf = ({ kind, file }: ImportWarning): number =>
    kind === "unknown_column" ? files.findIndex(({ fileName }) => fileName === file) : files.length;
  return warnings.toSorted((left, right) => placeOf(left) - placeOf(right));
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
