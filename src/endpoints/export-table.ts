import type { Answer } from "../contract/endpoint.ts";
import type { exportTable as contract } from "../contract/export-table.ts";
import { TABLE_FORMATS, TABLES } from "../contract/tables.ts";
import type { ExportedTable, TableFormat } from "../contract/tables.ts";
import { FIRST_MONTH, knownMonth, monthToDate } from "../lib/month.ts";
import { currencyExponent } from "../metrics/money.ts";
import { OPEN_TABLES } from "../store/queries/tables.ts";
import type { TableRow } from "../store/queries/tables.ts";
import type { OpenStream } from "../store/snapshot-stream.ts";
import type { NextRows } from "../store/query.ts";
import type { EndpointCall } from "./call.ts";
import { csvFile } from "./table-csv.ts";
import { parquetFile } from "./table-parquet.ts";
import type { WriteTable } from "./table-parquet.ts";

const LAST_MONTH = knownMonth("9999-12");
const WRITERS: Readonly<Record<TableFormat, WriteTable>> = { parquet: parquetFile, csv: csvFile };

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
  return { kind: "stream", filename: `${name}.${format}`, type: TABLE_FORMATS[format], content };
}

async function* portionsOf(next: NextRows<TableRow>): AsyncGenerator<TableRow[]> {
  for (let rows = await next(); rows.length > 0; rows = await next()) yield rows;
}
