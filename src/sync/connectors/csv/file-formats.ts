import type { DocumentLine, DocumentRefund, DocumentReturn } from "../../../metrics/order.ts";
import type { StagedTable } from "../../../store/queries/import-stage.ts";
import type { CopyValue } from "../../copy.ts";
import type { RowKind } from "../../document-merge.ts";
import { productGidOf } from "../../product-gid.ts";
import { thinRow, USUAL } from "../../stored-document.ts";
import { CellProblem } from "./csv-row.ts";
import type { CsvRow } from "./csv-row.ts";

/** The files of an import folder, in the order they are read. */
export const FILE_NAMES = [
  "products",
  "variants",
  "order_lines",
  "returns",
  "refunds",
  "return_labels",
  "sale_events",
] as const;

export type FileName = (typeof FILE_NAMES)[number];

/** What the cells of a row are read with. */
export type RowContext = {
  currencyCode: string;
  /** ISO 8601 in UTC: orders of later moments are refused. */
  latestOrderAt: string;
};

/** `read` turns a row into the values of `columns`; throws CellProblem. */
export type FileFormat = {
  required: readonly string[];
  optional: readonly string[];
  table: StagedTable;
  /** Of the staging table, after the line number. */
  columns: string;
  read: (row: CsvRow, context: RowContext) => CopyValue[];
  /** Where a row may say that it is gone: the columns that it is known by, and the values that these stage. */
  removal?: { keys: readonly string[]; read: (row: CsvRow) => CopyValue[] };
};

/** The column that says so. */
export const DELETED = "deleted";
/** The column by which a row is taken as its source states it, where one that is written by hand would be a mistake. */
const AS_STATED = "as_stated";

const RETURN_STATUSES = ["REQUESTED", "OPEN", "CLOSED", "DECLINED", "CANCELED"] as const;
const RESTOCK_TYPES = ["RETURN", "NO_RESTOCK", "LEGACY_RESTOCK", "CANCEL"] as const;
const MAX_URL_BYTES = 4096;
const MAX_LIST_BYTES = 1024 * 1024;
const ORDER_ROW = "kind, order_id, record";

/** The record of a row of the three order files is JSON, that of a deleted row has its ids alone. */
function orderRow(kind: RowKind, row: CsvRow, recordOf: () => object): CopyValue[] {
  return [kind, need(row, "order_id"), JSON.stringify(recordOf())];
}

function need(row: CsvRow, column: string): string {
  return row.need(column, row.text(column));
}

export const FILE_FORMATS: Readonly<Record<FileName, FileFormat>> = {
  products: {
    required: ["product_id", "title"],
    optional: ["handle", "vendor", "family", "analytics_category", "image_url", "image_alt"],
    table: "staged_product",
    columns: "product_gid, title, handle, vendor, family, analytics_category, image_url, image_alt",
    read: (row) => [
      productGidOf(row.need("product_id", row.text("product_id"))),
      row.need("title", row.label("title")),
      row.label("handle"),
      row.label("vendor"),
      row.label("family", 512),
      row.label("analytics_category", 512),
      row.label("image_url", MAX_URL_BYTES),
      row.label("image_alt", MAX_URL_BYTES),
    ],
  },
  variants: {
    required: ["variant_id", "product_id"],
    optional: ["sku", "title", "condition", "counterpart_sku", "unit_cost"],
    table: "staged_variant",
    columns: "variant_id, product_gid, sku, title, used, counterpart_sku, unit_cost_minor",
    read: (row, { currencyCode }) => [
      row.need("variant_id", row.text("variant_id")),
      productGidOf(row.need("product_id", row.text("product_id"))),
      row.text("sku"),
      row.label("title"),
      row.oneOf("condition", ["new", "used"]) === "used",
      row.text("counterpart_sku"),
      row.money("unit_cost", currencyCode, false),
    ],
  },
  order_lines: {
    required: ["order_id", "line_id", "ordered_at", "units"],
    optional: [
      "product_id",
      "variant_id",
      "sku",
      "title",
      "vendor",
      "unit_price",
      "test",
      "canceled_at",
      "removed_units",
      "gift_card",
    ],
    table: "staged_order_row",
    columns: ORDER_ROW,
    read: (row, context) => orderRow("lines", row, () => thinRow(readLine(row, context), USUAL.lines)),
    removal: {
      keys: ["order_id", "line_id"],
      read: (row) => orderRow("lines", row, () => ({ lineId: need(row, "line_id") })),
    },
  },
  returns: {
    required: ["return_id", "order_id", "line_id", "status", "units"],
    optional: ["processed_units", "requested_at", "closed_at", "reason", AS_STATED],
    table: "staged_order_row",
    columns: ORDER_ROW,
    read: (row) => orderRow("returns", row, () => thinRow(readReturn(row), USUAL.returns)),
    removal: {
      keys: ["return_id", "order_id", "line_id"],
      read: (row) =>
        orderRow("returns", row, () => ({ lineId: need(row, "line_id"), returnId: need(row, "return_id") })),
    },
  },
  refunds: {
    required: ["refund_id", "order_id", "line_id", "refunded_at", "units", "subtotal"],
    optional: ["restock_type", "return_id", AS_STATED],
    table: "staged_order_row",
    columns: ORDER_ROW,
    read: (row, { currencyCode }) =>
      orderRow("refunds", row, () => thinRow(readRefund(row, currencyCode), USUAL.refunds)),
    removal: {
      keys: ["refund_id", "order_id", "line_id"],
      read: (row) =>
        orderRow("refunds", row, () => ({ lineId: need(row, "line_id"), refundId: need(row, "refund_id") })),
    },
  },
  return_labels: {
    required: ["label_id", "charged_at", "amount"],
    optional: ["order_id", "return_id", "tracking_number", "currency", "voided_at"],
    table: "staged_label",
    columns:
      "label_id, order_id, return_id, tracking_number, charged_at, amount_minor, currency_code, voided_at",
    read: (row, { currencyCode }) => {
      const labelCurrency = readCurrency(row) ?? currencyCode;
      return [
        row.need("label_id", row.text("label_id")),
        row.text("order_id"),
        row.text("return_id"),
        row.text("tracking_number"),
        row.need("charged_at", row.time("charged_at")),
        row.need("amount", row.money("amount", labelCurrency, true)),
        labelCurrency,
        row.time("voided_at"),
      ];
    },
    removal: { keys: ["label_id"], read: (row) => [need(row, "label_id")] },
  },
  sale_events: {
    required: ["slug", "label", "starts_on", "ends_on"],
    optional: ["skus", "skus_json"],
    table: "staged_sale_event",
    columns: "slug, label, starts_on, ends_on, skus",
    read: (row) => {
      const startsOn = row.need("starts_on", row.day("starts_on"));
      const endsOn = row.need("ends_on", row.day("ends_on"));
      if (endsOn < startsOn)
        throw new CellProblem("ends_on", `lies before starts_on: ${endsOn}`, `${startsOn} or a later day`);
      return [
        row.need("slug", row.text("slug")),
        row.need("label", row.label("label")),
        startsOn,
        endsOn,
        readSkus(row),
      ];
    },
    removal: { keys: ["slug"], read: (row) => [need(row, "slug")] },
  },
};

function readLine(row: CsvRow, { currencyCode, latestOrderAt }: RowContext): DocumentLine {
  const orderedAt = row.need("ordered_at", row.time("ordered_at"));
  if (orderedAt > latestOrderAt) {
    throw new CellProblem(
      "ordered_at",
      `lies in the future: ${orderedAt}; an order may be dated up to a day from now, which is ${latestOrderAt}`,
      `a time of at most ${latestOrderAt}`,
    );
  }
  return {
    lineId: row.need("line_id", row.text("line_id")),
    orderedAt,
    productId: row.text("product_id"),
    variantId: row.text("variant_id"),
    sku: row.text("sku"),
    title: row.label("title"),
    vendor: row.label("vendor"),
    units: row.need("units", row.units("units")),
    removedUnits: row.units("removed_units") ?? 0,
    unitPriceMinor: row.money("unit_price", currencyCode, true),
    test: row.flag("test"),
    canceledAt: row.time("canceled_at"),
    giftCard: row.flag("gift_card"),
  };
}

function readReturn(row: CsvRow): DocumentReturn {
  const status = row.need("status", row.oneOf("status", RETURN_STATUSES));
  const closedAt = row.time("closed_at");
  if (status === "CLOSED" && closedAt === null && !row.flag(AS_STATED))
    throw new CellProblem(
      "closed_at",
      "is empty, but the status is CLOSED",
      "the time at which it was closed",
    );
  return {
    returnId: row.need("return_id", row.text("return_id")),
    lineId: row.need("line_id", row.text("line_id")),
    status,
    units: row.need("units", row.units("units")),
    processedUnits: row.units("processed_units"),
    requestedAt: row.time("requested_at"),
    closedAt,
    reason: row.label("reason"),
  };
}

function readRefund(row: CsvRow, currencyCode: string): StatedRefund {
  const isAsStated = row.flag(AS_STATED);
  return {
    ...(isAsStated ? { isAsStated } : {}),
    refundId: row.need("refund_id", row.text("refund_id")),
    lineId: row.need("line_id", row.text("line_id")),
    refundedAt: row.need("refunded_at", row.time("refunded_at")),
    units: row.need("units", row.units("units")),
    subtotalMinor: row.need("subtotal", row.money("subtotal", currencyCode, isAsStated)),
    restockType: row.oneOf("restock_type", RESTOCK_TYPES) ?? "NO_RESTOCK",
    returnId: row.text("return_id"),
  };
}

/** A refund as it is staged: one that is as its source states it may exceed its line. */
export type StatedRefund = DocumentRefund & { isAsStated?: true };

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf("currency"));

function readCurrency(row: CsvRow): string | null {
  const text = row.label("currency")?.toUpperCase() ?? null;
  if (text !== null && !CURRENCIES.has(text)) {
    const reason = "is no currency code of ISO 4217, such as EUR or USD";
    throw new CellProblem("currency", reason, "a currency code of three letters, such as EUR");
  }
  return text;
}

/** As an array literal of PostgreSQL; null = no SKUs of its own. */
function readSkus(row: CsvRow): string | null {
  const list = row.text("skus_json", MAX_LIST_BYTES);
  const skus =
    list === null
      ? (row.text("skus", MAX_LIST_BYTES) ?? "").split(";").map((sku) => sku.trim())
      : readList("skus_json", list);
  const named = [...new Set(skus)].filter((sku) => sku !== "");
  if (named.length === 0) return null;
  return `{${named.map((sku) => `"${sku.replaceAll(/["\\]/g, (found) => `\\${found}`)}"`).join(",")}}`;
}

/** A list of texts as JSON, without control characters. */
function readList(column: string, text: string): string[] {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    list = null;
  }
  const isList = Array.isArray(list) && list.every((item) => typeof item === "string");
  if (!isList) throw new CellProblem(column, "is no JSON list of texts", `a list such as ["A;1","B"]`);
  return (list as string[]).map((item) => item.toWellFormed().replaceAll(/\p{Cc}+/gu, ""));
}
