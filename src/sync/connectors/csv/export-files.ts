import { stringify } from "csv-stringify/sync";
import type { OrderDocument } from "../../../metrics/order.ts";
import type { Connection } from "../../../store/database.ts";
import type { NextRows } from "../../../store/query.ts";
import {
  countLabelSources,
  openExportedLabels,
  openExportedOrders,
  openExportedProducts,
  openExportedSaleEvents,
  openExportedVariants,
} from "../../../store/queries/export.ts";
import type { ExportedLabelRow } from "../../../store/queries/export.ts";
import { readStored } from "../../stored-document.ts";
import { unitsEver } from "../../document-merge.ts";
import { FILE_FORMATS } from "./file-formats.ts";
import type { CsvCell, FileFormat, FileName } from "./file-formats.ts";

/** A file of an export; its text is read once, before that of the next file. */
export type ExportedFile = { name: string; content: AsyncIterable<string> };

/**
 * The store of a workspace as the files of an import folder, from a snapshot that lasts as long as they are read. Memory
 * stays flat. The same store gives the same bytes.
 */
export async function exportStore(
  connection: Connection,
  { shopKey, currencyCode }: { shopKey: number; currencyCode: string },
): Promise<ExportedFile[]> {
  const file = <Row extends object, Written>(
    name: FileName,
    format: FileFormat<Written>,
    open: () => Promise<NextRows<Row>>,
    writtenOf: (row: Row) => Written[],
    currencyOf: (row: Row) => string = () => currencyCode,
  ): ExportedFile => {
    const cellsOf = (row: Row): CsvCell[][] =>
      writtenOf(row).map((written) => format.write(written, currencyOf(row)));
    return { name: `${name}.csv`, content: csvText(format.columns, rowsOf(open, cellsOf)) };
  };
  const orders = <Written>(
    name: FileName,
    format: FileFormat<Written>,
    rowsOfOrder: (document: OrderDocument) => Written[],
  ): ExportedFile =>
    file(
      name,
      format,
      () => openExportedOrders(connection, shopKey),
      ({ order_id, document }) => rowsOfOrder(readStored(order_id, document)),
    );
  const labelSources = await countLabelSources(connection, shopKey);
  const { products, variants, order_lines, returns, refunds, sale_events, return_labels } = FILE_FORMATS;
  const files = [
    file(
      "products",
      products,
      () => openExportedProducts(connection, shopKey),
      (row) => [row],
    ),
    file(
      "variants",
      variants,
      () => openExportedVariants(connection, shopKey),
      (row) => [row],
    ),
    orders("order_lines", order_lines, ({ orderId, lines }) => lines.map((line) => ({ ...line, orderId }))),
    orders("returns", returns, returnsOf),
    orders("refunds", refunds, refundsOf),
    file(
      "sale_events",
      sale_events,
      () => openExportedSaleEvents(connection, shopKey),
      (row) => [row],
    ),
  ];
  // The file makes a label source, also without a row (M10).
  if (labelSources > 0) {
    const open = () => openExportedLabels(connection, shopKey);
    const labelOf = (row: ExportedLabelRow) => [exportedLabel(row, labelSources > 1)];
    files.push(file("return_labels", return_labels, open, labelOf, (row) => row.currency_code));
  }
  return files;
}

/** Rows of lines that the order does not have count nowhere, and an import would refuse them. */
function returnsOf({ orderId, lines, returns }: OrderDocument) {
  const lineIds = new Set(lines.map(({ lineId }) => lineId));
  return returns
    .filter(({ lineId }) => lineIds.has(lineId))
    .map((row) => ({ ...row, orderId, isAsStated: row.status === "CLOSED" && row.closedAt === null }));
}

function refundsOf({ orderId, lines, refunds }: OrderDocument) {
  const unitsByLine = new Map(lines.map((line) => [line.lineId, unitsEver(line)]));
  return refunds.flatMap((row) => {
    const lineUnits = unitsByLine.get(row.lineId);
    if (lineUnits === undefined) return [];
    return [{ ...row, orderId, isAsStated: row.units > lineUnits || row.subtotalMinor < 0 }];
  });
}

/** Several sources become one: the ids of their labels then begin with the source's name. */
function exportedLabel({ source, ...row }: ExportedLabelRow, hasSeveralSources: boolean) {
  return {
    ...row,
    label_id: hasSeveralSources ? `${source}:${row.label_id}` : row.label_id,
    charged_at: row.charged_at.toISOString(),
    voided_at: row.voided_at?.toISOString() ?? null,
  };
}

/** The rows of a file, a fetch of the cursor at a time. */
async function* rowsOf<Row extends object>(
  open: () => Promise<NextRows<Row>>,
  cellsOf: (row: Row) => CsvCell[][],
): AsyncGenerator<CsvCell[][]> {
  const next = await open();
  for (let rows = await next(); rows.length > 0; rows = await next()) yield rows.flatMap(cellsOf);
}

async function* csvText(
  columns: readonly string[],
  portions: AsyncIterable<CsvCell[][]>,
): AsyncGenerator<string> {
  yield csvOf([[...columns]]);
  for await (const rows of portions) if (rows.length > 0) yield csvOf(rows);
}

function csvOf(rows: CsvCell[][]): string {
  return stringify(rows, { record_delimiter: "\r\n", quoted_match: /[\r\n]/u });
}
