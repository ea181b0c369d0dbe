import { showRules, writtenRules } from "../actions/workspace/order-rules.ts";
import { DEFAULT_RULES } from "../metrics/order-rules.ts";
import type { Connection } from "../store/database.ts";
import type { NextRows } from "../store/query.ts";
import {
  listExportedMembers,
  listExportedSources,
  openExportedAlerts,
  openExportedAudit,
} from "../store/queries/export.ts";
import { listTokens } from "../store/queries/token.ts";
import { listWatched } from "../store/queries/watchlist.ts";
import type { Retention } from "../store/retention.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import type { ExportedFile } from "../sync/connectors/csv/export-files.ts";
import { keptText } from "./retention.ts";

/** The folder of an export that an import reads. */
export const STORE_FOLDER = "store";

/** Of an export: the workspace beside its store, as texts for people and programs. Nothing secret. */
export function describingFiles(
  connection: Connection,
  workspace: WorkspaceRow,
  { now, retention }: { now: Date; retention: Retention },
): readonly ExportedFile[] {
  const { shop_key: shopKey } = workspace;
  return [
    {
      name: "README.txt",
      content: once(async () => readme(workspace, await rulesOf(connection, workspace), now, retention)),
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

async function rulesOf(connection: Connection, workspace: WorkspaceRow): Promise<Record<string, string>> {
  return writtenRules((await showRules(connection, workspace)).rules);
}

async function settings(connection: Connection, workspace: WorkspaceRow, now: Date): Promise<object> {
  const { shop_key: shopKey, data_version: _version, ...shown } = workspace;
  return {
    exported_at: now,
    ...shown,
    order_rules: await rulesOf(connection, workspace),
    sources: await listExportedSources(connection, shopKey),
    tokens: await listTokens(connection, shopKey),
    watchlist: await listWatched(connection, shopKey),
  };
}

/** How another installation gets the same workspace, command by command. */
function readme(
  workspace: WorkspaceRow,
  rules: Record<string, string>,
  now: Date,
  { keepAuditDays }: Retention,
): string {
  const { shop_domain: domain, currency_code: currency, plan, data_as_of: asOf } = workspace;
  const settingWords = (["primary_window_days", "min_sold_units", "visible_card_size"] as const)
    .map((name) => `${name}=${workspace[name]}`)
    .join(" ");
  const usual = writtenRules(DEFAULT_RULES);
  const ruleWords = Object.entries(rules)
    .filter(([name, value]) => value !== usual[name])
    .map(([name, value]) => `'${name}=${value.replaceAll("'", String.raw`'\''`)}'`);
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
    ...importing,
    "",
    "The files hold no tags, channels and payments: orders that a rule leaves out here count there.",
    "Made again by hand, because an export holds no secrets: tokens, members, connections to sources. The watchlist too",
    "(./returns watch add). The audit and the former alerts stay files.",
    "",
  ].join("\n");
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
