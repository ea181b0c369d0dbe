import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { finished, PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ZipFile } from "yazl";
import { csvText } from "../../lib/csv-text.ts";
import { keptText, type Retention } from "../../lib/retention.ts";
import { DEFAULT_RULES } from "../../metrics/order-rules.ts";
import type { Connection, Database } from "../../store/database.ts";
import {
  listExportedMembers,
  listExportedSources,
  openExportedAlerts,
  openExportedAudit,
  tryLockExport,
  countLabelSources,
  openExportedLabels,
  openExportedOrders,
  openExportedProducts,
  openExportedSaleEvents,
  openExportedVariants,
} from "./queries.ts";
import { listTokens } from "../tokens/queries.ts";
import { listWatched } from "../watchlist/queries.ts";
import { findReasonGroups } from "../../store/queries/fit.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import type { NextRows } from "../../store/query.ts";
import { PART_BYTES, sendPiece } from "../../store/snapshot-stream.ts";
import type { ConsoleCaller, ActionContext, ActionCaller } from "../action.ts";
import { defineAction, runAction } from "../action.ts";
import { textInput } from "../field.ts";
import { makePrivateFolder, writeNewFolder } from "../new-folder.ts";
import { impossible } from "../refusal.ts";
import { requireRight } from "../right.ts";
import { showRules, writtenRules } from "./order-rules.ts";
import { requireWorkspace } from "./workspace.ts";
import type { OrderDocument } from "../../metrics/order.ts";
import type {
  ExportedLabelRow,
  CsvCell,
  FileFormat,
  FileName,
} from "../../sync/connectors/csv/file-formats.ts";
import { readStored } from "../../sync/stored-document.ts";
import { unitsEver } from "../../sync/document-merge.ts";
import { FILE_FORMATS } from "../../sync/connectors/csv/file-formats.ts";

type ExportRequest = ActionCaller & {
  workspace: DirectoryRow;
  /** Holds a connection for as long as the files are read. */
  reading: Database;
  /** For the export's description of its audit. */
  retention: Retention;
  /** Ends the export, whose statement is then canceled. */
  signal: AbortSignal;
};

/** An export as one file; `body` is made while it is read. */
type ExportedArchive = { name: string; type: string; body: Readable };

/** The result of an export. */
type ExportedFolder = { shop_domain: string; folder: string; files: string[] };

/** The folder of an export that an import reads. */
const STORE_FOLDER = "store";
/** An export that takes longer would keep the database from vacuuming. */
const LONGEST_MS = 2 * 3_600_000;
/** How long a reader of an archive may stall: it holds one of a few connections. */
const LONGEST_STALL_MS = 60_000;
const FILE_MODE = 0o100600;

/** The record of an export, which `exportFiles` makes before it hands out the first file. */
export const exportWorkspace = defineAction({
  name: "workspace.export",
  title: "Export everything",
  about: "Export a whole workspace into a folder, which another installation can import.",
  past: "Exported the workspace",
  least: "owner",
  proof: true,
  input: {},
  run: ({ workspace: { shop_domain: domain } }: ActionContext<ExportRequest>) =>
    Promise.resolve({
      result: { shop_domain: domain },
      done: `The export of ${domain} has begun.`,
      audit: { detail: { shop_domain: domain } },
    }),
});

/** Exports a workspace into a new folder. Throws a `Refusal` for a folder that holds anything, or that cannot be written. */
export async function exportIntoFolder(
  request: ExportRequest & { folder: string; onFile: (name: string) => void },
): Promise<ExportedFolder> {
  const { folder, signal, onFile } = request;
  const names: string[] = [];
  await writeNewFolder(folder, signal, (partial) =>
    exportFiles(request, async (files) => {
      await makePrivateFolder(partial);
      await makePrivateFolder(join(partial, STORE_FOLDER));
      for (const { name, content } of files) {
        onFile(name);
        await pipeline(content, createWriteStream(join(partial, name), { mode: 0o600, flush: true }), {
          signal,
        });
        names.push(name);
      }
    }),
  );
  return { shop_domain: request.workspace.shop_domain, folder, files: names };
}

/** Exports a workspace as an archive, over the pool of exports. Throws a `Refusal` while all of its connections are in use. */
export async function exportFromConsole(
  caller: ConsoleCaller,
  stallMs = LONGEST_STALL_MS,
): Promise<ExportedArchive> {
  const { exporting, actor } = caller;
  requireRight(actor, exportWorkspace);
  const { open, idle, most } = exporting.usage();
  if (open - idle >= most) {
    throw impossible("Other workspaces are being exported now. Try again in a few minutes.");
  }
  return exportAsArchive({ ...caller, reading: exporting }, stallMs);
}

/**
 * Exports a workspace as a zip file, generated as it is read. Resolves when its snapshot is open, so that a `Refusal` comes
 * before the first byte. Destroying the body ends the export; a later failure truncates it.
 */
async function exportAsArchive(
  request: Omit<ExportRequest, "signal">,
  stallMs: number,
): Promise<ExportedArchive> {
  const { workspace, now } = request;
  const zip = new ZipFile();
  const made = zip.outputStream as Readable & AsyncIterable<Buffer>;
  const body = new PassThrough({ highWaterMark: PART_BYTES });
  const leaving = new AbortController();
  finished(body, (error) => {
    if (error !== undefined && error !== null) leaving.abort(error);
  });
  const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(LONGEST_MS)]);
  signal.addEventListener("abort", () => made.destroy(signal.reason as Error), { once: true });
  // Its failure reaches the reader.
  made.on("error", () => {});
  zip.on("error", (error: Error) => made.destroy(error));
  const opened = Promise.withResolvers<void>();
  exportFiles({ ...request, signal }, async (files) => {
    addFiles(zip, made, files, now);
    opened.resolve();
    for await (const piece of made) await sendPiece(piece, body, { signal, stallMs });
    body.end();
  }).catch((error: Error) => {
    opened.reject(error);
    body.destroy(error);
  });
  await opened.promise;
  const day = now.toISOString().slice(0, 10);
  const shop = workspace.shop_domain.replaceAll(/[^a-z0-9.-]/gu, "-");
  return { name: `returns-export_${shop}_${day}.zip`, type: "application/zip", body };
}

/** One file is read at a time: they share a connection. */
function addFiles(zip: ZipFile, made: Readable, files: readonly ExportedFile[], mtime: Date): void {
  let current: Readable | null = null;
  finished(made, () => current?.destroy());
  for (const { name, content } of files) {
    zip.addReadStreamLazy(name, { mtime, mode: FILE_MODE }, (read) => {
      const source = Readable.from(content, { objectMode: false });
      source.on("error", (error) => made.destroy(error));
      current = source;
      read(null, source);
    });
  }
  zip.end();
}

/**
 * Hands the files of a workspace to `use`, all from one snapshot, each to be read once and in their order. The export is
 * audited before the first of them. Throws a `Refusal` while another export of the workspace is under way.
 */
async function exportFiles(
  request: ExportRequest,
  use: (files: readonly ExportedFile[]) => Promise<void>,
): Promise<void> {
  const { reading, actor, workspace, signal } = request;
  requireRight(actor, exportWorkspace);
  const { shop_key: shopKey, shop_domain: shopDomain } = workspace;
  await reading.longSnapshot(
    shopKey,
    async (connection) => {
      if (!(await tryLockExport(connection, shopKey))) {
        throw impossible(`${shopDomain} is being exported already. Try again when that has ended.`);
      }
      // A partial download is an export too, so the audit event is kept whatever happens later.
      await runAction(exportWorkspace, request, textInput({}));
      const found = await requireWorkspace(connection, shopDomain);
      const store = await exportStore(connection, { shopKey, currencyCode: found.currency_code });
      const inFolder = store.map(({ name, content }) => ({ name: `${STORE_FOLDER}/${name}`, content }));
      await use([...describingFiles(connection, found, request), ...inFolder]);
    },
    signal,
  );
}

/** The description files of an export: the workspace's other data as text, without secrets. */
export function describingFiles(
  connection: Connection,
  workspace: DirectoryRow,
  { now, retention }: Pick<ExportRequest, "now" | "retention">,
): readonly ExportedFile[] {
  const { shop_key: shopKey } = workspace;
  return [
    {
      name: "README.txt",
      content: once(async () =>
        readme(workspace, await rulesOf(connection, workspace), await findReasonGroups(connection, shopKey), {
          now,
          retention,
        }),
      ),
    },
    {
      name: "settings.json",
      content: once(async () => jsonText(await settings(connection, workspace, now))),
    },
    {
      name: "members.json",
      content: once(async () => jsonText(await listExportedMembers(connection, shopKey))),
    },
    { name: "audit.json", content: jsonList(() => openExportedAudit(connection, shopKey)) },
    { name: "alerts.json", content: jsonList(() => openExportedAlerts(connection, shopKey)) },
  ];
}

async function rulesOf(connection: Connection, workspace: DirectoryRow): Promise<Record<string, string>> {
  return writtenRules((await showRules(connection, workspace)).rules);
}

async function settings(connection: Connection, workspace: DirectoryRow, now: Date): Promise<object> {
  const { shop_key: shopKey, data_version: _version, ...shown } = workspace;
  return {
    exported_at: now,
    ...shown,
    order_rules: await rulesOf(connection, workspace),
    reason_groups: await findReasonGroups(connection, shopKey),
    sources: await listExportedSources(connection, shopKey),
    tokens: await listTokens(connection, shopKey),
    watchlist: await listWatched(connection, shopKey),
  };
}

/** How another installation gets the same workspace, command by command. */
function readme(
  workspace: DirectoryRow,
  rules: Record<string, string>,
  groups: Record<string, string> | null,
  { now, retention: { keepAuditDays } }: Pick<ExportRequest, "now" | "retention">,
): string {
  const { shop_domain: domain, currency_code: currency, plan, data_as_of: asOf } = workspace;
  const settingWords = (["primary_window_days", "min_sold_units", "visible_card_size"] as const)
    .map((name) => `${name}=${workspace[name]}`)
    .join(" ");
  const defaults = writtenRules(DEFAULT_RULES);
  const ruleWords = Object.entries(rules)
    .filter(([name, value]) => value !== defaults[name])
    .map(quotedSetting);
  const groupWords = Object.entries(groups ?? {}).map((each) => `--reason ${quotedSetting(each)}`);
  const importing =
    asOf === null
      ? ["This workspace had no data yet: there is nothing to import."]
      : [`./returns import FOLDER/${STORE_FOLDER} --workspace ${domain} --as-of ${asOf.toISOString()}`];
  return [
    `The workspace ${domain}, exported at ${now.toISOString()}.`,
    "",
    `${STORE_FOLDER}/         orders, returns, refunds, labels, catalogue and sale events, as an import folder`,
    "settings.json  settings, sources, tokens without their secrets, watchlist",
    "members.json   who may see the workspace, and in which role",
    `audit.json     what was done in the workspace, oldest first; kept ${keptText(keepAuditDays)}`,
    "alerts.json    the alerts so far, oldest first",
    "",
    `The CSV files of ${STORE_FOLDER}/ hold names and reasons as customers and sources wrote them. A spreadsheet runs a cell that begins with`,
    "=, +, - or @ as a formula: open them there as text only, or not at all. They stay unchanged, because an import must read",
    "what was exported.",
    "",
    "To bring it to another installation, run these in its checkout, with the path of this folder in place of FOLDER:",
    "",
    `./returns workspace create --domain ${domain} --currency ${currency} --plan ${plan}`,
    `./returns workspace set --workspace ${domain} ${settingWords}`,
    ...(ruleWords.length === 0
      ? []
      : [`./returns workspace rules --workspace ${domain} --yes ${ruleWords.join(" ")}`]),
    ...(groupWords.length === 0
      ? []
      : [`./returns workspace reasons --workspace ${domain} ${groupWords.join(" ")}`]),
    ...importing,
    "",
    "The files hold no tags, channels and payments: orders that a rule leaves out here count there.",
    "Create these again, because an export holds no secrets: tokens, members, connections to sources; also the watchlist",
    "(./returns watch add). The audit and earlier alerts remain files.",
    "",
  ].join("\n");
}

/** A word of a shell. */
function quotedSetting([name, value]: [name: string, value: string]): string {
  return `'${`${name}=${value}`.replaceAll("'", String.raw`'\''`)}'`;
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

async function* once(make: () => Promise<string>): AsyncGenerator<string> {
  yield await make();
}

/** A list of any length, a row to a line. */
async function* jsonList<Row extends object>(open: () => Promise<NextRows<Row>>): AsyncGenerator<string> {
  const next = await open();
  let before = "[";
  for (let rows = await next(); rows.length > 0; rows = await next()) {
    yield rows.map((row) => `${row === rows[0] ? before : ","}\n${JSON.stringify(row)}`).join("");
    before = ",";
  }
  yield before === "[" ? "[]\n" : "\n]\n";
}

/** A file of an export; its text is read completely before the next file's. */
type ExportedFile = { name: string; content: AsyncIterable<string> };

/**
 * The store of a workspace as the files of an import folder, from a snapshot that lasts as long as they are read. Memory
 * stays flat. The same store gives the same bytes.
 */
async function exportStore(
  connection: Connection,
  { shopKey, currencyCode }: { shopKey: number; currencyCode: string },
): Promise<ExportedFile[]> {
  const file = <Row extends object, Written>(
    name: FileName,
    format: FileFormat<Written>,
    open: () => Promise<NextRows<Row>>,
    writtenOf: (row: Row) => Written[],
    currencyOf: (row: Row) => string = () => currencyCode,
  ): ExportedFile => {
    const cellsOf = (row: Row): CsvCell[][] =>
      writtenOf(row).map((written) => format.write(written, currencyOf(row)));
    return { name: `${name}.csv`, content: csvFile(format.columns, rowsOf(open, cellsOf)) };
  };
  const orders = <Written>(
    name: FileName,
    format: FileFormat<Written>,
    rowsOfOrder: (document: OrderDocument) => Written[],
  ): ExportedFile =>
    file(
      name,
      format,
      () => openExportedOrders(connection, shopKey),
      ({ order_id, document }) => rowsOfOrder(readStored(order_id, document)),
    );
  const stored = <Row extends object>(
    name: FileName,
    format: FileFormat<Row>,
    open: (connection: Connection, shopKey: number) => Promise<NextRows<Row>>,
  ): ExportedFile =>
    file(
      name,
      format,
      () => open(connection, shopKey),
      (row) => [row],
    );
  const labelSources = await countLabelSources(connection, shopKey);
  const { products, variants, order_lines, returns, refunds, sale_events, return_labels } = FILE_FORMATS;
  const files = [
    stored("products", products, openExportedProducts),
    stored("variants", variants, openExportedVariants),
    orders("order_lines", order_lines, ({ orderId, lines }) => lines.map((line) => ({ ...line, orderId }))),
    orders("returns", returns, returnsOf),
    orders("refunds", refunds, refundsOf),
    stored("sale_events", sale_events, openExportedSaleEvents),
  ];
  // The file makes a label source, also without a row (M10).
  if (labelSources > 0) {
    const open = () => openExportedLabels(connection, shopKey);
    const labelOf = (row: ExportedLabelRow) => [exportedLabel(row, labelSources > 1)];
    files.push(file("return_labels", return_labels, open, labelOf, (row) => row.currency_code));
  }
  return files;
}

/** Rows of lines that the order does not have count nowhere, and an import would refuse them. */
function returnsOf({ orderId, lines, returns }: OrderDocument) {
  const lineIds = new Set(lines.map(({ lineId }) => lineId));
  return returns
    .filter(({ lineId }) => lineIds.has(lineId))
    .map((row) => ({ ...row, orderId, isAsStated: row.status === "CLOSED" && row.closedAt === null }));
}

function refundsOf({ orderId, lines, refunds }: OrderDocument) {
  const unitsByLine = new Map(lines.map((line) => [line.lineId, unitsEver(line)]));
  return refunds.flatMap((row) => {
    const lineUnits = unitsByLine.get(row.lineId);
    if (lineUnits === undefined) return [];
    return [{ ...row, orderId, isAsStated: row.units > lineUnits || row.subtotalMinor < 0 }];
  });
}

/** Several sources become one: the ids of their labels then begin with the source's name. */
function exportedLabel({ source, ...row }: ExportedLabelRow, hasSeveralSources: boolean) {
  return {
    ...row,
    label_id: hasSeveralSources ? `${source}:${row.label_id}` : row.label_id,
    charged_at: row.charged_at.toISOString(),
    voided_at: row.voided_at?.toISOString() ?? null,
  };
}

/** The rows of a file, a fetch of the cursor at a time. */
async function* rowsOf<Row extends object>(
  open: () => Promise<NextRows<Row>>,
  cellsOf: (row: Row) => CsvCell[][],
): AsyncGenerator<CsvCell[][]> {
  const next = await open();
  for (let rows = await next(); rows.length > 0; rows = await next()) yield rows.flatMap(cellsOf);
}

async function* csvFile(
  columns: readonly string[],
  portions: AsyncIterable<CsvCell[][]>,
): AsyncGenerator<string> {
  yield csvText([columns]);
  for await (const rows of portions) if (rows.length > 0) yield csvText(rows);
}
