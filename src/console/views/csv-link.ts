import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { PageCall, Parameters } from "../page.ts";

/** Where the report of these parameters is a file; null = the plan has no export. */
export function csvHref(call: PageCall, parameters: Parameters): string | null {
  return call.entitlements.includes("data_export") ? call.href("/export/report.csv", parameters) : null;
}

export function csvLink(call: PageCall, parameters: Parameters): Html {
  const href = csvHref(call, parameters);
  return href === null
    ? html`<p class="note">Your plan does not include downloads as CSV.</p>`
    : html`<p><a href="${href}" download>Download as CSV</a></p>`;
}
