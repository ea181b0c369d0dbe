import type { ColumnType } from "../contract/tables.ts";
import { csvText, guardedText } from "../lib/csv-text.ts";
import { decimalText } from "../metrics/money.ts";
import type { WriteTable } from "./table-parquet.ts";

/** Rows as CSV: null is an empty cell; text that a spreadsheet would run begins with an apostrophe. */
export const csvFile: WriteTable = async function* csvFile(columns, exponent, portions) {
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
