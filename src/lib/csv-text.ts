/** Rows as CSV: UTF-8 without BOM, CRLF, RFC 4180; null is an empty cell. Tables have millions of cells. */
export function csvText(rows: readonly (readonly (string | number | null)[])[]): string {
  return rows.map((cells) => `${cells.map(cellText).join(",")}\r\n`).join("");
}

function cellText(cell: string | number | null): string {
  const text = String(cell ?? "");
  return /[",\r\n]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A spreadsheet runs a cell that begins so; the apostrophe makes it text. Not for numbers, which may begin with a minus. */
export function guardedText(text: string): string {
  return /^[=+\-@\t\r]/u.test(text) ? `'${text}` : text;
}
