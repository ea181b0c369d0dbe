import { parentPort, workerData } from "node:worker_threads";
import { zstdCompressSync } from "node:zlib";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import type { ColumnType, TableColumn } from "../contract/tables.ts";
import { dayFromText } from "../lib/month.ts";

/** `exponent`: decimals of the currency. */
export type ParquetTable = { columns: readonly Pick<TableColumn, "name" | "type">[]; exponent: number };

/** A group of rows as the values of each column; null: there are no more. */
export type ParquetRows = unknown[][] | null;

function openParquet({ columns, exponent }: ParquetTable): (rows: ParquetRows) => Uint8Array<ArrayBuffer> {
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
  return (rows) => {
    if (rows === null) void parquet.finish();
    else {
      const columnData = columns.map(({ name, type }, place) => ({
        name,
        data: converted(rows[place] ?? [], FORMS[type].value),
        // For readers that skip groups by their days; of every column they would double the index.
        statistics: type === "date" || type === "timestamp",
        offsetIndex: false,
      }));
      void parquet.write({ columnData, rowGroupSize: Infinity });
    }
    const bytes = Uint8Array.from(writer.getBytes());
    writer.index = 0;
    return bytes;
  };
}

/** Neighbouring rows often have the same day or units, which take longer to convert than to compare. */
function converted(values: readonly unknown[], toValue: Form["value"]): unknown[] {
  let last: unknown = null;
  let form: unknown = null;
  return values.map((value) => {
    if (value !== last) [last, form] = [value, value === null ? null : toValue(value as never)];
    return form;
  });
}

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]["schema"][number];

/** A type's declaration, and what a value becomes. */
type Form = {
  schema: (exponent: number) => Omit<SchemaElement, "name">;
  value: (value: never) => unknown;
};

/** Most digits of an amount in 64 bits. */
const MONEY_DIGITS = 18;

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

/**
 * Writes a table as Parquet in a thread: to encode a group of rows takes as long as many requests. Each message of `ParquetRows` is
 * answered by the bytes of the file that are written since. The index of the groups, without which no part can be read, comes last.
 */
function serveRows(port: NonNullable<typeof parentPort>, table: ParquetTable): void {
  const write = openParquet(table);
  port.on("message", (rows: ParquetRows) => {
    const bytes = write(rows);
    port.postMessage(bytes, [bytes.buffer]);
  });
}

if (parentPort !== null) serveRows(parentPort, workerData as ParquetTable);
