import type { DocumentLine, DocumentRefund, DocumentReturn, OrderDocument } from "../../../metrics/order.ts";
import { currencyExponent, decimalText } from "../../../metrics/money.ts";
import type {
  ExportedLabelRow,
  ExportedProductRow,
  ExportedSaleEventRow,
  ExportedVariantRow,
} from "../../../store/queries/export.ts";
import type { FileName } from "./file-formats.ts";

/** A cell as the format writes it; null = empty. */
export type Cell = string | number | null;

/** The columns of each file of an export, in their order. */
export const EXPORT_COLUMNS: Readonly<Record<FileName, readonly string[]>> = {
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
  variants: ["variant_id", "product_id", "sku", "title", "condition", "counterpart_sku", "unit_cost"],
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
    "as_stated",
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
    "as_stated",
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
  sale_events: ["slug", "label", "starts_on", "ends_on", "skus", "skus_json"],
};

/** Money of the store in its currency. */
export type MoneyText = (minor: number | null) => string | null;

export function moneyText(currencyCode: string): MoneyText {
  const exponent = currencyExponent(currencyCode);
  return (minor) => (minor === null ? null : decimalText(minor, exponent));
}

export function productCells(row: ExportedProductRow): Cell[] {
  return [
    row.product_gid,
    row.title,
    row.handle,
    row.vendor,
    row.family,
    row.analytics_category,
    row.image_url,
    row.image_alt,
  ];
}

export function variantCells(row: ExportedVariantRow, money: MoneyText): Cell[] {
  return [
    row.variant_id,
    row.product_gid,
    row.sku,
    row.title,
    row.used ? "used" : "new",
    row.counterpart_sku,
    money(row.unit_cost_minor),
  ];
}

export function lineCells({ orderId, lines }: OrderDocument, money: MoneyText): Cell[][] {
  return lines.map((line: DocumentLine) => [
    orderId,
    line.lineId,
    line.orderedAt,
    line.productId,
    line.variantId,
    line.sku,
    line.title,
    line.vendor,
    line.units,
    money(line.unitPriceMinor),
    flag(line.test),
    line.canceledAt,
    line.removedUnits,
    flag(line.giftCard),
  ]);
}

/** Rows of lines that the order does not have count nowhere, and an import would refuse them. */
export function returnCells({ orderId, lines, returns }: OrderDocument): Cell[][] {
  const lineIds = new Set(lines.map(({ lineId }) => lineId));
  return returns
    .filter(({ lineId }) => lineIds.has(lineId))
    .map((row: DocumentReturn) => [
      row.returnId,
      orderId,
      row.lineId,
      row.status,
      row.units,
      row.processedUnits,
      row.requestedAt,
      row.closedAt,
      row.reason,
      flag(row.status === "CLOSED" && row.closedAt === null),
    ]);
}

export function refundCells({ orderId, lines, refunds }: OrderDocument, money: MoneyText): Cell[][] {
  const unitsByLine = new Map(lines.map(({ lineId, units }) => [lineId, units]));
  return refunds.flatMap((row: DocumentRefund) => {
    const lineUnits = unitsByLine.get(row.lineId);
    if (lineUnits === undefined) return [];
    const { refundId, lineId, refundedAt, units, subtotalMinor, restockType, returnId } = row;
    const asStated = flag(units > lineUnits || subtotalMinor < 0);
    const subtotal = money(subtotalMinor);
    return [[refundId, orderId, lineId, refundedAt, units, subtotal, restockType, returnId, asStated]];
  });
}

/** Several sources become one: the ids of their labels then begin with the source's name. */
export function labelCells(row: ExportedLabelRow, hasSeveralSources: boolean): Cell[] {
  return [
    hasSeveralSources ? `${row.source}:${row.label_id}` : row.label_id,
    row.order_id,
    row.return_id,
    row.tracking_number,
    row.charged_at.toISOString(),
    moneyText(row.currency_code)(row.amount_minor),
    row.currency_code,
    row.voided_at?.toISOString() ?? null,
  ];
}

/** A SKU that the list of `skus` cannot hold makes it JSON. */
export function saleEventCells({ slug, label, starts_on, ends_on, ...event }: ExportedSaleEventRow): Cell[] {
  const skus = event.skus === null ? null : [...new Set(event.skus)];
  const isPlain = skus === null || skus.every((sku) => !sku.includes(";") && sku.trim() === sku);
  const named = skus === null ? null : isPlain ? skus.join(";") : JSON.stringify(skus);
  return [slug, label, starts_on, ends_on, isPlain ? named : null, isPlain ? null : named];
}

function flag(value: boolean): string | null {
  return value ? "true" : null;
}
