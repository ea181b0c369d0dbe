import { parse } from "csv-parse/sync";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ImportFile } from "../../src/demo/demo-store.ts";

/** The columns of each file of an import folder, in the order in which the demo store writes them. */
export const IMPORT_COLUMNS = {
  products: [
    "product_id",
    "title",
    "handle",
    "vendor",
    "family",
    "analytics_category",
    "image_url",
    "image_alt",
  ],
  variants: [
    "variant_id",
    "product_id",
    "sku",
    "title",
    "condition",
    "counterpart_sku",
    "unit_cost",
    "image_url",
    "option1_name",
    "option1_value",
    "option2_name",
    "option2_value",
  ],
  order_lines: [
    "order_id",
    "line_id",
    "ordered_at",
    "product_id",
    "variant_id",
    "sku",
    "title",
    "vendor",
    "units",
    "unit_price",
    "test",
    "canceled_at",
    "removed_units",
    "gift_card",
  ],
  returns: [
    "return_id",
    "order_id",
    "line_id",
    "status",
    "units",
    "processed_units",
    "requested_at",
    "closed_at",
    "reason",
  ],
  refunds: [
    "refund_id",
    "order_id",
    "line_id",
    "refunded_at",
    "units",
    "subtotal",
    "restock_type",
    "return_id",
  ],
  return_labels: [
    "label_id",
    "order_id",
    "return_id",
    "tracking_number",
    "charged_at",
    "amount",
    "currency",
    "voided_at",
  ],
  sale_events: ["slug", "label", "starts_on", "ends_on", "skus"],
} as const satisfies Record<ImportFile, readonly string[]>;

type TextRow<File extends ImportFile> = Record<(typeof IMPORT_COLUMNS)[File][number], string>;

/** The rows of an import folder as text, file by file. */
export type ReadFolder = { [File in ImportFile]: TextRow<File>[] };

/** What became of one line, counted by looping over all documents; the tests' own view of M1 to M3. */
export interface CountedLine {
  orderedOn: string;
  sku: string;
  productId: string;
  soldUnits: number;
  returned: { units: number; lagDays: number; reason: string }[];
}

export async function readImportFolder(folder: string): Promise<ReadFolder> {
  const read = async <File extends ImportFile>(file: File): Promise<TextRow<File>[]> =>
    parse(await readFile(join(folder, `${file}.csv`), "utf8"), { columns: true });
  return {
    products: await read("products"),
    variants: await read("variants"),
    order_lines: await read("order_lines"),
    returns: await read("returns"),
    refunds: await read("refunds"),
    return_labels: await read("return_labels"),
    sale_events: await read("sale_events"),
  };
}

export function countLines(folder: ReadFolder): CountedLine[] {
  const returnsByLine = Map.groupBy(folder.returns, (row) => row.line_id);
  const refundsByLine = Map.groupBy(folder.refunds, (row) => row.line_id);
  return folder.order_lines.map((line) => {
    const refunds = refundsByLine.get(line.line_id) ?? [];
    const canceled = sum(
      refunds.filter((row) => row.restock_type === "CANCEL").map((row) => Number(row.units)),
    );
    const sellsNothing = line.test === "true" || line.gift_card === "true" || line.canceled_at !== "";
    const kept = refunds.filter((row) => row.restock_type !== "CANCEL" && Number(row.units) > 0);
    const closed = (returnsByLine.get(line.line_id) ?? []).filter((row) => row.status === "CLOSED");
    const event = (units: number, at: string, reason: string) => ({
      units,
      lagDays: daysBetween(line.ordered_at, at),
      reason,
    });
    const fromReturns = closed.map((row) => {
      const refund = kept.find((candidate) => candidate.return_id === row.return_id);
      const at =
        refund !== undefined && refund.refunded_at < row.closed_at ? refund.refunded_at : row.closed_at;
      return event(Number(row.processed_units || row.units), at, row.reason || "unspecified");
    });
    const closedIds = new Set(closed.map((row) => row.return_id));
    const fromRefunds = kept
      .filter((row) => !closedIds.has(row.return_id))
      .map((row) => event(Number(row.units), row.refunded_at, "refund_only"));
    return {
      orderedOn: line.ordered_at.slice(0, 10),
      sku: line.sku,
      productId: line.product_id,
      soldUnits: sellsNothing ? 0 : Number(line.units) - Number(line.removed_units) - canceled,
      returned: [...fromReturns, ...fromRefunds],
    };
  });
}

/** Units sold and returned, of the returns that pass the filter. */
export function rateOf(
  lines: readonly CountedLine[],
  counts: (returned: CountedLine["returned"][number]) => boolean = () => true,
): { sold: number; returned: number; rate: number } {
  const sold = sum(lines.map((line) => line.soldUnits));
  const returned = sum(lines.flatMap((line) => line.returned.filter(counts).map(({ units }) => units)));
  return { sold, returned, rate: sold === 0 ? 0 : returned / sold };
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function daysBetween(from: string, to: string): number {
  return (Date.parse(to.slice(0, 10)) - Date.parse(from.slice(0, 10))) / 86_400_000;
}
