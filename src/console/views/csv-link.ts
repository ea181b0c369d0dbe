import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { PageCall, PageParameters } from "../page.ts";

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
