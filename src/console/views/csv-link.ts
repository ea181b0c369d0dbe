import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { PageCall, PageParameters } from "../page.ts";

/** Where the report of these parameters is a CSV file; null = the plan has no export. */
export function csvHref(call: PageCall, parameters: PageParameters): string | null {
  return call.entitlements.includes("data_export") ? call.href("/export/report.csv", parameters) : null;
}

/** The link to it, or why there is none. */
export function csvLink(href: string | null): Html {
  return html`${csvNote(href)}${href !== null && html`<p><a href="${href}" download="">Download as CSV</a></p>`}`;
}

/** Where charts link to the file: why they do not. */
export function csvNote(href: string | null): Html | null {
  return href === null ? html`<p class="note">Your plan does not include downloads as CSV.</p>` : null;
}
