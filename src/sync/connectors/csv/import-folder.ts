import type { Connection, Database } from "../../../store/database.ts";
import { insertAuditEvent, type AuditActor } from "../../../store/queries/audit.ts";
import { findConnectedStore } from "../../../store/queries/data-source.ts";
import {
  analyzeStage,
  countStaged,
  createStage,
  lockWorkspaceForRun,
  openDeletedLabels,
  openDeletedSaleEvents,
  openStagedLabels,
  openStagedSaleEvents,
  removeRepeatedRows,
  type StagedCounts,
} from "../../../store/queries/import-stage.ts";
import { planForRun } from "../../../store/query.ts";
import {
  countKnownSkus,
  findNewestOrderDay,
  measureSaleEvents,
  MOST_SALE_EVENTS,
  MOST_SALE_SKU_BYTES,
  publishImport,
  putLabelSource,
  putSaleEvents,
  putStoreSource,
  raiseDataVersion,
  removeSaleEvents,
  requireDataVersion,
} from "../../../store/queries/publish.ts";
import { analyzeData } from "../../../store/queries/statistics.ts";
import { applyStage, MANY_ROWS } from "../../apply.ts";
import { openCopyBuffer, type CopyValue } from "../../copy.ts";
import type { MergedOrders, RowKind } from "../../document-merge.ts";
import { announce } from "../../publish.ts";
import { readRecords } from "./csv-records.ts";
import { CellProblem, openCsvRow, type CsvColumns, type CsvRow } from "./csv-row.ts";
import { DELETED, FILE_FORMATS, type FileFormat, type RowContext } from "./file-formats.ts";
import { openParquet } from "./parquet-records.ts";
import {
  findFolderFiles,
  openTextLimit,
  readText,
  refuseChangedFile,
  refuseOrderExport,
  refuseOtherSeparators,
  type FolderFile,
} from "./folder-files.ts";
import {
  byFile,
  fileWarnings,
  ImportError,
  labelWarnings,
  oldOrdersWarnings,
  openProblemList,
  projectionWarnings,
  tooMuch,
  type ImportWarning,
  type ProblemList,
  type RowProblem,
} from "./problems.ts";
import { openOrderStage, readStagedOrders, type OrderTally, type StagedOrders } from "./staged-orders.ts";

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
  mostKeys?: number | undefined;
  onProgress?: ((progress: ImportProgress) => void) | undefined;
};

/** `stage` is a file's name, then "orders", "labels" and "cohorts"; done and total are bytes, then rows of orders. */
type ImportProgress = { stage: string; doneBytes: number; totalBytes: number };

/** Used rows of the folder, excluding deleted ones, and orders by whether they changed. */
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
  const saleEvents = await applySaleEvents(run);
  const gone = await openDeletedLabels(connection);
  const { changes, merged, labels, split, dirtyMonths } = await applyStage({
    connection,
    shopKey,
    currencyCode,
    hasCatalogue: true,
    labels: { source: LABEL_SOURCE, gone, next: await openStagedLabels(connection) },
    orders,
    mostKeys: run.mostKeys,
    onProgress: (stage, done) => {
      // The orders report their rows themselves.
      if (stage !== "orders") run.onProgress?.({ stage, doneBytes: done, totalBytes: 1 });
    },
  });
  const isChanged = changes + saleEvents.changed + saleEvents.removed > 0;
  // Months that waited since a migration are answered in another way from now on.
  const dataVersion = await publish(run, isChanged || dirtyMonths.length > 0);
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

async function applySaleEvents({ connection, shopKey, files }: FolderRun): Promise<AppliedSaleEvents> {
  const gone = await openDeletedSaleEvents(connection);
  let removed = 0;
  for (let rows = await gone(); rows.length > 0; rows = await gone()) {
    const slugs = rows.map((row) => row.slug);
    removed += (await removeSaleEvents(connection, shopKey, slugs)).length;
  }
  const next = await openStagedSaleEvents(connection);
  const skus = new Set<string>();
  let [changed, count, skuBytes] = [0, 0, 0];
  for (let events = await next(); events.length > 0; events = await next()) {
    changed += (await putSaleEvents(connection, shopKey, events)).length;
    for (const event of events) for (const sku of event.skus ?? []) skus.add(sku);
    count += events.length;
    for (const event of events) skuBytes += Buffer.byteLength((event.skus ?? []).join(""));
    refuseManySaleEvents(files, { count, sku_bytes: skuBytes });
  }
  if (changed > 0) refuseManySaleEvents(files, await measureSaleEvents(connection, shopKey));
  return { changed, removed, skus };
}

/** Throws ImportError for more sale events, or more SKUs in them, than a workspace may have. */
function refuseManySaleEvents(
  files: readonly FolderFile[],
  { count, sku_bytes: skuBytes }: { count: number; sku_bytes: number },
): void {
  if (count <= MOST_SALE_EVENTS && skuBytes <= MOST_SALE_SKU_BYTES) return;
  const file = files.find(({ name }) => name === "sale_events")?.fileName ?? "sale_events";
  const most =
    count > MOST_SALE_EVENTS
      ? `${MOST_SALE_EVENTS.toLocaleString("en")} sale events: remove some, with the column deleted`
      : `${MOST_SALE_SKU_BYTES / 1024 ** 2} MiB of skus in its sale events: an event without any covers the whole store`;
  throw new ImportError(`${file}: a workspace may have at most ${most}`);
}

/**
 * M5: a folder with order lines states up to when orders are complete. Labels, sale events and corrections leave the as-of
 * unchanged. Returns the data version.
 */
async function publish(run: FolderRun, isChanged: boolean): Promise<number> {
  const { connection, shopKey, currencyCode, asOf, files } = run;
  if (files.some(({ name }) => name === "return_labels")) {
    await putLabelSource(connection, shopKey, LABEL_SOURCE, asOf, currencyCode);
  }
  if (bringsOrders(files)) {
    await putStoreSource(connection, shopKey, STORE_SOURCE, asOf);
    // A folder with orders is refused beside a connected store, so there is none to wait for.
    return publishImport(connection, shopKey, asOf, isChanged, true);
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
  /** Stops the import, which then throws the signal's reason and leaves the data unchanged. */
  signal?: AbortSignal | undefined;
  /** Another run is writing this workspace's data; the import begins when it has ended. */
  onWait?: (() => void) | undefined;
  /** `stage` is a file's name, then "orders", "labels" and "cohorts"; done and total are bytes, then rows of orders. */
  onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** How many of the rows that cannot be used are listed; 1000 by default. */
  maxReported?: number | undefined;
  /** The most text that the files may hold together, unpacked; without a limit by default. */
  mostTextBytes?: number | undefined;
  /** The most variants, products, SKUs and labels that may change, each; without a limit by default. */
  mostKeys?: number | undefined;
  /** Called once all is stored, in the transaction of the import; throwing undoes it. */
  onStored?: ((connection: Connection, result: ImportResult) => Promise<void>) | undefined;
};

export type ImportResult = AppliedFolder & {
  /** false: nothing was imported, because of the rows in `invalid`, or because there are no others. */
  imported: boolean;
  /** All rows that cannot be used; `invalid` lists the first of them. */
  invalid_count: number;
  invalid: RowProblem[];
};

/**
 * Imports a folder of files, all of it or nothing, in one transaction: until its end, and after a failure, the
 * previous data is served. Importing is an upsert. Two imports of one workspace wait for each other. Throws ImportError
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
    const { products, variants, changed_orders } = result.counts;
    if (Math.max(products, variants, changed_orders) >= MANY_ROWS)
      await analyzeData(options.database, options.shopKey);
    return result;
  } catch (error) {
    if (error instanceof NothingImported) return error.result;
    throw tooMuch(error, files) ?? error;
  }
}

/** Rolls back writes made before the last order was checked. */
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
  await lockWorkspaceForRun(connection, shopKey, options.onWait);
  await planForRun(connection, "large");
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

/** Limit on header names in a message. */
const SHOWN_NAMES = 20;
const SHOWN_LETTERS = 40;

type StageOptions = RowContext & {
  connection: Connection;
  problems: ProblemList;
  signal?: AbortSignal | undefined;
};

/** Staged rows of a file, and the number of rounded amounts in them. */
type StagedRows = { rows: number; roundedAmounts: number };

type StagedFolder = {
  counts: StagedCounts;
  /** Rows of the three order files, repeated ones included. */
  orderRows: number;
  warnings: ImportWarning[];
};

/**
 * Stages every file of a folder. Of rows with the same key the last is kept; rows of orders are all kept, to be resolved later.
 */
async function stageFolder(
  files: readonly FolderFile[],
  options: StageOptions,
  onBytes: (fileName: string, doneBytes: number) => void,
): Promise<StagedFolder> {
  const { connection } = options;
  const warnings: ImportWarning[] = [];
  let orderRows = 0;
  let bytesBefore = 0;
  const knownOf = (file: FolderFile): string[] => [...knownColumns(FILE_FORMATS[file.name])];
  const parquet = openParquet(files.filter(isParquet), knownOf, options.signal);
  try {
    for (const file of files) {
      const report = (bytes: number): void => onBytes(file.fileName, bytesBefore + bytes);
      const { rows, roundedAmounts } = await stageFile(file, { ...options, warnings, parquet }, report);
      await refuseChangedFile(file);
      warnings.push(...fileWarnings([file], "rounded_amount", { [file.name]: roundedAmounts }));
      bytesBefore += file.bytes;
      if (FILE_FORMATS[file.name].table === "staged_order_row") orderRows += rows;
    }
  } finally {
    parquet.close();
  }
  await analyzeStage(connection);
  for (const file of files) {
    const removed = await removeRepeatedRows(connection, FILE_FORMATS[file.name].table);
    warnings.push(...fileWarnings([file], "repeated_row", { [file.name]: removed }));
  }
  return { counts: await countStaged(connection), orderRows, warnings };
}

/**
 * Reads one file into its staging table; rows that cannot be used become problems. Memory stays flat for a file of any
 * size. Throws ImportError for a file that cannot be read at all.
 */
async function stageFile(
  file: FolderFile,
  options: StageOptions & Pick<Reading, "warnings" | "parquet">,
  onBytes: (bytes: number) => void,
): Promise<StagedRows> {
  const format: FileFormat = FILE_FORMATS[file.name];
  const { table, stagedColumns, removal } = format;
  const columns = ["line_number", ...stagedColumns, ...(removal === undefined ? [] : [DELETED])];
  const buffer =
    table === "staged_order_row"
      ? openOrderStage(options.connection)
      : openCopyBuffer(options.connection, `${table} (${columns.join(", ")})`);
  let rowOf: ((cells: readonly string[]) => CsvRow) | null = null;
  const staged = { rows: 0, roundedAmounts: 0 };
  const onHeader = (names: readonly string[], place: string): void => {
    rowOf = openCsvRow(readHeader(file, format, names, place, options.warnings));
  };
  const onRecord = (cells: readonly string[], line: number, width = cells.length): void => {
    try {
      if (cells.length !== width) {
        const reason = `has ${cells.length} cells where the header has ${width}`;
        throw new CellProblem(null, reason, `${width} cells, as in the header`);
      }
      const row = (rowOf as NonNullable<typeof rowOf>)(cells);
      buffer.add([line, ...valuesOf(row, format, options)]);
      staged.rows += 1;
      staged.roundedAmounts += row.roundedCells();
    } catch (error) {
      if (!(error instanceof CellProblem)) throw error;
      const { column, message: reason, allowed } = error;
      options.problems.add({ file: file.fileName, line, column, reason, allowed });
    }
  };
  const read = isParquet(file) ? readParquetFile : readCsvFile;
  try {
    await read(file, { ...options, onHeader, onRecord, onBytes, onPortion: () => buffer.sendIfFull() });
  } finally {
    // A batch that still travels has to arrive before anything else may run on the connection, also a rollback.
    await buffer.send();
  }
  return staged;
}

function isParquet({ fileName }: FolderFile): boolean {
  return fileName.endsWith(".parquet");
}

/** Where the rows of a file go while it is read. `place`: of the header, before a problem with it. */
type Reading = {
  warnings: ImportWarning[];
  parquet: ReturnType<typeof openParquet>;
  onHeader: (names: readonly string[], place: string) => void;
  /** `width`: number of cells in the header, which each row should have. */
  onRecord: (cells: readonly string[], line: number, width?: number) => void;
  onBytes: (bytes: number) => void;
  onPortion: () => Promise<void>;
};

async function readCsvFile(
  file: FolderFile,
  { onHeader, onRecord, onBytes, onPortion }: Reading,
): Promise<void> {
  let width: number | null = null;
  const onLine = (cells: string[], line: number): void => {
    if (width !== null) return onRecord(cells, line, width);
    width = cells.length;
    onHeader(cells, `line ${line}: `);
  };
  const text = withCommas(file, readText(file, onBytes));
  await readRecords(file.fileName, text, onLine, onPortion);
  if (width === null) throw new ImportError(`${file.fileName}: the file is empty, not even a header row`);
}

async function readParquetFile(
  file: FolderFile,
  { warnings, parquet, onHeader, onRecord, onBytes, onPortion }: Reading,
): Promise<void> {
  await parquet.read(file, {
    top: ({ names, groupRows, localTimes }) => {
      file.groupRows = groupRows;
      onHeader(names, "");
      for (const column of localTimes) {
        const message = `the column ${column} has times without a time zone, which are read as UTC`;
        warnings.push({ kind: "local_time", file: file.fileName, message, count: null });
      }
    },
    record: onRecord,
    portion: onPortion,
    bytes: onBytes,
  });
}

/** The staged values of a row after its line number; for a deleted row only its key. */
function valuesOf(
  row: CsvRow,
  { stagedColumns, read, removal }: FileFormat,
  context: RowContext,
): CopyValue[] {
  if (removal === undefined) return read(row, context);
  if (!row.flag(DELETED)) return [...read(row, context), false];
  const key = removal.read(row, context);
  const others = stagedColumns.slice(key.length);
  return [...key, ...others.map(() => null), true];
}

/** The text as it is; throws ImportError when its header shows another separator. */
async function* withCommas(file: FolderFile, text: AsyncIterable<string>): AsyncGenerator<string> {
  let isStart = true;
  for await (const chunk of text) {
    if (isStart) refuseOtherSeparators(file.fileName, chunk, knownColumns(FILE_FORMATS[file.name]));
    isStart = false;
    yield chunk;
  }
}

function knownColumns({ columns, removal }: FileFormat): ReadonlySet<string> {
  return new Set([...columns, ...(removal === undefined ? [] : [DELETED])]);
}

/** A header's names for a message: enough of them to see the problem. */
function shownNames(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN_NAMES).map((name) => JSON.stringify(name.slice(0, SHOWN_LETTERS)));
  return `${shown.join(", ")}${names.length > SHOWN_NAMES ? ", …" : ""}`;
}

function readHeader(
  file: FolderFile,
  format: FileFormat,
  cells: readonly string[],
  place: string,
  warnings: ImportWarning[],
): CsvColumns {
  const fail = (what: string): ImportError => new ImportError(`${file.fileName}: ${place}${what}`);
  const names = cells.map((cell) => cell.trim());
  if (names.some((name) => name.includes("\0"))) throw fail("wrong encoding, the file must be UTF-8");
  refuseOrderExport(file.fileName, names);
  const columns = new Map<string, number>();
  for (const [index, name] of names.entries()) {
    if (name !== "" && columns.has(name))
      throw fail(`the column ${name.slice(0, SHOWN_LETTERS)} is twice in the header`);
    columns.set(name, index);
  }
  const { removal, required } = format;
  // Rows that are not deleted are refused individually if such a file lacks their columns.
  const needed = removal !== undefined && columns.has(DELETED) ? removal.keys : required;
  const missing = needed.filter((name) => !columns.has(name));
  if (missing.length > 0) {
    const what = missing.length === 1 ? "the required column" : "the required columns";
    const areMissing = `${what} ${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing`;
    throw fail(`${areMissing}; the header has ${shownNames(names)}`);
  }
  const known = knownColumns(format);
  const unknown = names.filter((name) => !known.has(name));
  for (const name of unknown.slice(0, SHOWN_NAMES)) {
    const shown = JSON.stringify(name.slice(0, SHOWN_LETTERS));
    const message = `the unknown column ${shown} is ignored`;
    warnings.push({ kind: "unknown_column", file: file.fileName, message, count: 1 });
  }
  const rest = unknown.length - SHOWN_NAMES;
  if (rest > 0) {
    const message = "other unknown columns are ignored";
    warnings.push({ kind: "unknown_column", file: file.fileName, message, count: rest });
  }
  return columns;
}
