import type { UploadsView, UploadView } from "../../../control/upload-view.ts";
import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import { count, instant } from "../../format.ts";
import type { PageCall } from "../../page.ts";
import { dataTable } from "../table.ts";
import { uploadForm } from "./upload-form.ts";

const WORDS: Readonly<Record<UploadView["status"], string>> = {
  sending: "Being sent",
  waiting: "Waits for its import",
  importing: "Being imported",
  refused: "Refused",
  imported: "Imported",
  canceled: "Given up",
  expired: "Expired",
};

/** How things stand, in one line. */
export function aboutUploads({ open, ended }: UploadsView): string {
  const upload = open ?? ended[0];
  if (upload === undefined) return "No folder was sent yet";
  return `${WORDS[upload.status]}: the upload of ${instant(upload.created_at.toISOString()) as string}`;
}

/** Where the next folder is chosen, or the upload under way; then the earlier ones. */
export function uploadList({ open, ended, connected_store: store }: UploadsView, call: PageCall): Html {
  return html`<p>
      Send a folder of CSV files, one row for each order line, return and refund.
      <a href="/docs/your-data">What the files hold</a>
    </p>
    ${store !== null && besideStore(store)} ${open === null ? uploadForm(null, call) : underWay(open, call)}
    ${ended.length > 0 && earlier(ended, call)}`;
}

function besideStore(store: string): Html {
  return html`<p class="banner">
    Orders and products of this workspace come from ${store}. Beside them, only return_labels.csv and
    sale_events.csv can be imported.
  </p>`;
}

function underWay(upload: UploadView, { href }: PageCall): Html {
  return html`<p class="banner">
    An upload that ${upload.created_by} began on ${instant(upload.created_at.toISOString())} is under way:
    ${WORDS[upload.status].toLowerCase()}.
    <a href="${href(`/settings/imports/${upload.upload_id}`)}">Continue it, or give it up</a>
  </p>`;
}

function earlier(uploads: readonly UploadView[], { href }: PageCall): Html {
  const columns = [{ text: "Begun" }, { text: "By" }, { text: "State" }, { text: "Orders", isNumber: true }];
  const rows = uploads.map((upload) => [
    html`<a href="${href(`/settings/imports/${upload.upload_id}`)}"
      >${instant(upload.created_at.toISOString())}</a
    >`,
    html`${upload.created_by}`,
    html`${WORDS[upload.status]}`,
    html`${upload.status === "imported" ? count(upload.result?.counts.orders ?? 0) : "–"}`,
  ]);
  return html`<section>
    <h2>Earlier uploads</h2>
    ${dataTable("Uploads of the last 30 days", columns, rows)}
  </section>`;
}
