import { zstdCompressSync } from "node:zlib";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import type { Answer } from "../contract/endpoint.ts";
import type { exportTable as contract } from "../contract/export-table.ts";
import { TABLE_FORMATS, TABLES } from "../contract/tables.ts";
import type { ExportedTable, TableFormat, ColumnType, TableColumn } from "../contract/tables.ts";
import { csvText, guardedText } from "../lib/csv-text.ts";
import { FIRST_MONTH, knownMonth, monthToDate, dayFromText } from "../lib/month.ts";
import { currencyExponent, decimalText } from "../metrics/money.ts";
import { OPEN_TABLES, type TableRow } from "../store/queries/tables.ts";
import type { NextRows } from "../store/query.ts";
import type { OpenStream } from "../store/snapshot-stream.ts";
import type { EndpointCall } from "./call.ts";

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

async function* portionsOf(next: NextRows<TableRow>): AsyncGenerator<TableRow[]> {
  for (let rows = await next(); rows.length > 0; rows = await next()) yield rows;
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

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]["schema"][number];

/** Encoding a group blocks other requests of the process, and every group adds to the index, which is kept until the end. */
const ROWS_PER_GROUP = 10_000;

/** Most digits of an amount in 64 bits. */
const MONEY_DIGITS = 18;

/** Rows as Parquet: a group of rows at a time, and the index of the groups at the end, without which no part can be read. */
const parquetFile: WriteTable = async function* parquetFile(columns, exponent, portions) {
  const writer = new ByteWriter();
  const schema = [
    { name: "table", num_children: columns.length },
    ...columns.map((column) => ({ ...FORMS[column.type].schema(exponent), name: column.name })),
  ].map((element, index): SchemaElement =>
    index === 0 ? element : { ...element, repetition_type: "OPTIONAL" },
  );
  const parquet = new ParquetWriter({
    writer,
    schema,
    codec: "ZSTD",
    compressors: { ZSTD: (bytes) => zstdCompressSync(bytes) },
    createdBy: "Returns Analytics API",
  });
  /** The bytes written since the last call. */
  const take = (): Uint8Array => {
    const bytes = writer.getBytes().slice();
    writer.index = 0;
    return bytes;
  };
  // Minimum and maximum are for readers that skip groups by their days; of every column they would double the index.
  const emptyGroup = () =>
    columns.map(({ name, type }) => ({
      name,
      form: FORMS[type],
      data: [] as unknown[],
      statistics: type === "date" || type === "timestamp",
      offsetIndex: false,
    }));
  let group = emptyGroup();
  for await (const rows of portions) {
    for (const { name, form, data } of group) {
      // Neighbouring rows often have the same day or units, which take longer to convert than to compare.
      let last: unknown = null;
      let converted: unknown = null;
      for (const row of rows) {
        const value = row[name] ?? null;
        if (value !== last) [last, converted] = [value, value === null ? null : form.value(value as never)];
        data.push(converted);
      }
    }
    if ((group[0]?.data.length ?? 0) < ROWS_PER_GROUP) continue;
    void parquet.write({ columnData: group, rowGroupSize: Infinity });
    group = emptyGroup();
    yield take();
  }
  void parquet.write({ columnData: group, rowGroupSize: Infinity });
  void parquet.finish();
  yield take();
};

/** A type's declaration, and what a value becomes. */
type Form = {
  schema: (exponent: number) => Omit<SchemaElement, "name">;
  value: (value: never) => unknown;
};

const same = (value: unknown) => value;
const bigInt = (value: number) => BigInt(value);

const FORMS: Readonly<Record<ColumnType, Form>> = {
  text: {
    schema: () => ({ type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } }),
    value: same,
  },
  integer: { schema: () => ({ type: "INT64" }), value: bigInt },
  boolean: { schema: () => ({ type: "BOOLEAN" }), value: same },
  date: {
    schema: () => ({ type: "INT32", converted_type: "DATE", logical_type: { type: "DATE" } }),
    value: dayFromText,
  },
  timestamp: {
    schema: () => ({
      type: "INT64",
      converted_type: "TIMESTAMP_MILLIS",
      logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" },
    }),
    value: same,
  },
  // A bigint is in minor units, so that no amount is converted to floating point.
  money: {
    schema: (exponent) => ({
      type: "INT64",
      converted_type: "DECIMAL",
      logical_type: { type: "DECIMAL", precision: MONEY_DIGITS, scale: exponent },
      precision: MONEY_DIGITS,
      scale: exponent,
    }),
    value: bigInt,
  },
};

const WRITERS: Readonly<Record<TableFormat, WriteTable>> = { parquet: parquetFile, csv: csvFile };
