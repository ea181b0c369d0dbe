import type { UploadView } from "../../../control/upload-view.ts";
import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import { count, instant } from "../../format.ts";
import type { PageCall } from "../../page.ts";
import { facts } from "../facts.ts";
import { dataTable } from "../table.ts";

type Result = NonNullable<UploadView["result"]>;
type Ended = UploadView & { now: Date };

/** 1 → "1 row". */
export function rowsOf(rows: number): string {
  return rows === 1 ? "1 row" : `${count(rows) as string} rows`;
}

const COLUMNS = [
  { text: "File" },
  { text: "Line", isNumber: true },
  { text: "Column" },
  { text: "What is wrong" },
  { text: "What is allowed" },
];

/** The first of the rows that an import could not use; the others are in a file, while it is kept. */
export function refusedRows(upload: Ended, result: Result, { href }: PageCall): Html {
  const { invalid, invalid_count: all, listed_count: listed } = result;
  const rows = invalid.map((row) => [
    html`${row.file}`,
    html`${row.line}`,
    html`${row.column ?? "the whole row"}`,
    html`${row.reason}`,
    html`${row.allowed}`,
  ]);
  const caption =
    invalid.length < all
      ? `The first ${count(invalid.length) as string} of ${rowsOf(all)} that cannot be used`
      : "Rows that cannot be used";
  const which = listed < all ? `the first ${count(listed) as string} of them` : "all of them";
  const action = href(`/settings/imports/${upload.upload_id}/refused-rows`);
  return html`${dataTable(caption, COLUMNS, rows)}
  ${
    upload.expires_at > upload.now &&
    html`<form method="post" action="${action}"><button class="quiet">Download ${which} as CSV</button></form>`
  }`;
}

const COUNT_NAMES: readonly (readonly [keyof Result["counts"], string])[] = [
  ["orders", "Orders"],
  ["changed_orders", "Orders that are new or changed"],
  ["order_lines", "Order lines"],
  ["returns", "Returns"],
  ["refunds", "Refunds"],
  ["products", "Products"],
  ["variants", "Variants"],
  ["return_labels", "Return labels"],
  ["sale_events", "Sale events"],
  ["deleted_rows", "Rows that remove something"],
];

/** What an import has brought, what it has left out, and what to know of it. */
export function uploadResult(upload: Ended, call: PageCall): Html {
  const result = upload.result as Result;
  const { counts, invalid_count: leftOut, warnings } = result;
  return html`<p class="banner done">
      The files are imported, complete up to ${instant(upload.as_of.toISOString())}.
      <a href="${call.href("")}">See the figures</a>
    </p>
    ${facts(COUNT_NAMES.map(([name, text]) => ({ name: text, value: html`${count(counts[name])}` })))}
    ${leftOut > 0 && html`<h2>Left out: ${rowsOf(leftOut)}</h2>`}
    ${leftOut > 0 && refusedRows(upload, result, call)} ${warnings.length > 0 && warningList(warnings)}
    <p><a href="${call.href("/settings/imports")}">Import other files</a></p>`;
}

const OLD_ORDERS =
  "The newest order is more than a week older than the day up to which the files are said to be complete, so months " +
  "without orders look complete. If the files end earlier, import them again with the last day that they cover.";

function warningList(warnings: Result["warnings"]): Html {
  return html`<h2>What to know</h2>
    <ul>
      ${warnings.map(({ kind, file, message, count: often }) => {
        const place = file === null ? "" : `${file}: `;
        const times = often === null ? "" : ` (${count(often) as string})`;
        // The command names its option.
        return html`<li>${kind === "old_orders" ? OLD_ORDERS : `${place}${message}${times}.`}</li>`;
      })}
    </ul>`;
}
