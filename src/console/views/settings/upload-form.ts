import { UPLOAD_RULES } from "../../../control/upload-view.ts";
import type { UploadView } from "../../../control/upload-view.ts";
import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import type { PageCall } from "../../page.ts";

const PATH = "/settings/imports";

/**
 * Where files are chosen; `upload.js` checks and sends them. Of an upload that has begun (null = none has), its missing or
 * corrected files; null = it takes none.
 */
export function uploadForm(upload: UploadView | null, { href, shopDomain }: PageCall): Html | null {
  if (upload !== null && upload.status !== "sending" && upload.status !== "refused") return null;
  const own = upload === null ? "" : href(`${PATH}/${upload.upload_id}`);
  return html`<section
      class="progress"
      data-upload="${own}"
      data-start="${href(PATH)}"
      data-rules="${JSON.stringify(UPLOAD_RULES)}"
      hidden=""
    >
      <h2>${titleOf(upload)}</h2>
      <form>
        <p class="field">
          <label for="upload-folder">Folder with the files</label>
          <input id="upload-folder" type="file" webkitdirectory="" multiple="" />
        </p>
        <p class="field">
          <label for="upload-files">Or single files of it</label>
          <input id="upload-files" type="file" multiple="" accept=".csv,.gz" />
        </p>
        ${upload === null && lastDay()}
        <p data-chosen="" class="note"></p>
        <div data-problems=""></div>
        <button disabled="">${buttonOf(upload)}</button>
      </form>
      <progress hidden="" aria-label="Sent"></progress>
      <p class="stage" role="status"></p>
    </section>
    <noscript>
      <h2>${titleOf(upload)}</h2>
      <p>
        Sending files by browser needs JavaScript, which is off here. Whoever runs this installation can import
        the folder by command:
      </p>
      <pre><code>./returns import ./folder --workspace ${shopDomain}</code></pre>
    </noscript>`;
}

function titleOf(upload: UploadView | null): string {
  if (upload === null) return "Choose the files";
  return upload.status === "sending" ? "Choose the same files to continue" : "Correct and send again";
}

function buttonOf(upload: UploadView | null): string {
  if (upload === null) return "Upload and import";
  return upload.status === "sending" ? "Continue" : "Send again";
}

/** M5 in an owner's words. */
function lastDay(): Html {
  return html`<p class="field">
    <label for="upload-last-day">Last day that the files cover, in UTC</label>
    <input id="upload-last-day" name="last_day" type="date" aria-describedby="upload-last-day-hint" />
    <small id="upload-last-day-hint"
      >Leave it empty when the files go up to now. What happened after that day counts as not known yet.</small
    >
  </p>`;
}
