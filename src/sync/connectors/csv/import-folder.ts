import type { AuditActor } from "../../../store/queries/audit.ts";
import type { Connection, Database } from "../../../store/database.ts";
import { requireDataVersion } from "../../../store/queries/data-version.ts";
import { findConnectedStore } from "../../../store/queries/data-source.ts";
import { createStage, lockShopForRun } from "../../../store/queries/import-stage.ts";
import { analyzeData } from "../../../store/statistics.ts";
import { MANY_ROWS } from "../../apply.ts";
import type { RowKind } from "../../document-merge.ts";
import { applyFolder, countsOf } from "./apply-folder.ts";
import type { AppliedFolder, ImportProgress } from "./apply-folder.ts";
import { findFolderFiles, openTextLimit } from "./folder-files.ts";
import type { FolderFile } from "./folder-files.ts";
import { openProblemList } from "./problems.ts";
import type { RowProblem } from "./problems.ts";
import { stageFolder } from "./stage-files.ts";
import { readStagedOrders } from "./staged-orders.ts";
import { byFile, fileWarnings } from "./warnings.ts";

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
