type Cell = string | number | boolean | null;

/** Rows as CSV: UTF-8 without BOM, RFC 4180, with its CRLF unless told otherwise; null is an empty cell. */
export function csvText(rows: readonly (readonly Cell[])[], lineEnd = "\r\n"): string {
  return rows.map((cells) => cells.map(cellText).join(",") + lineEnd).join("");
}

function cellText(cell: Cell): string {
  const text = String(cell ?? "");
  return /[",\r\n]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A spreadsheet runs a cell that begins so; the apostrophe makes it text. Not for numbers, which may begin with a minus. */
export function guardedText(text: string): string {
  return /^[=+\-@\t\r]/u.test(text) ? `'${text}` : text;
}
