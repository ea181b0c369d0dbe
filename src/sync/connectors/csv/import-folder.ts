import type { Connection, Database } from "../../../store/database.ts";
import { requireDataVersion } from "../../../store/queries/data-version.ts";
import { findConnectedStore } from "../../../store/queries/data-source.ts";
import { analyzeStage, countStaged, createStage, lockShop } from "../../../store/queries/import-stage.ts";
import type { StagedCounts } from "../../../store/queries/import-stage.ts";
import { hasOrders, removesOrderRows, withSavepoint } from "../../../store/queries/ordered-import.ts";
import { analyzeData } from "../../../store/queries/publish.ts";
import { MANY_ROWS } from "../../apply.ts";
import { applyFolder } from "./apply-folder.ts";
import type { AppliedFolder, FolderRun, ImportProgress } from "./apply-folder.ts";
import { checkStage, removeRepetitions } from "./check-stage.ts";
import type { RowContext } from "./file-formats.ts";
import { findFolderFiles } from "./folder-files.ts";
import type { FolderFile } from "./folder-files.ts";
import { NotInOrder, openOrderedLines } from "./ordered-lines.ts";
import { ImportError, openProblemList } from "./problems.ts";
import type { ImportWarning, RowProblem } from "./problems.ts";
import { stageFile } from "./stage-files.ts";
import { readStagedOrders } from "./staged-orders.ts";

const MAX_REPORTED = 1000;
const DAY_MS = 86_400_000;
const UNIQUE_VIOLATION = "23505";

export type ImportOptions = {
  database: Database;
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
  /** `stage` is a file's name, then "orders", "labels" and "cohorts"; done and total are bytes, then orders. */
  onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** How many of the rows that cannot be used are listed; 1000 by default. */
  maxReported?: number | undefined;
};

export type ImportResult = AppliedFolder & {
  /** false: nothing was imported, because of the rows in `invalid`, or because there is no other row. */
  imported: boolean;
  /** The first of the rows that cannot be used; invalidCount counts all. */
  invalid: RowProblem[];
  invalidCount: number;
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
  const latestOrderAt = new Date(options.now.getTime() + DAY_MS).toISOString();
  const run = { ...options, latestOrderAt, connection, files, onFile: openByteCounter(options, files) };
  const hasLines = files.some((file) => file.name === "order_lines");
  const isFirst = hasLines && !(await hasOrders(connection, options.shopKey));
  return (isFirst ? await importInOrder(run) : null) ?? importStaged(run);
}

type Run = ImportOptions &
  FolderRun &
  RowContext & {
    /** Reports the progress of the bytes read of a file. */
    onFile: (file: FolderFile) => (bytes: number) => void;
  };

/**
 * A first import whose lines stand together by order needs no stage for them. Null when the folder turns out to be of
 * another kind, or has anything to refuse or report: then nothing has happened, and the stage reports it.
 */
async function importInOrder(run: Run): Promise<ImportResult | null> {
  const { connection, currencyCode, latestOrderAt } = run;
  const warnings: ImportWarning[] = [];
  const options = { connection, currencyCode, latestOrderAt, problems: openProblemList(0), warnings };
  const linesFile = run.files.find((file) => file.name === "order_lines") as FolderFile;
  const attempt = async (): Promise<ImportResult> => {
    for (const file of run.files) if (file !== linesFile) await stageFile(file, options, run.onFile(file));
    await analyzeStage(connection);
    await removeRepetitions({ connection, files: run.files, warnings });
    const isToldOf = options.problems.count() > 0 || warnings.some(({ kind }) => kind === "repeated_row");
    if (isToldOf || (await removesOrderRows(connection))) {
      throw new NotInOrder("rows are to be refused, told or removed");
    }
    const orders = await openOrderedLines(linesFile, options, run.onFile(linesFile));
    try {
      const counted = async (): Promise<StagedCounts> => {
        orders.finish();
        const counts = orders.counts();
        const staged = {
          ...(await countStaged(connection)),
          order_lines: counts.lines,
          orders: counts.orders,
        };
        if (isEmpty(staged)) throw new NotInOrder("there is no row");
        return staged;
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
  const { connection, shopKey, currencyCode, latestOrderAt, files } = run;
  const problems = openProblemList(run.maxReported ?? MAX_REPORTED);
  const warnings: ImportWarning[] = [];
  const options = { connection, currencyCode, latestOrderAt, problems, warnings };
  for (const file of files) await stageFile(file, options, run.onFile(file));
  await checkStage({ connection, shopKey, files, problems, warnings });
  const staged = await countStaged(connection);
  const rows = { invalid: problems.list(), invalidCount: problems.count(), warnings };
  if (isEmpty(staged) || (problems.count() > 0 && !run.skipInvalid)) {
    const counts = { ...staged, changed_orders: 0, unchanged_orders: 0 };
    const dataVersion = await requireDataVersion(connection, shopKey);
    return { imported: false, counts, ...rows, dirtyMonths: [], dataVersion };
  }
  const unknownRemovals = { lines: 0, returns: 0, refunds: 0 };
  const orders = await readStagedOrders(connection, shopKey, unknownRemovals);
  const counted = (): Promise<StagedCounts> => Promise.resolve(staged);
  const folderRows = { orders, counted, orderCount: staged.orders, unknownRemovals, warnings };
  return { imported: true, ...rows, ...(await applyFolder(run, folderRows)) };
}

function isEmpty(counts: StagedCounts): boolean {
  return Object.values(counts).every((count) => count === 0);
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
