import { pipeline } from "node:stream/promises";
import { isMainThread, workerData } from "node:worker_threads";
import { zstdCompressSync } from "node:zlib";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import type { ColumnType, TableColumn, TableFormat } from "../contract/tables.ts";
import { csvText, guardedText } from "../lib/csv-text.ts";
import { dayFromText } from "../lib/month.ts";
import { decimalText } from "../metrics/money.ts";

/** `exponent`: decimals of the currency. */
export type WrittenTable = {
  columns: readonly Pick<TableColumn, "name" | "type">[];
  format: TableFormat;
  exponent: number;
};

/** Text of the values of a row as COPY writes it; null = no value. */
type Cells = readonly (string | null)[];

/** Writes rows, which arrive in portions, as the bytes of a file. */
type WriteFile = (portions: AsyncIterable<Cells[]>, table: WrittenTable) => AsyncIterable<Uint8Array>;

/** The rows of COPY's text format, whose lines arrive in pieces. */
async function* portionsOf(pieces: AsyncIterable<string>): AsyncGenerator<Cells[]> {
  let rest = "";
  for await (const piece of pieces) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    yield lines.map((line) => line.split("\t").map(valueOf));
  }
}

const ESCAPED: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };

function valueOf(text: string): string | null {
  if (!text.includes("\\")) return text;
  return text === "\\N" ? null : text.replaceAll(/\\(.)/gsu, (_, each: string) => ESCAPED[each] ?? each);
}

/** Rows as CSV: null is an empty cell; text that a spreadsheet would run begins with an apostrophe. */
const writeCsv: WriteFile = async function* writeCsv(portions, { columns, exponent }) {
  const encoder = new TextEncoder();
  yield encoder.encode(csvText([columns.map(({ name }) => name)]));
  const forms = columns.map(({ type }) => CELLS[type]);
  for await (const rows of portions) {
    const lines = rows.map((cells) =>
      cells.map((value, place) => (value === null ? "" : (forms[place]?.(value, exponent) ?? value))),
    );
    yield encoder.encode(csvText(lines));
  }
};

/** What COPY's text of a value becomes; none = it stays. */
const CELLS: Readonly<Partial<Record<ColumnType, (value: string, exponent: number) => string>>> = {
  text: guardedText,
  boolean: (value) => String(value === "t"),
  timestamp: (value) => timeOf(value).toISOString(),
  money: (value, exponent) => decimalText(Number(value), exponent),
};

/** Of "2026-01-05 10:00:00.123456+00". */
const timeOf = (text: string): Date => new Date(`${text.replace(" ", "T")}:00`);

/** Larger groups take more memory; each adds to the index, which is kept until the end. */
const ROWS_PER_GROUP = 5_000;

/** Rows as Parquet. The index of the groups, without which no part can be read, comes last. */
const writeParquet: WriteFile = async function* writeParquet(portions, { columns, exponent }) {
  const writer = new ByteWriter();
  const schema = [
    { name: "table", num_children: columns.length },
    ...columns.map(({ name, type }) => ({ ...FORMS[type].schema(exponent), name })),
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
  const taken = (): Uint8Array => {
    const bytes = Uint8Array.from(writer.getBytes());
    writer.index = 0;
    return bytes;
  };
  const write = (rows: readonly Cells[]): void => {
    const columnData = columns.map(({ name, type }, place) => ({
      name,
      data: converted(rows, place, FORMS[type].value),
      // For readers that skip groups by their days; of every column they would double the index.
      statistics: type === "date" || type === "timestamp",
      offsetIndex: false,
    }));
    void parquet.write({ columnData, rowGroupSize: Infinity });
  };
  let group: Cells[] = [];
  for await (const rows of portions) {
    group.push(...rows);
    if (group.length < ROWS_PER_GROUP) continue;
    write(group);
    group = [];
    yield taken();
  }
  write(group);
  void parquet.finish();
  yield taken();
};

/** Neighbouring rows often have the same day or units, which take longer to convert than to compare. */
function converted(rows: readonly Cells[], place: number, toValue: Form["value"]): unknown[] {
  let last: string | null = null;
  let form: unknown = null;
  return rows.map((cells) => {
    const value = cells[place] ?? null;
    if (value !== last) [last, form] = [value, value === null ? null : toValue(value)];
    return form;
  });
}

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]["schema"][number];

/** A type's declaration, and what COPY's text of a value becomes. */
type Form = {
  schema: (exponent: number) => Omit<SchemaElement, "name">;
  value: (value: string) => unknown;
};

/** Most digits of an amount in 64 bits. */
const MONEY_DIGITS = 18;

const FORMS: Readonly<Record<ColumnType, Form>> = {
  text: {
    schema: () => ({ type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } }),
    value: (value) => value,
  },
  integer: { schema: () => ({ type: "INT64" }), value: BigInt },
  boolean: { schema: () => ({ type: "BOOLEAN" }), value: (value) => value === "t" },
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
    value: timeOf,
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
    value: BigInt,
  },
};

const FILES: Readonly<Record<TableFormat, WriteFile>> = { parquet: writeParquet, csv: writeCsv };

/** Writes a table in a thread, from COPY's text at its stdin: to encode a group of rows takes as long as many requests. */
async function serveRows(table: WrittenTable): Promise<void> {
  const bytes = FILES[table.format](portionsOf(process.stdin.setEncoding("utf8")), table);
  await pipeline(bytes, process.stdout);
}

if (!isMainThread) await serveRows(workerData as WrittenTable);
