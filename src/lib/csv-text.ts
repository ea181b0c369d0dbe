import { stringify } from "csv-stringify/sync";

/** Rows of text as CSV: UTF-8 without BOM, CRLF, RFC 4180. */
export function csvText(rows: readonly (readonly string[])[]): string {
  // A lone CR or LF is not this file's line end, so the writer would leave it unquoted.
  return stringify([...rows], { record_delimiter: "\r\n", quoted_match: /[\r\n]/u });
}

/** A spreadsheet runs a cell that begins so; the apostrophe makes it text. Not for numbers, which may begin with a minus. */
export function guardedText(text: string): string {
  return /^[=+\-@\t\r]/u.test(text) ? `'${text}` : text;
}
