import { Readable } from "node:stream";
import { cancelUpload, putPart, replaceFile, requestImport, startUpload } from "../../control/upload.ts";
import { readRefusedRows, showParts, showUpload, showUploads } from "../../control/upload-view.ts";
import { html } from "../../lib/html.ts";
import type { Action } from "../action.ts";
import { day } from "../format.ts";
import { definePage } from "../page.ts";
import { aboutUploads, uploadList } from "../views/settings/upload-list.ts";
import { uploadState } from "../views/settings/upload-state.ts";
import { uploadForm } from "../views/settings/upload-form.ts";

const PATH = "/settings/imports";
const UPLOAD_PATH = `${PATH}/:id`;

/** Where a folder of CSV files is sent, and what came of earlier ones. */
export const imports = definePage<Awaited<ReturnType<typeof showUploads>>>({
  name: "imports",
  path: PATH,
  right: "import",
  link: "Import files",
  takes: [],
  about: async (call) => {
    const { database, workspace } = await call.acting();
    return aboutUploads(await showUploads(database, workspace));
  },
  data: async (call) => {
    const { database, workspace } = await call.acting();
    return showUploads(database, workspace);
  },
  view: (uploads, call) => ({
    title: "Import files",
    body: html`<h1>Import files</h1>
      ${uploadList(uploads, call)}`,
  }),
});

/** One upload: how far it is, then what its import has made of it. */
export const importPage = definePage<Awaited<ReturnType<typeof showUpload>> & { now: Date }>({
  name: "import",
  path: UPLOAD_PATH,
  right: "import",
  link: null,
  takes: [],
  data: async (call) => {
    const { database, workspace, now } = await call.acting();
    return { ...(await showUpload(database, workspace, call.path["id"] ?? "")), now };
  },
  view: (upload, call) => ({
    title: "Import",
    isRunning: upload.status === "waiting" || upload.status === "importing",
    body: html`<h1>Import of ${day(upload.created_at.toISOString())}</h1>
      ${uploadState(upload, call)} ${uploadForm(upload, call)}`,
  }),
});

export const importActions: readonly Action[] = [
  {
    name: "import.start",
    path: PATH,
    right: "import.start",
    page: null,
    perform: async ({ form, href, acting }) => {
      const { database, actor, workspace, now } = await acting();
      const sizes = form.getAll("bytes");
      const files = form.getAll("file").map((name, index) => ({ name, bytes: sizes[index] ?? "" }));
      const lastDay = form.get("last_day") ?? "";
      const id = await startUpload(database, actor, workspace, { files, lastDay, now });
      return { json: { href: href(`${PATH}/${id}`) } };
    },
  },
  {
    name: "import.parts",
    path: `${UPLOAD_PATH}/parts`,
    right: "import",
    page: null,
    perform: async ({ path, acting }) => {
      const { database, actor, workspace } = await acting();
      return { json: { files: await showParts(database, actor, workspace, path["id"] ?? "") } };
    },
  },
  {
    name: "import.part",
    path: `${UPLOAD_PATH}/parts/:file/:part`,
    right: "import",
    page: null,
    takes: "bytes",
    perform: async ({ path, bytes, acting }) => {
      const { database, actor, workspace, now } = await acting();
      const { id: uploadId = "", file: fileName = "", part = "" } = path;
      await putPart(database, actor, workspace, { uploadId, fileName, part, bytes, now });
      return { json: {} };
    },
  },
  {
    name: "import.replace",
    path: `${UPLOAD_PATH}/files`,
    right: "import.replace",
    page: null,
    perform: async ({ path, form, acting }) => {
      const { database, actor, workspace, now } = await acting();
      const file = { name: form.get("file") ?? "", bytes: form.get("bytes") ?? "" };
      await replaceFile(database, actor, workspace, { uploadId: path["id"] ?? "", file, now });
      return { json: {} };
    },
  },
  {
    name: "import.request",
    path: `${UPLOAD_PATH}/import`,
    right: "import.request",
    page: importPage,
    perform: async ({ path, form, href, acting }) => {
      const { database, actor, workspace, now } = await acting();
      const uploadId = path["id"] ?? "";
      const skipInvalid = form.get("without") === "invalid";
      await requestImport(database, actor, workspace, { uploadId, skipInvalid, now });
      return {
        href: href(`${PATH}/${uploadId}`),
        done: "The files are imported now. You can leave this page.",
      };
    },
  },
  {
    name: "import.cancel",
    path: `${UPLOAD_PATH}/cancel`,
    right: "import.cancel",
    page: importPage,
    perform: async ({ path, href, acting }) => {
      const { database, actor, workspace, now } = await acting();
      await cancelUpload(database, actor, workspace, { uploadId: path["id"] ?? "", now });
      return { href: href(PATH), done: "The upload is given up. Nothing of it was imported." };
    },
  },
  {
    name: "import.refused_rows",
    path: `${UPLOAD_PATH}/refused-rows`,
    right: "import",
    page: importPage,
    perform: async ({ path, acting }) => {
      const { database, actor, workspace } = await acting();
      const rows = await readRefusedRows(database, actor, workspace, path["id"] ?? "");
      const body = Readable.from(rows, { objectMode: false });
      return { file: { name: "refused-rows.csv", type: "text/csv; charset=utf-8", body } };
    },
  },
];
