import type { Selector } from "../contract/selector.ts";
import { csvText, guardedText } from "../lib/csv-text.ts";
import type { ReportRow } from "./report-rows.ts";

const COLUMNS = ["section", "cohort_month", "key", "label", "metric", "value", "unit"] as const;

/** The rows as CSV in pieces, the header first: UTF-8 without BOM, CRLF, RFC 4180. */
export async function* reportCsv(batches: Iterable<readonly ReportRow[]>): AsyncGenerator<string> {
  yield csvText([[...COLUMNS]]);
  for (const rows of batches) {
    if (rows.length > 0) yield csvText(rows.map((row) => COLUMNS.map((column) => cellText(row[column]))));
  }
}

const SLUG_LENGTH = 60;

/** A file name of ASCII letters, digits, `-`, `_` and `.` only, whatever the selection is called. */
export function exportFilename(
  selector: Selector,
  range: { start_month: string; end_month: string; vendor?: string },
): string {
  const vendor = range.vendor === undefined ? [] : [slug("vendor", range.vendor)];
  const selection = selector.kind === "workspace" && vendor.length > 0 ? [] : [selectionSlug(selector)];
  return `returns-report_${[...selection, ...vendor].join("-")}_${range.start_month}_${range.end_month}.csv`;
}

/** Every value becomes text here, so that the writer never chooses a format. */
function cellText(value: ReportRow["value"]): string {
  if (value === null) return "";
  return typeof value === "string" ? guardedText(value) : String(value);
}

function selectionSlug({ kind, key }: Selector): string {
  if (kind === "workspace") return kind;
  return slug(kind.replaceAll("_", "-"), kind === "product" ? (key.split("/").at(-1) ?? "") : key);
}

function slug(kind: string, text: string): string {
  const plain = text
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    .replaceAll(/[^A-Za-z0-9]+/gu, "-")
    .slice(0, SLUG_LENGTH)
    .replaceAll(/^-|-$/gu, "");
  return plain === "" ? kind : `${kind}-${plain}`;
}
