import { csvText, guardedText } from "../lib/csv-text.ts";
import { unescapeHtml } from "../lib/html.ts";

/**
 * A table of a page as CSV, as it is shown: a line per row, with months, percent and money in words. `id`: of the element that
 * holds it; null = the page has none. The markup is the console's own: texts in it are escaped, and no table holds another.
 */
export function tableCsv(markup: string, id: string): string | null {
  if (!/^[\w-]+$/u.test(id)) return null;
  const from = markup.indexOf(` id="${id}"`);
  const start = from < 0 ? -1 : markup.indexOf("<table", from);
  if (start < 0) return null;
  const table = markup.slice(start, markup.indexOf("</table>", start));
  const rows = table.split("<tr").slice(1);
  return csvText(
    rows.map((row) =>
      row
        .split(/<t[hd](?=[\s>])/u)
        .slice(1)
        .map(cellText),
    ),
  );
}

/** What stands in a cell, after the rest of its tag, without drawings. */
function cellText(cell: string): string {
  const content = cell.slice(cell.indexOf(">") + 1, cell.search(/<\/t[hd]>|$/u));
  const text = content
    .split("<svg")
    .map((part, index) =>
      index === 0 ? part : (part.split("</svg>").at(part.includes("</svg>") ? -1 : 1) ?? ""),
    )
    .join("")
    .split("<")
    .map((part, index) => {
      if (index === 0) return part;
      // Parts of a line stand together, such as both ends of an interval.
      const space = /^\/?(?:data|span|strong)\b/u.test(part) ? "" : " ";
      return space + part.slice(part.indexOf(">") + 1);
    })
    .join("");
  return guardedText(unescapeHtml(text).replaceAll(/\s+/gu, " ").trim());
}
