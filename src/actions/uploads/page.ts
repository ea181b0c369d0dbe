import { Readable } from "node:stream";
import { buttonFor, formOf } from "../../console/action-form.ts";
import { count, isoInstant, isoDay } from "../../console/format.ts";
import { definePage, type PageCall } from "../../console/page.ts";
import { facts, tableOf } from "../../console/views/blocks.ts";
import { refusal } from "../../console/views/form.ts";
import { progress } from "../../console/views/progress.ts";
import { html, type Html } from "../../lib/html.ts";
import type { Database } from "../../store/database.ts";
import { findConnectedStore } from "../../store/queries/data-source.ts";
import { readPart } from "../../store/queries/import-upload.ts";
import { findUpload, listParts, listUploads, sumPartBytes, type UploadRow } from "./queries.ts";
import { hasWorker } from "../../store/queries/worker-health.ts";
import { FILE_FORMATS, FILE_NAMES } from "../../sync/connectors/csv/file-formats.ts";
import { PART_BYTES, partCountOf, REFUSED_ROWS_FILE } from "../../sync/connectors/csv/import-upload.ts";
import type { UploadResult } from "../../sync/connectors/csv/import-upload.ts";
import type { WorkspaceCaller } from "../action.ts";
import { requireRight } from "../right.ts";
import { IMPORTS_PATH as PATH, sourcePath } from "../console-address.ts";
import {
  cancelUpload,
  importData,
  putPart,
  replaceFile,
  requestImport,
  requireUpload,
  startUpload,
  stepLabel,
} from "./actions.ts";

const UPLOAD_PATH = `${PATH}/:id`;

/** An upload as its page shows it. */
type UploadView = Omit<UploadRow, "result" | "stage"> & {
  result: UploadResult | null;
  /** The current step of its import in words; null: none yet. */
  step: string | null;
  /** Arrived and expected bytes of its files. */
  sent_bytes: number;
  total_bytes: number;
};

/** The one that is shown. */
type ShownUpload = UploadView & { has_worker: boolean; now: Date };

/** The uploads of a workspace, and what sending another one takes. */
type UploadsView = {
  /** The one that is open; null = another can begin. */
  open: UploadView | null;
  /** The newest first. */
  ended: UploadView[];
  /** The store that brings orders and catalogue by itself; null = none does. */
  connected_store: string | null;
};

/** The checks of the page's script before anything is sent. */
const UPLOAD_RULES = {
  part_bytes: PART_BYTES,
  /** Required header columns of each file; with a column `deleted`, the second list suffices. */
  columns: Object.fromEntries(
    FILE_NAMES.map((name) => {
      const { required, removal } = FILE_FORMATS[name];
      return [name, [required, removal?.keys ?? required]];
    }),
  ),
};

const MOST_UPLOADS = 20;
const OPEN: ReadonlySet<string> = new Set(["sending", "waiting", "importing", "refused"]);

/** Upload form for CSV folders, and earlier uploads. */
const importsPage = definePage<UploadsView>({
  name: "imports",
  path: PATH,
  right: importData,
  link: "Import files",
  about: async (call) => aboutUploads(await showUploads(call)),
  data: showUploads,
  view: (uploads, call) => ({
    title: "Import files",
    body: html`<h1>Import files</h1>
      ${uploadList(uploads, call)}`,
  }),
  forms: [
    formOf(startUpload, {
      isScript: true,
      follow: ({ result }, { href }) => ({ json: { href: href(`${PATH}/${result.upload_id}`) } }),
    }),
  ],
});

/** One upload: its progress, then the import's result. */
const importPage = definePage<ShownUpload>({
  name: "import",
  path: UPLOAD_PATH,
  right: importData,
  data: showUpload,
  view: (upload, call) => ({
    title: "Import",
    isRunning: upload.status === "waiting" || upload.status === "importing",
    body: html`<h1>Import of ${isoDay(upload.created_at)}</h1>
      ${uploadState(upload, call)} ${uploadForm(upload, call)}`,
  }),
  forms: [
    {
      name: "import.parts",
      path: `${UPLOAD_PATH}/parts`,
      right: importData,
      isScript: true,
      perform: async ({ path, caller }) => ({
        json: { files: await showParts(await caller(), path["id"] ?? "") },
      }),
    },
    formOf(putPart, {
      path: `${UPLOAD_PATH}/parts/:file/:part`,
      isScript: true,
      follow: () => ({ json: {} }),
    }),
    formOf(replaceFile, { path: `${UPLOAD_PATH}/files`, isScript: true, follow: () => ({ json: {} }) }),
    formOf(requestImport, { path: `${UPLOAD_PATH}/import` }),
    formOf(cancelUpload, {
      path: `${UPLOAD_PATH}/cancel`,
      follow: ({ done }, { href }) => ({ href: href(PATH), done }),
    }),
    {
      name: "import.refused_rows",
      path: `${UPLOAD_PATH}/refused-rows`,
      right: importData,
      perform: async ({ path, caller }) => {
        const body = Readable.from(await readRefusedRows(await caller(), path["id"] ?? ""), {
          objectMode: false,
        });
        return { file: { name: "refused-rows.csv", type: "text/csv; charset=utf-8", body } };
      },
    },
  ],
});

export const UPLOAD_PAGES = [importsPage, importPage] as const;

async function showUploads({ caller }: PageCall): Promise<UploadsView> {
  const { database, workspace } = await caller();
  const { shop_key: shopKey } = workspace;
  const rows = await listUploads(database, shopKey, MOST_UPLOADS);
  const open = rows.find(({ status }) => OPEN.has(status));
  return {
    open: open === undefined ? null : await viewOf(database, shopKey, open),
    ended: rows.filter((row) => row !== open).map((row) => ({ ...shown(row), sent_bytes: 0 })),
    connected_store: await findConnectedStore(database, shopKey),
  };
}

/** Throws not_found for an upload that the workspace does not have. */
async function showUpload({ caller, path }: PageCall): Promise<ShownUpload> {
  const { database, workspace, now } = await caller();
  const { shop_key: shopKey } = workspace;
  const row = await requireUpload(database, shopKey, path["id"] ?? "", findUpload);
  return { ...(await viewOf(database, shopKey, row)), has_worker: await hasWorker(database), now };
}

async function viewOf(database: Database, shopKey: number, row: UploadRow): Promise<UploadView> {
  const sent = await sumPartBytes(database, shopKey, row.upload_id, REFUSED_ROWS_FILE);
  return { ...shown(row), sent_bytes: sent };
}

function shown({ stage, result, ...row }: UploadRow): Omit<UploadView, "sent_bytes"> {
  return {
    ...row,
    result: result as UploadResult | null,
    step: stage === null ? null : stepLabel(stage),
    total_bytes: row.files.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Each file of an upload with the SHA-256 of its parts in order, null for those that are missing. */
type SentFiles = { name: string; bytes: number; parts: (string | null)[] }[];

/** The stored parts of an upload, to continue it. Throws not_found as `showUpload`. */
async function showParts(
  { database, actor, workspace }: WorkspaceCaller,
  uploadId: string,
): Promise<SentFiles> {
  requireRight(actor, importData);
  const { shop_key: shopKey } = workspace;
  const row = await requireUpload(database, shopKey, uploadId, findUpload);
  const there = new Map(
    (await listParts(database, shopKey, uploadId)).map((part) => [
      `${part.file_name}/${part.part_number}`,
      part.sha256,
    ]),
  );
  return row.files.map((file) => ({
    ...file,
    parts: Array.from({ length: partCountOf(file) }, (_, part) => there.get(`${file.name}/${part}`) ?? null),
  }));
}

/**
 * The invalid rows of an upload's import as CSV, part by part; empty after they are deleted. Throws not_found as `showUpload`.
 */
async function readRefusedRows(
  { database, actor, workspace }: WorkspaceCaller,
  uploadId: string,
): Promise<AsyncGenerator<Buffer>> {
  requireRight(actor, importData);
  await requireUpload(database, workspace.shop_key, uploadId, findUpload);
  return partsOf(database, workspace.shop_key, uploadId);
}

async function* partsOf(database: Database, shopKey: number, uploadId: string): AsyncGenerator<Buffer> {
  for (let part = 0; ; part += 1) {
    const bytes = await readPart(database, { shopKey, uploadId, fileName: REFUSED_ROWS_FILE, part });
    if (bytes === null) return;
    yield bytes;
  }
}

const WORDS: Readonly<Record<UploadView["status"], string>> = {
  sending: "Receiving files",
  waiting: "Queued for import",
  importing: "Being imported",
  refused: "Refused",
  imported: "Imported",
  canceled: "Canceled",
  expired: "Expired",
};

/** How things stand, in one line. */
function aboutUploads({ open, ended }: UploadsView): string {
  const upload = open ?? ended[0];
  if (upload === undefined) return "Nothing has been uploaded yet";
  return `${WORDS[upload.status]}: the upload of ${isoInstant(upload.created_at)}`;
}

/** Where the next folder is chosen, or the upload under way; then the earlier ones. */
function uploadList({ open, ended, connected_store: store }: UploadsView, call: PageCall): Html {
  return html`<p>
      Send a folder of CSV or Parquet files, one row for each order line, return and refund.
      <a href="/docs/your-data">What the files hold</a>
    </p>
    ${store !== null && besideStore(store)} ${open === null ? uploadForm(null, call) : openUpload(open, call)}
    ${ended.length > 0 && earlier(ended, call)}`;
}

function besideStore(store: string): Html {
  return html`<p class="banner">
    Orders and products of this workspace come from ${store}. Besides these, only return_labels.csv and
    sale_events.csv can be imported.
  </p>`;
}

function openUpload(upload: UploadView, { href }: PageCall): Html {
  return html`<p class="banner">
    An upload that ${upload.created_by} began on ${isoInstant(upload.created_at)} is under way:
    ${WORDS[upload.status].toLowerCase()}.
    <a href="${href(`${PATH}/${upload.upload_id}`)}">Continue or cancel it</a>
  </p>`;
}

function earlier(uploads: readonly UploadView[], { href }: PageCall): Html {
  return html`<section>
    <h2>Earlier uploads</h2>
    ${tableOf("Uploads of the last 30 days", uploads, [
      [
        "Started",
        ({ upload_id: id, created_at: at }) => html`<a href="${href(`${PATH}/${id}`)}">${isoInstant(at)}</a>`,
      ],
      ["By", ({ created_by: by }) => by],
      ["State", ({ status }) => WORDS[status]],
      [
        "Orders",
        ({ status, result }) => (status === "imported" ? count(result?.counts.orders ?? 0) : "–"),
        "number",
      ],
    ])}
  </section>`;
}

/**
 * Where files are chosen; `upload.js` checks and sends them. Of an upload that has begun (null = none has), its missing or
 * corrected files; null = it takes none.
 */
function uploadForm(upload: UploadView | null, { href, shopDomain }: PageCall): Html | null {
  if (upload !== null && upload.status !== "sending" && upload.status !== "refused") return null;
  const own = upload === null ? "" : href(`${PATH}/${upload.upload_id}`);
  return html`<section
      class="progress"
      data-upload="${own}"
      data-start="${href(PATH)}"
      data-connect="${href(sourcePath("shopify", "/connect"))}"
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
          <input id="upload-files" type="file" multiple="" accept=".csv,.gz,.parquet" />
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
        Uploading files in the browser needs JavaScript, which is off here. The operator of this service can import
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
      >Leave it empty if the files are up to date. Everything after that day counts as not known yet.</small
    >
  </p>`;
}

/** An upload's state, and its actions besides choosing files. */
function uploadState(upload: ShownUpload, call: PageCall): Html {
  const refusals = [requestImport.name, cancelUpload.name, "import.refused_rows"];
  return html`${refusals.map((action) => refusal(call, action))} ${bodyOf(upload, call)}`;
}

function bodyOf(upload: ShownUpload, call: PageCall): Html {
  switch (upload.status) {
    case "sending":
      return html`<p>${arrived(upload)} It can be continued until ${isoInstant(upload.expires_at)}.</p>
        ${cancelButton(call)}`;
    case "waiting":
    case "importing":
      return underWay(upload, call);
    case "refused":
      return refused(upload, call);
    case "imported":
      return uploadResult(upload, call);
    case "canceled":
      return over("This upload was canceled. Nothing of it was imported.", call);
    case "expired":
      return over(
        "This upload has expired: there were 24 hours to send and correct it. Nothing of it was imported.",
        call,
      );
  }
}

function over(sentence: string, { href }: PageCall): Html {
  return html`<p>${sentence}</p>
    <p><a href="${href(PATH)}">Import other files</a></p>`;
}

function arrived({ sent_bytes: sent, total_bytes: total }: UploadView): string {
  return `${megabytes(sent)} of ${megabytes(total)} MB have arrived.`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

/** Orders are counted by their rows, files by their kilobytes. */
function underWay(upload: ShownUpload, call: PageCall): Html {
  const { step, done, total, started_at: startedAt, now } = upload;
  const waits = upload.status === "waiting" || step === null;
  const isOfFiles = step !== null && /^(?:Reading|Joining)/u.test(step);
  const scale = (value: number): number => (isOfFiles ? Math.ceil(value / 1000) : value);
  const job = {
    stage: waits ? WORDS[upload.status] : isOfFiles ? `${step} (kB)` : step,
    done: waits || total === null || total <= 1 ? null : scale(done),
    total: waits || total === null || total <= 1 ? null : scale(total),
    startedAt: upload.status === "waiting" ? null : startedAt,
    endedAt: null,
    nextHref: null,
  };
  return html`${upload.status === "waiting" && !upload.has_worker && noWorker()} ${progress(job, now)}
  ${upload.status === "waiting" && cancelButton(call)}`;
}

function noWorker(): Html {
  return html`<p class="banner warn">
    No worker is running, so the import has to wait. The operator of this service can start one.
  </p>`;
}

function refused(upload: ShownUpload, call: PageCall): Html {
  const { result, error, expires_at: expiresAt } = upload;
  const rows = error === null ? (result?.invalid_count ?? 0) : 0;
  return html`<p class="banner refused">
      <strong>Nothing was imported.</strong>
      ${error ?? `${rowsOf(rows)} cannot be used. Correct them, or import without them.`}
    </p>
    <p>The files are kept until ${isoInstant(expiresAt)}.</p>
    ${result !== null && rows > 0 && refusedRows(upload, result, call)}
    ${importButton(call, rows)} ${cancelButton(call)}`;
}

/** `rows`: how many cannot be used, and are left out. */
function importButton(call: PageCall, rows: number): Html {
  if (rows === 0) return buttonFor(call, requestImport, { button: "Try again" });
  const button = `Import without ${rows === 1 ? "this row" : `these ${rowsOf(rows)}`}`;
  return buttonFor(call, requestImport, { button, kept: { skip_invalid: "yes" } });
}

function cancelButton(call: PageCall): Html {
  return buttonFor(call, cancelUpload, { variant: "quiet" });
}

/** 1 → "1 row". */
function rowsOf(rows: number): string {
  return rows === 1 ? "1 row" : `${count(rows) as string} rows`;
}

/** The first of the rows that an import could not use; the others are in a file, while it is kept. */
function refusedRows(upload: ShownUpload, result: UploadResult, { href }: PageCall): Html {
  const { invalid, invalid_count: all, listed_count: listed } = result;
  const caption =
    invalid.length < all
      ? `The first ${count(invalid.length) as string} of ${rowsOf(all)} that cannot be used`
      : "Rows that cannot be used";
  const which = listed < all ? `the first ${count(listed) as string} of them` : "all of them";
  const action = href(`${PATH}/${upload.upload_id}/refused-rows`);
  return html`${tableOf(caption, invalid, [
    ["File", ({ file }) => file],
    [
      "Line",
      ({ line, row_group: group }) => (group === undefined ? line : `row ${line}, row group ${group}`),
      "number",
    ],
    ["Column", ({ column }) => column ?? "the whole row"],
    ["What is wrong", ({ reason }) => reason],
    ["What is allowed", ({ allowed }) => allowed],
  ])}
  ${
    upload.expires_at > upload.now &&
    html`<form method="post" action="${action}"><button class="quiet">Download ${which} as CSV</button></form>`
  }`;
}

const COUNT_NAMES: readonly (readonly [keyof UploadResult["counts"], string])[] = [
  ["orders", "Orders"],
  ["changed_orders", "Orders that are new or changed"],
  ["order_lines", "Order lines"],
  ["returns", "Returns"],
  ["refunds", "Refunds"],
  ["products", "Products"],
  ["variants", "Variants"],
  ["return_labels", "Return labels"],
  ["sale_events", "Sale days"],
  ["deleted_rows", "Rows that remove something"],
];

/** The imported and omitted rows of an import, and its notes. */
function uploadResult(upload: ShownUpload, call: PageCall): Html {
  const result = upload.result as UploadResult;
  const { counts, invalid_count: leftOut, warnings } = result;
  return html`<p class="banner done">
      The files are imported, complete up to ${isoInstant(upload.as_of)}.
      <a href="${call.href("")}">See the figures</a>
    </p>
    ${facts(COUNT_NAMES.map(([name, text]) => ({ name: text, value: count(counts[name]) })))}
    ${leftOut > 0 && html`<h2>Left out: ${rowsOf(leftOut)}</h2>`}
    ${leftOut > 0 && refusedRows(upload, result, call)} ${warnings.length > 0 && warningList(warnings)}
    <p><a href="${call.href(PATH)}">Import other files</a></p>`;
}

const OLD_ORDERS =
  "The newest order is more than a week older than the day up to which the files are said to be complete, so months " +
  "without orders look complete. If the files end earlier, import them again with the last day that they cover.";

function warningList(warnings: UploadResult["warnings"]): Html {
  return html`<h2>Warnings</h2>
    <ul>
      ${warnings.map(({ kind, file, message, count: often }) => {
        const place = file === null ? "" : `${file}: `;
        const times = often === null ? "" : ` (${count(often) as string})`;
        // The command names its option.
        return html`<li>${kind === "old_orders" ? OLD_ORDERS : `${place}${message}${times}.`}</li>`;
      })}
    </ul>`;
}
