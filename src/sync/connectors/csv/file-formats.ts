import { currencyExponent } from "../../../lib/currency.ts";
import { parsedJson } from "../../../lib/parsed-json.ts";
import { decimalText, roundedMinor, type Decimal } from "../../../metrics/money.ts";
import type {
  DocumentLine,
  DocumentRefund,
  DocumentReturn,
  LineChange,
  LineReversal,
} from "../../../metrics/order.ts";
import type { VariantRow, ProductRow } from "../../../store/queries/catalogue.ts";
import type { StagedTable } from "../../../store/queries/import-stage.ts";
import type { LabelRow } from "../../../store/queries/label-write.ts";
import type { SaleEventRow } from "../../../store/queries/report-figures.ts";
import type { CopyValue } from "../../copy.ts";
import type { RowKind } from "../../document-merge.ts";
import { productGidOf, ROW_DEFAULTS } from "../../stored-document.ts";
import { withoutControls } from "../shared/text.ts";
import { CellProblem, instantOf, MAX_MINOR, type CsvRow } from "./csv-row.ts";

/** The context for reading a row's cells. */
export type RowContext = {
  currencyCode: string;
  /** ISO 8601 in UTC: orders of later moments are refused. */
  latestOrderAt: string;
};

/** A cell as the format writes it; null = empty. */
export type CsvCell = string | number | null;

/** A value of a row: its columns, its reader, and its written form. `read` throws CellProblem. */
type Field<Value> = {
  columns: readonly string[];
  isRequired?: boolean;
  read: (row: CsvRow, context: RowContext) => Value | undefined;
  write: (value: NonNullable<Value>, currencyCode: string) => CsvCell | CsvCell[];
  /** As it is staged where that is not the value itself. */
  stage?: (value: Value) => CopyValue;
};

/** The values of a row by name, in the order of their columns. */
type Fields<Row> = { [Name in keyof Row]-?: Field<Exclude<Row[Name], undefined>> };

/** A file of the format: `read` gives the values that are staged as `stagedColumns`, `write` the cells of `columns`. */
export type FileFormat<Row = never> = {
  columns: readonly string[];
  required: readonly string[];
  table: StagedTable;
  /** Of the staging table, after the line number. */
  stagedColumns: readonly string[];
  read: (row: CsvRow, context: RowContext) => CopyValue[];
  write: (row: Row, currencyCode: string) => CsvCell[];
  /** How a row can be deleted: its key columns, and the first values to stage. */
  removal?: { keys: readonly string[]; read: (row: CsvRow, context: RowContext) => CopyValue[] };
};

/** The column that marks it. */
export const DELETED = "deleted";
/** The column that marks a row as stated by its source: it may have values that are errors in a row written by hand. */
const AS_STATED = "as_stated";

const RETURN_STATUSES = ["REQUESTED", "OPEN", "CLOSED", "DECLINED", "CANCELED"] as const;
const RESTOCK_TYPES = ["RETURN", "NO_RESTOCK", "LEGACY_RESTOCK", "CANCEL"] as const;
const MAX_URL_BYTES = 4096;
const MAX_LIST_BYTES = 1024 * 1024;
/** Of a list of units: every pair of them may be compared. */
const MAX_ENTRIES = 1000;

/** A value in one column, written unchanged. */
function field<Value extends CsvCell>(
  column: string,
  read: (row: CsvRow, context: RowContext) => Value,
): Field<Value> {
  return { columns: [column], read, write: (value) => value };
}

/** The same for a cell that must not be empty. */
function needed<Value>({ columns, read, write }: Field<Value | null>): Field<Value> {
  const [column = ""] = columns;
  return {
    columns,
    isRequired: true,
    read: (row, context) => row.need(column, read(row, context) ?? null),
    write,
  };
}

const text = (column: string) => field(column, (row) => row.text(column));
const label = (column: string, maxBytes?: number) => field(column, (row) => row.label(column, maxBytes));
const units = (column: string) => field(column, (row) => row.units(column));
const time = (column: string) => field(column, (row) => row.time(column));
const day = (column: string) => field(column, (row) => row.day(column));

function flag(column: string): Field<boolean> {
  return { columns: [column], read: (row) => row.flag(column), write: (value) => (value ? "true" : null) };
}

function money(
  column: string,
  allowsNegative: (row: CsvRow) => boolean,
  currencyOf: (row: CsvRow) => string | null = () => null,
): Field<number | null> {
  return {
    ...field<number | null>(column, (row, { currencyCode }) =>
      row.money(column, currencyOf(row) ?? currencyCode, allowsNegative(row)),
    ),
    write: (minor, currencyCode) => decimalText(minor, currencyExponent(currencyCode)),
  };
}

/** An empty cell is 0. */
function orZero({ columns, read, write }: Field<number | null>): Field<number> {
  return {
    columns,
    read: (row, context) => read(row, context) ?? 0,
    write: (value, currencyCode) => (value === 0 ? null : write(value, currencyCode)),
  };
}

const productGid: Field<string> = {
  ...needed(text("product_id")),
  read: (row) => productGidOf(row.need("product_id", row.text("product_id"))),
};

type FormatOptions<Row> = {
  table: StagedTable;
  keys?: readonly (keyof Row)[];
  /** Of values that can be read. */
  check?: (row: CsvRow) => void;
};

type NamedField = Field<unknown> & { name: string };

function namedFields<Row>(fields: Fields<Row>): NamedField[] {
  return Object.entries<unknown>(fields).map(([name, each]) => ({ ...(each as Field<unknown>), name }));
}

function formatOf<Row extends object, Named extends NamedField>(
  all: readonly Named[],
  { table, keys, check }: FormatOptions<Row>,
  stagedColumns: readonly string[],
  staged: (fields: readonly Named[], values: readonly unknown[]) => CopyValue[],
): FileFormat<Row> {
  const ofKey = all.filter(({ name }) => keys?.includes(name as keyof Row));
  const columnsOf = (some: readonly Named[]): string[] => some.flatMap(({ columns }) => columns);
  return {
    columns: columnsOf(all),
    required: columnsOf(all.filter(({ isRequired = false }) => isRequired)),
    table,
    stagedColumns,
    read: (row, context) => {
      const values = all.map(({ read }) => read(row, context));
      check?.(row);
      return staged(all, values);
    },
    write: (values, currencyCode) =>
      all.flatMap(({ name, columns, write }) => {
        const value = values[name as keyof Row];
        return value === undefined || value === null ? columns.map(() => null) : write(value, currencyCode);
      }),
    ...(keys === undefined
      ? {}
      : {
          removal: {
            keys: columnsOf(ofKey),
            read: (row, context) =>
              staged(
                ofKey,
                ofKey.map(({ read }) => read(row, context)),
              ),
          },
        }),
  };
}

/** Each value has a column of the staging table, under its own name. */
function tableFormat<Row extends object>(fields: Fields<Row>, options: FormatOptions<Row>): FileFormat<Row> {
  const all = namedFields(fields);
  const names = all.map(({ name }) => name);
  return formatOf(all, options, names, (some, values) =>
    some.map(({ stage }, place) =>
      stage === undefined ? (values[place] as CopyValue) : stage(values[place]),
    ),
  );
}

type OfOrder = { orderId: string };

/** The values of a row of the three order files are staged as JSON; a deleted row has only its keys. */
function orderFormat<Row extends OfOrder>(
  kind: RowKind,
  fields: Fields<Row>,
  options: Omit<FormatOptions<Row>, "table">,
  defaults: object = {},
): FileFormat<Row> {
  const defaultValues: Record<string, unknown> = { ...ROW_DEFAULTS[kind], ...defaults };
  const all = namedFields(fields).map((each) => ({ ...each, defaultValue: defaultValues[each.name] }));
  return formatOf(
    all,
    { table: "staged_order_row", ...options },
    ["kind", "order_id", "record"],
    (some, values) => {
      let id: CopyValue = null;
      let record = "";
      for (const [place, { name, defaultValue }] of some.entries()) {
        const value = values[place];
        if (name === "orderId") id = value as string;
        else if (value !== undefined && value !== defaultValue)
          record += `${record === "" ? "" : ","}"${name}":${JSON.stringify(value)}`;
      }
      return [kind, id, `{${record}}`];
    },
  );
}

const orderId = needed(text("order_id"));
const lineId = needed(text("line_id"));

/** A refund marked as stated by its source may exceed its line. */
type Stated = { isAsStated: boolean };

/** In the order in which they are read. */
export const FILE_FORMATS = {
  products: tableFormat<ExportedProductRow>(
    {
      product_gid: productGid,
      title: needed(label("title")),
      handle: label("handle"),
      vendor: label("vendor"),
      family: label("family", 512),
      analytics_category: label("analytics_category", 512),
      image_url: label("image_url", MAX_URL_BYTES),
      image_alt: label("image_alt", MAX_URL_BYTES),
    },
    { table: "staged_product" },
  ),
  variants: tableFormat<VariantRow>(
    {
      variant_id: needed(text("variant_id")),
      product_gid: productGid,
      sku: text("sku"),
      title: label("title"),
      used: {
        columns: ["condition"],
        read: (row) => row.oneOf("condition", ["new", "used"]) === "used",
        write: (used) => (used ? "used" : "new"),
      },
      counterpart_sku: text("counterpart_sku"),
      unit_cost_minor: money("unit_cost", () => false),
      image_url: label("image_url", MAX_URL_BYTES),
      options: {
        // The platform allows three.
        columns: [1, 2, 3].flatMap((number) => [`option${number}_name`, `option${number}_value`]),
        read: readOptions,
        write: (options) =>
          [0, 1, 2].flatMap((at) => [options[at]?.name ?? null, options[at]?.value ?? null]),
        stage: (options) => JSON.stringify(options),
      },
    },
    { table: "staged_variant" },
  ),
  order_lines: orderFormat<DocumentLine & OfOrder>(
    "lines",
    {
      orderId,
      lineId,
      orderedAt: needed(field("ordered_at", readOrderedAt)),
      productId: text("product_id"),
      variantId: text("variant_id"),
      sku: text("sku"),
      title: label("title"),
      vendor: label("vendor"),
      units: needed(units("units")),
      unitPriceMinor: money("unit_price", () => true),
      test: flag("test"),
      canceledAt: time("canceled_at"),
      removedUnits: { ...units("removed_units"), read: (row) => row.units("removed_units") ?? 0 },
      giftCard: flag("gift_card"),
      changes: {
        columns: ["changes"],
        read: readChanges,
        write: (changes) => changes.map(changeText).join("; "),
      },
      reversals: {
        columns: ["reversals"],
        read: readReversals,
        write: (reversals) =>
          reversals.map(({ reversedAt, units: taken }) => `${reversedAt} ${taken}`).join("; "),
      },
      soldMinor: {
        columns: ["unit_discount", "sold_amount"],
        read: readSoldMinor,
        write: (minor, currencyCode) => [null, decimalText(minor, currencyExponent(currencyCode))],
      },
    },
    { keys: ["orderId", "lineId"] },
  ),
  returns: orderFormat<DocumentReturn & OfOrder & Stated>(
    "returns",
    {
      returnId: needed(text("return_id")),
      orderId,
      lineId,
      status: needed(field("status", (row) => row.oneOf("status", RETURN_STATUSES))),
      units: needed(units("units")),
      processedUnits: units("processed_units"),
      requestedAt: time("requested_at"),
      closedAt: time("closed_at"),
      reason: label("reason"),
      exchangedUnits: orZero(units("exchanged_units")),
      keptMinor: orZero(money("kept_amount", () => false)),
      isAsStated: { ...flag(AS_STATED), read: () => undefined },
    },
    { keys: ["returnId", "orderId", "lineId"], check: requireClosing },
  ),
  refunds: orderFormat<DocumentRefund & OfOrder & Stated>(
    "refunds",
    {
      refundId: needed(text("refund_id")),
      orderId,
      lineId,
      refundedAt: needed(time("refunded_at")),
      units: needed(units("units")),
      subtotalMinor: needed(money("subtotal", (row) => row.flag(AS_STATED))),
      restockType: field("restock_type", (row) => row.oneOf("restock_type", RESTOCK_TYPES) ?? "NO_RESTOCK"),
      returnId: text("return_id"),
      isAsStated: flag(AS_STATED),
    },
    { keys: ["refundId", "orderId", "lineId"] },
    { isAsStated: false },
  ),
  return_labels: tableFormat<ExportedLabel>(
    {
      label_id: needed(text("label_id")),
      order_id: text("order_id"),
      return_id: text("return_id"),
      tracking_number: text("tracking_number"),
      charged_at: needed(time("charged_at")),
      amount_minor: needed(money("amount", () => true, readCurrency)),
      currency_code: field("currency", (row, { currencyCode }) => readCurrency(row) ?? currencyCode),
      voided_at: time("voided_at"),
    },
    { table: "staged_label", keys: ["label_id"] },
  ),
  sale_events: tableFormat<SaleEventRow>(
    {
      slug: needed(text("slug")),
      label: needed(label("label")),
      starts_on: needed(day("starts_on")),
      ends_on: needed(day("ends_on")),
      skus: {
        columns: ["skus", "skus_json"],
        isRequired: false,
        read: readSkus,
        write: skusCells,
        stage: arrayText,
      },
    },
    { table: "staged_sale_event", keys: ["slug"], check: requireOrder },
  ),
} as const;

export type FileName = keyof typeof FILE_FORMATS;

export const FILE_NAMES = Object.keys(FILE_FORMATS) as FileName[];

/** Its amount is in its own currency. */
type ExportedLabel = Omit<ExportedLabelRow, "source" | "charged_at" | "voided_at"> & {
  charged_at: string;
  voided_at: string | null;
};

/** An option without a value is one that the variant does not have. */
function readOptions(row: CsvRow): { name: string; value: string }[] {
  return [1, 2, 3].flatMap((number) => {
    const column = `option${number}_name`;
    const [name, value] = [row.label(column), row.label(`option${number}_value`)];
    return value === null ? [] : [{ name: row.need(column, name), value }];
  });
}

function readOrderedAt(row: CsvRow, { latestOrderAt }: RowContext): string | null {
  const orderedAt = row.time("ordered_at");
  if (orderedAt === null || orderedAt <= latestOrderAt) return orderedAt;
  throw new CellProblem(
    "ordered_at",
    `is in the future: ${orderedAt}; an order may be dated up to a day from now, which is ${latestOrderAt}`,
    `a time of at most ${latestOrderAt}`,
  );
}

/** `2026-06-09T10:00:00Z +1 exchange; …`; empty cell: undefined. */
function readChanges(row: CsvRow): LineChange[] | undefined {
  const changes = readUnitList(row, "changes", {
    entry: /^(\S+) ([+-]\d{1,7}) (edit|exchange)$/,
    made: "times, units and causes",
    allowed: "changes such as 2026-06-09T10:00:00Z +1 exchange; 2026-06-20T10:00:00Z -1 edit",
  });
  return changes?.map(({ at, units: changed, word }) => ({
    changedAt: at,
    units: changed,
    by: word as LineChange["by"],
  }));
}

function changeText({ changedAt, units: changed, by }: LineChange): string {
  return `${changedAt} ${changed > 0 ? "+" : ""}${changed} ${by}`;
}

/**
 * M20: as stated, else of a price with its discount, rounded once for all units; of a price alone only where rounding it would
 * lose what units add up to. A price of Shopify may include tax, so it is not used alone.
 */
function readSoldMinor(row: CsvRow, { currencyCode }: RowContext): number | undefined {
  const soldMinor = row.money("sold_amount", currencyCode, true);
  if (soldMinor !== null) return soldMinor;
  const discountMinor = row.money("unit_discount", currencyCode, false);
  const stated = row.money("unit_price", currencyCode, true);
  if (discountMinor === null && (stated === null || isOfShopify(row))) return undefined;
  const priceMinor = row.need("unit_price", stated);
  const isExact = row.unrounded("unit_price") === null && row.unrounded("unit_discount") === null;
  const changed = readChanges(row)?.reduce((sum, change) => sum + change.units, 0) ?? 0;
  const soldUnits = (row.units("units") ?? 0) - (row.units("removed_units") ?? 0) + changed;
  const exponent = currencyExponent(currencyCode);
  const exactly = (column: string, minor: number): Decimal =>
    row.unrounded(column) ?? { digits: BigInt(minor), scale: exponent };
  const roundedOnce = (): number | null => {
    const [whole, less] = [exactly("unit_price", priceMinor), exactly("unit_discount", discountMinor ?? 0)];
    const scale = Math.max(whole.scale, less.scale);
    const digitsOf = (part: Decimal): bigint => part.digits * 10n ** BigInt(scale - part.scale);
    const digits = (digitsOf(whole) - digitsOf(less)) * BigInt(soldUnits);
    return roundedMinor({ digits, scale }, exponent);
  };
  const valueMinor = isExact ? (priceMinor - (discountMinor ?? 0)) * soldUnits : roundedOnce();
  if (valueMinor === null || Math.abs(valueMinor) > MAX_MINOR) {
    const allowed = `a price that the units of the line bring to at most ${decimalText(MAX_MINOR, exponent)}`;
    throw new CellProblem("unit_price", `is too large for ${soldUnits} units`, allowed);
  }
  return discountMinor === null && isExact ? undefined : valueMinor;
}

function isOfShopify(row: CsvRow): boolean {
  return row.text("line_id")?.startsWith("gid://shopify/") === true;
}

/** `2026-06-09T10:00:00Z 1; …`; empty cell: undefined. */
function readReversals(row: CsvRow): LineReversal[] | undefined {
  const reversals = readUnitList(row, "reversals", {
    entry: /^(\S+) (-?\d{1,7})$/,
    made: "times and units",
    allowed: "units taken back such as 2026-06-09T10:00:00Z 1; 2026-06-20T10:00:00Z 2",
  });
  return reversals?.map(({ at, units: taken }) => ({ reversedAt: at, units: taken }));
}

/** A cell's entries of a time, units and optionally a word, separated by `;`; none for an empty cell. */
function readUnitList(
  row: CsvRow,
  column: string,
  { entry, made, allowed }: { entry: RegExp; made: string; allowed: string },
): { at: string; units: number; word: string | undefined }[] | undefined {
  const parts = row.text(column, MAX_LIST_BYTES)?.split(";", MAX_ENTRIES + 1);
  if (parts !== undefined && parts.length > MAX_ENTRIES)
    throw new CellProblem(column, `has more than ${MAX_ENTRIES} entries`, `at most ${MAX_ENTRIES} entries`);
  return parts?.map((part) => {
    const [, written = "", changed, word] = entry.exec(part.trim()) ?? [];
    const at = instantOf(written);
    if (typeof at !== "string") {
      const found = JSON.stringify(part.trim().slice(0, 60));
      throw new CellProblem(column, `is not a list of ${made}: ${found}`, allowed);
    }
    return { at, units: Number(changed), word };
  });
}

function requireClosing(row: CsvRow): void {
  const status = row.oneOf("status", RETURN_STATUSES);
  if (status !== "CLOSED" || row.time("closed_at") !== null || row.flag(AS_STATED)) return;
  throw new CellProblem("closed_at", "is empty, but the status is CLOSED", "the time at which it was closed");
}

function requireOrder(row: CsvRow): void {
  const [startsOn, endsOn] = [row.day("starts_on"), row.day("ends_on")];
  if (startsOn === null || endsOn === null || endsOn >= startsOn) return;
  throw new CellProblem("ends_on", `is before starts_on: ${endsOn}`, `${startsOn} or a later day`);
}

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf("currency"));

function readCurrency(row: CsvRow): string | null {
  const code = row.label("currency")?.toUpperCase() ?? null;
  if (code !== null && !CURRENCIES.has(code)) {
    const reason = "is not a currency code of ISO 4217, such as EUR or USD";
    throw new CellProblem("currency", reason, "a currency code of three letters, such as EUR");
  }
  return code;
}

/** null: no SKUs. */
function readSkus(row: CsvRow): string[] | null {
  const list = row.text("skus_json", MAX_LIST_BYTES);
  const skus =
    list === null
      ? (row.text("skus", MAX_LIST_BYTES) ?? "").split(";").map((sku) => sku.trim())
      : readList("skus_json", list);
  const named = [...new Set(skus)].filter((sku) => sku !== "");
  return named.length === 0 ? null : named;
}

/** A SKU that the list of `skus` cannot hold makes it JSON. */
function skusCells(named: string[]): CsvCell[] {
  const skus = [...new Set(named)];
  const isPlain = skus.every((sku) => !sku.includes(";") && sku.trim() === sku);
  return isPlain ? [skus.join(";"), null] : [null, JSON.stringify(skus)];
}

/** As an array literal of PostgreSQL. */
function arrayText(named: string[] | null): string | null {
  if (named === null) return null;
  return `{${named.map((sku) => `"${sku.replaceAll(/["\\]/g, (found) => `\\${found}`)}"`).join(",")}}`;
}

/** A list of texts as JSON, without control characters. */
function readList(column: string, json: string): string[] {
  const list = parsedJson(json);
  const isList = Array.isArray(list) && list.every((item) => typeof item === "string");
  if (!isList) throw new CellProblem(column, "is not a JSON list of texts", `a list such as ["A;1","B"]`);
  return list.map((item) => withoutControls(item.toWellFormed()));
}

export type ExportedProductRow = Omit<ProductRow, "from_lines">;

export type ExportedLabelRow = Omit<LabelRow, "order_name" | "charged_at" | "voided_at"> & {
  source: string;
  charged_at: Date;
  voided_at: Date | null;
};
