import type { Answer } from "../contract/endpoint.ts";
import type { exportTable as contract } from "../contract/export-table.ts";
import { TABLE_FORMATS, TABLES } from "../contract/tables.ts";
import type { ExportedTable } from "../contract/tables.ts";
import { currencyExponent } from "../lib/currency.ts";
import { FIRST_MONTH, knownMonth, monthToDate } from "../lib/month.ts";
import { COPY_TABLES, copyForm } from "../store/queries/tables.ts";
import type { OpenStream } from "../store/snapshot-stream.ts";
import type { EndpointCall } from "./call.ts";
import { writeParquet } from "./table-parquet.ts";

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
  const exponent = currencyExponent(workspace.currencyCode);
  const form = copyForm(format, columns, exponent);
  const content = await openStream(workspace.shopKey, async (connection) => {
    const rows = await COPY_TABLES[name](connection, form, workspace, first, last);
    return format === "csv" ? rows : writeParquet(rows, columns, exponent);
  });
  return { kind: "file", filename: `${name}.${format}`, type: TABLE_FORMATS[format], content };
}
