import { csvText, guardedText } from "../lib/csv-text.ts";
import { formatFields, formatTable, PLAIN, type Cell, type TextStyle } from "../lib/table.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Columns for programs only. */
const HIDDEN_COLUMNS: ReadonlySet<string> = new Set([
  "columns",
  "handle",
  "id",
  "link_label",
  "link_url",
  "metadata",
  "product_image_alt_text",
  "product_image_url",
  "selector",
  "shopify_product_gid",
  "store_product_gid",
]);

/** An answer's data for people: its lists as tables, everything else as names and values. */
export function dataText(data: unknown, columns: readonly string[], style: TextStyle = PLAIN): string {
  if (Array.isArray(data)) return tableText(data as Fields[], columns, style);
  const { rows, ...rest } = data as Fields;
  const table = Array.isArray(rows) ? [tableText(rows as Fields[], columns, style)] : [];
  const plain = Object.entries(rest).filter(([, value]) => isPlain(value));
  const parts = Object.entries(rest).filter(([, value]) => !isPlain(value));
  return [
    ...table,
    ...(plain.length === 0 ? [] : [fieldsText(Object.fromEntries(plain), style)]),
    ...parts.map(([name, value]) => `${name}\n${partText(value, style)}`),
  ].join("\n");
}

/** Rows as CSV with a header: CRLF, RFC 4180, text guarded as in the service's own export. */
export function rowsCsv(data: unknown, columns: readonly string[]): string {
  const list = Array.isArray(data) ? data : ((data as Fields)["rows"] ?? [data]);
  const lines = (list as Fields[]).map((row) => columns.map((column) => csvCell(row[column])));
  return csvText([columns, ...lines]);
}

function partText(value: unknown, style: TextStyle): string {
  if (Array.isArray(value)) return partTable(value as Fields[], style);
  const { rows, ...rest } = value as Fields;
  if (!Array.isArray(rows)) return fieldsText(value as Fields, style);
  return `${fieldsText(rest, style)}\n${partTable(rows as Fields[], style)}`;
}

/** Rows whose columns no contract lists: those that any of them has, `{a: {b: 1}}` as `a.b`. */
function partTable(rows: readonly Fields[], style: TextStyle): string {
  const flat = rows.map((row) => {
    const shown = Object.entries(row).filter(([name]) => !HIDDEN_COLUMNS.has(name));
    return Object.fromEntries(flattened(Object.fromEntries(shown)));
  });
  return tableText(flat, [...new Set(flat.flatMap((row) => Object.keys(row)))], style);
}

/** Empty columns are left out. */
function tableText(rows: readonly Fields[], columns: readonly string[], style: TextStyle): string {
  if (rows.length === 0) return "No rows.\n";
  const shown = columns.filter(
    (column) => !HIDDEN_COLUMNS.has(column) && rows.some((row) => (row[column] ?? null) !== null),
  );
  return formatTable(
    shown,
    rows.map((row) => shown.map((column) => cellOf(row[column]))),
    style,
  );
}

function fieldsText(fields: Fields, style: TextStyle): string {
  return formatFields(
    Object.fromEntries(flattened(fields).map(([name, value]) => [name, cellOf(value)])),
    style,
  );
}

/** `{a: {b: 1}}` as `a.b`. */
function flattened(fields: Fields): [string, unknown][] {
  return Object.entries(fields).flatMap(([name, value]): [string, unknown][] =>
    isObject(value) && !Array.isArray(value)
      ? flattened(value).map(([inner, cell]) => [`${name}.${inner}`, cell])
      : [[name, value]],
  );
}

/** A store's texts could contain terminal control sequences. */
function cellOf(value: unknown): Cell {
  if (typeof value === "string")
    return value.toWellFormed().replaceAll(/[\u0000-\u001f\u007f-\u009f]/gu, "?");
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (isTextList(value)) return value.length === 0 ? null : cellOf(value.join(" "));
  return value === null || value === undefined ? null : cellOf(JSON.stringify(value));
}

function csvCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const cell = isTextList(value)
    ? value.join(" ")
    : typeof value === "string"
      ? value
      : JSON.stringify(value);
  return guardedText(cell);
}

/** A value that fits next to its name: not an object or a list of rows. */
function isPlain(value: unknown): boolean {
  return !isObject(value) || isTextList(value);
}

/** A list of texts, such as months; an empty list of rows looks the same. */
function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}
