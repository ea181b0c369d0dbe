import { html, unescapeHtml, type Html } from "../../lib/html.ts";
import type { PageCall, PageParameters } from "../page.ts";
import { csvText, guardedText } from "../../lib/csv-text.ts";

/** Where the report of these parameters is a CSV file; null = the plan has no export. */
export function csvHref(call: PageCall, parameters: PageParameters): string | null {
  return call.entitlements.includes("data_export") ? call.href("/export/report.csv", parameters) : null;
}

/** Where a table of this view is as a file, but for its id at the end; null = the plan has no export. */
export function tableHref(call: PageCall, path: string): string | null {
  const href = call.href(path, { ...call.query, csv: "-" });
  return call.entitlements.includes("data_export") ? href.slice(0, -1) : null;
}

/** The main table of a page, for its bar. */
export function barCsv(call: PageCall, path: string, id: string): Html | null {
  const href = tableHref(call, path);
  return href === null
    ? null
    : html`<a href="${href + id}" download="" title="Download the main table of this page">⤓ CSV</a>`;
}

/** The link to it, or why there is none. */
export function csvLink(href: string | null): Html {
  return html`${csvNote(href)}${href !== null && html`<p><a href="${href}" download="">All figures, for programs (CSV)</a></p>`}`;
}

/** Where charts link to the file: why they do not. */
export function csvNote(href: string | null): Html | null {
  return href === null ? html`<p class="note">Your plan does not include downloads as CSV.</p>` : null;
}

/**
 * A table or list of facts of a page as CSV, as shown: a line per row, with months, percent and money in words. `id`: of its
 * element; null: not on the page. The markup is the console's own: its texts are escaped, and tables are not nested.
 */
export function tableCsv(markup: string, id: string): string | null {
  if (!/^[\w-]+$/u.test(id)) return null;
  const from = markup.indexOf(` id="${id}"`);
  const found = from < 0 ? null : /<(table|dl)[\s>]/u.exec(markup.slice(from));
  if (found === null) return null;
  const [start, end] = [from + found.index, `</${found[1]}>`];
  const rows = markup
    .slice(start, markup.indexOf(end, start))
    .split(found[1] === "table" ? "<tr" : "<div")
    .slice(1);
  const cells = rows.map((row) =>
    row
      .split(/<(?:t[hd]|d[td])(?=[\s>])/u)
      .slice(1)
      .map(cellText),
  );
  return csvText(found[1] === "table" ? cells : [["Figure", "Value"], ...cells]);
}

/** The content of a cell, after the rest of its tag, without drawings and its card. */
function cellText(cell: string): string {
  const content = cell.slice(cell.indexOf(">") + 1, cell.search(/<\/(?:t[hd]|d[td])>|<span class="peek"|$/u));
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
