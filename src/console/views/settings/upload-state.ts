import type { showUpload, UploadView } from "../../../control/upload-view.ts";
import { html } from "../../../lib/html.ts";
import type { Html } from "../../../lib/html.ts";
import { instant } from "../../format.ts";
import type { PageCall } from "../../page.ts";
import { refusal } from "../form.ts";
import { progress } from "../progress.ts";
import { refusedRows, rowsOf, uploadResult } from "./upload-result.ts";

export type ShownUpload = Awaited<ReturnType<typeof showUpload>> & { now: Date };

/** What there is to know of an upload in its state, and what can be done with it but choosing files. */
export function uploadState(upload: ShownUpload, call: PageCall): Html {
  const refusals = ["import.request", "import.cancel", "import.refused_rows"];
  return html`${refusals.map((action) => refusal(call, action))} ${bodyOf(upload, call)}`;
}

function bodyOf(upload: ShownUpload, call: PageCall): Html {
  switch (upload.status) {
    case "sending":
      return html`<p>${arrived(upload)} It can be continued until ${time(upload.expires_at)}.</p>
        ${giveUp(upload, call)}`;
    case "waiting":
    case "importing":
      return underWay(upload, call);
    case "refused":
      return refused(upload, call);
    case "imported":
      return uploadResult(upload, call);
    case "canceled":
      return over("This upload was given up. Nothing of it was imported.", call);
    case "expired":
      return over(
        "This upload has expired: there were 24 hours to send and correct it. Nothing of it was imported.",
        call,
      );
  }
}

function over(sentence: string, { href }: PageCall): Html {
  return html`<p>${sentence}</p>
    <p><a href="${href("/settings/imports")}">Import other files</a></p>`;
}

function arrived({ sent_bytes: sent, total_bytes: total }: UploadView): string {
  return `${megabytes(sent)} of ${megabytes(total)} MB have arrived.`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

function time(at: Date): string {
  return instant(at.toISOString()) as string;
}

/** Orders are counted by their rows, files by their kilobytes. */
function underWay(upload: ShownUpload, call: PageCall): Html {
  const { step, done, total, started_at: startedAt, now } = upload;
  const waits = upload.status === "waiting" || step === null;
  const isOfFiles = step !== null && /^(?:Reading|Joining)/u.test(step);
  const scale = (value: number): number => (isOfFiles ? Math.ceil(value / 1000) : value);
  const job = {
    stage: waits ? "Waiting for its import" : isOfFiles ? `${step} (kB)` : step,
    done: waits || total === null || total <= 1 ? null : scale(done),
    total: waits || total === null || total <= 1 ? null : scale(total),
    startedAt: upload.status === "waiting" ? null : startedAt,
    endedAt: null,
    nextHref: null,
  };
  return html`${upload.status === "waiting" && !upload.has_worker && noWorker()} ${progress(job, now)}
  ${upload.status === "waiting" && giveUp(upload, call)}`;
}

function noWorker(): Html {
  return html`<p class="banner warn">
    No worker is running, so the import has to wait. Whoever runs this installation can start one.
  </p>`;
}

function refused(upload: ShownUpload, call: PageCall): Html {
  const { result, error, expires_at: expiresAt } = upload;
  const rows = error === null ? (result?.invalid_count ?? 0) : 0;
  return html`<p class="banner refused">
      <strong>Nothing was imported.</strong>
      ${error ?? `${rowsOf(rows)} cannot be used. Correct them, or import without them.`}
    </p>
    <p>The files are kept until ${time(expiresAt)}.</p>
    ${result !== null && rows > 0 && refusedRows(upload, result, call)}
    ${
      rows > 0
        ? importButton(
            upload,
            call,
            `Import without ${rows === 1 ? "this row" : `these ${rowsOf(rows)}`}`,
            "invalid",
          )
        : importButton(upload, call, "Try again", "")
    }
    ${giveUp(upload, call)}`;
}

/** `without`: "invalid" = the rows that cannot be used; empty = none. */
function importButton(
  { upload_id: id }: UploadView,
  { href }: PageCall,
  text: string,
  without: string,
): Html {
  return html`<form method="post" action="${href(`/settings/imports/${id}/import`)}">
    <input type="hidden" name="without" value="${without}" />
    <button>${text}</button>
  </form>`;
}

function giveUp({ upload_id: id }: UploadView, { href }: PageCall): Html {
  return html`<form method="post" action="${href(`/settings/imports/${id}/cancel`)}">
    <button class="quiet">Give this upload up</button>
  </form>`;
}
