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
import type { ExportedOrderRow } from "../../../store/queries/export.ts";
import { readStored } from "../../stored-document.ts";
import {
  EXPORT_COLUMNS,
  labelCells,
  lineCells,
  moneyText,
  productCells,
  refundCells,
  returnCells,
  saleEventCells,
  variantCells,
} from "./export-rows.ts";
import type { Cell } from "./export-rows.ts";
import type { FileName } from "./file-formats.ts";

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
  const money = moneyText(currencyCode);
  const orders = (cellsOf: (document: OrderDocument) => Cell[][]) =>
    rowsOf(
      () => openExportedOrders(connection, shopKey),
      ({ order_id, document }: ExportedOrderRow) => cellsOf(readStored(order_id, document)),
    );
  const labelSources = await countLabelSources(connection, shopKey);
  const files: (readonly [FileName, AsyncIterable<Cell[][]>])[] = [
    [
      "products",
      rowsOf(
        () => openExportedProducts(connection, shopKey),
        (row) => [productCells(row)],
      ),
    ],
    [
      "variants",
      rowsOf(
        () => openExportedVariants(connection, shopKey),
        (row) => [variantCells(row, money)],
      ),
    ],
    ["order_lines", orders((document) => lineCells(document, money))],
    ["returns", orders(returnCells)],
    ["refunds", orders((document) => refundCells(document, money))],
    [
      "sale_events",
      rowsOf(
        () => openExportedSaleEvents(connection, shopKey),
        (row) => [saleEventCells(row)],
      ),
    ],
  ];
  // The file makes a label source, also without a row (M10).
  if (labelSources > 0) {
    const cellsOf = (row: Parameters<typeof labelCells>[0]) => [labelCells(row, labelSources > 1)];
    files.push(["return_labels", rowsOf(() => openExportedLabels(connection, shopKey), cellsOf)]);
  }
  return files.map(([name, rows]) => ({ name: `${name}.csv`, content: csvText(EXPORT_COLUMNS[name], rows) }));
}

/** The rows of a file, a fetch of the cursor at a time. */
async function* rowsOf<Row extends object>(
  open: () => Promise<NextRows<Row>>,
  cellsOf: (row: Row) => Cell[][],
): AsyncGenerator<Cell[][]> {
  const next = await open();
  for (let rows = await next(); rows.length > 0; rows = await next()) yield rows.flatMap(cellsOf);
}

async function* csvText(
  columns: readonly string[],
  portions: AsyncIterable<Cell[][]>,
): AsyncGenerator<string> {
  yield csvOf([[...columns]]);
  for await (const rows of portions) if (rows.length > 0) yield csvOf(rows);
}

function csvOf(rows: Cell[][]): string {
  return stringify(rows, { record_delimiter: "\r\n", quoted_match: /[\r\n]/u });
}
