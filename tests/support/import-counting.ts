import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import papaparse from "papaparse";
import type { ImportFile } from "../../src/demo/demo-store.ts";

type Column =
  | "amount"
  | "analytics_category"
  | "canceled_at"
  | "charged_at"
  | "closed_at"
  | "condition"
  | "counterpart_sku"
  | "currency"
  | "ends_on"
  | "family"
  | "gift_card"
  | "line_id"
  | "order_id"
  | "ordered_at"
  | "processed_units"
  | "product_id"
  | "reason"
  | "refunded_at"
  | "removed_units"
  | "restock_type"
  | "return_id"
  | "sku"
  | "skus"
  | "slug"
  | "starts_on"
  | "status"
  | "subtotal"
  | "test"
  | "title"
  | "unit_cost"
  | "unit_price"
  | "units"
  | "voided_at";

/** The rows of an import folder as text, file by file. */
export type ReadFolder = Record<ImportFile, Record<Column, string>[]>;

/** The units of one line, counted by looping over all documents: the tests' own implementation of M1 to M3. */
export interface CountedLine {
  orderedOn: string;
  sku: string;
  productId: string;
  soldUnits: number;
  returned: { units: number; lagDays: number; reason: string }[];
}

export async function readImportFolder(folder: string): Promise<ReadFolder> {
  const read = async (file: ImportFile): Promise<Record<Column, string>[]> => {
    const text = await readFile(join(folder, `${file}.csv`), "utf8");
    const options = { header: true, delimiter: ",", skipEmptyLines: true } as const;
    const { data, errors } = papaparse.parse<Record<Column, string>>(text, options);
    assert.deepEqual(errors, []);
    return data;
  };
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
