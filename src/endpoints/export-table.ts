import { on } from "node:events";
import { Worker } from "node:worker_threads";
import type { Answer } from "../contract/endpoint.ts";
import type { exportTable as contract } from "../contract/export-table.ts";
import { TABLE_FORMATS, TABLES } from "../contract/tables.ts";
import type { ExportedTable, TableFormat, ColumnType, TableColumn } from "../contract/tables.ts";
import { csvText, guardedText } from "../lib/csv-text.ts";
import { FIRST_MONTH, knownMonth, monthToDate } from "../lib/month.ts";
import { currencyExponent, decimalText } from "../metrics/money.ts";
import { OPEN_TABLES, type TableRow } from "../store/queries/tables.ts";
import type { NextRows } from "../store/query.ts";
import type { OpenStream } from "../store/snapshot-stream.ts";
import type { EndpointCall } from "./call.ts";
import type { ParquetRows, ParquetTable } from "./parquet-thread.ts";

const LAST_MONTH = knownMonth("9999-12");

/** One table as a file, written while it is read. */
export async function exportTable(
  openStream: OpenStream,
  { workspace, input }: EndpointCall<typeof contract>,
): Promise<Answer> {
  const { table: name, format, start_month: start, end_month: end } = input;
  const { columns } = TABLES.find((table) => table.name === name) as ExportedTable;
  const first = monthToDate(start === undefined ? FIRST_MONTH : knownMonth(start));
  const last = monthToDate(end === undefined ? LAST_MONTH : knownMonth(end));
  const content = await openStream(workspace.shopKey, async (connection) => {
    const next = await OPEN_TABLES[name](connection, workspace, first, last);
    return WRITERS[format](columns, currencyExponent(workspace.currencyCode), portionsOf(next));
  });
  return { kind: "file", filename: `${name}.${format}`, type: TABLE_FORMATS[format], content };
}

/** The database reads the next rows while these are written. */
async function* portionsOf(next: NextRows<TableRow>): AsyncGenerator<TableRow[]> {
  for (let reading = next(); ;) {
    const rows = await reading;
    if (rows.length === 0) return;
    reading = next();
    // A failure is thrown where its rows are awaited.
    reading.catch(() => {});
    yield rows;
  }
}

/** Rows as CSV: null is an empty cell; text that a spreadsheet would run begins with an apostrophe. */
const csvFile: WriteTable = async function* csvFile(columns, exponent, portions) {
  const encoder = new TextEncoder();
  yield encoder.encode(csvText([columns.map(({ name }) => name)]));
  for await (const rows of portions) {
    const lines = rows.map((row) =>
      columns.map(({ name, type }) => {
        const value = row[name] ?? null;
        return value === null ? "" : CELLS[type](value as never, exponent);
      }),
    );
    yield encoder.encode(csvText(lines));
  }
};

const CELLS: Readonly<Record<ColumnType, (value: never, exponent: number) => string>> = {
  text: guardedText,
  integer: String,
  boolean: String,
  date: String,
  timestamp: (value: Date) => value.toISOString(),
  money: decimalText,
};

/** Writes rows, which arrive in portions, as the bytes of a file; `exponent`: decimals of the currency. */
type WriteTable = (
  columns: readonly TableColumn[],
  exponent: number,
  portions: AsyncIterable<readonly TableRow[]>,
) => AsyncIterable<Uint8Array>;

/** Larger groups take more memory; each adds to the index, which is kept until the end. */
const ROWS_PER_GROUP = 5_000;

const THREAD_MEMORY = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 };

/** Rows as Parquet, a group encoded in a thread while the next one is read. */
const parquetFile: WriteTable = async function* parquetFile(columns, exponent, portions) {
  const table: ParquetTable = { columns, exponent };
  const thread = new Worker(new URL("parquet-thread.ts", import.meta.url), {
    workerData: table,
    resourceLimits: THREAD_MEMORY,
  });
  const answers = on(thread, "message") as AsyncIterableIterator<[Uint8Array]>;
  const write = async (rows: ParquetRows): Promise<Uint8Array> => {
    thread.postMessage(rows, []);
    const { value } = await answers.next();
    return value[0];
  };
  const emptyGroup = (): unknown[][] => columns.map(() => []);
  try {
    let group = emptyGroup();
    let written: Promise<Uint8Array> | undefined;
    for await (const rows of portions) {
      for (const [place, { name }] of columns.entries())
        for (const row of rows) group[place]?.push(row[name] ?? null);
      if ((group[0]?.length ?? 0) < ROWS_PER_GROUP) continue;
      const before = await written;
      written = write(group);
      // A failure is thrown where its bytes are awaited.
      written.catch(() => {});
      group = emptyGroup();
      if (before !== undefined) yield before;
    }
    if (written !== undefined) yield await written;
    yield await write(group);
    yield await write(null);
  } finally {
    await thread.terminate();
  }
};

const WRITERS: Readonly<Record<TableFormat, WriteTable>> = { parquet: parquetFile, csv: csvFile };
