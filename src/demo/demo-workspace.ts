import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { runAction } from "../actions/action.ts";
import { textInput } from "../actions/field.ts";
import { createToken } from "../actions/tokens/actions.ts";
import { statusOf } from "../actions/tokens/attention.ts";
import { importIntoWorkspace, type ProgressListener } from "../actions/uploads/actions.ts";
import { addWatched } from "../actions/watchlist/actions.ts";
import { createWorkspace } from "../actions/workspace/actions.ts";
import { requireWorkspace } from "../actions/workspace/workspace.ts";
import { parseToken } from "../access/token.ts";
import { SCOPES } from "../contract/endpoint.ts";
import { OPERATOR } from "../actions/actor.ts";
import { recordAction } from "../actions/audit/record.ts";
import type { Keys } from "../lib/keys.ts";
import { dayOfInstant } from "../lib/month.ts";
import type { Database } from "../store/database.ts";
import { lockWorkspace } from "../store/queries/import-stage.ts";
import { countInstallation } from "../store/queries/worker-health.ts";
import { listTokens } from "../actions/tokens/queries.ts";
import { clearWorkspace } from "../store/queries/workspace-erase.ts";
import { findWorkspace } from "../actions/workspace/queries.ts";
import type { DirectoryRow } from "../store/queries/workspace-directory.ts";
import { DEMO_STORE } from "./demo-store-facts.ts";
import { writeDemoStore, type DemoStoreSummary } from "./demo-store.ts";

/** The options of the generated store, and a listener for its progress. */
export type DemoStoreRequest = {
  /** The day the store's two years end before, YYYY-MM-DD. */
  today: string;
  seed?: number | undefined;
  onProgress: ProgressListener;
};

export type DemoOptions = DemoStoreRequest & {
  database: Database;
  /** Where the generated files are for the moment. */
  dataFolder: string;
  /** Where the token is kept: `demoTokenFile`. */
  tokenFile: string;
  keys: Keys;
  /** Where to keep the generated files; null = nowhere. */
  keepFolder: string | null;
  now: Date;
};

type DemoToken = { token: string; file: string };

export type Demo = { domain: string; store: DemoStoreSummary; token: DemoToken };

const DEMO_PLAN = "scale";
/** Prefix of the names of files with tokens. */
export const DEMO_TOKEN_PREFIX = "demo-token";
const LEFTOVER_AGE_MS = 3_600_000;
/** A store that had been connected for a quarter has the early warnings of its weeks. */
const REPLAYED_WEEKS = [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1];

/**
 * Creates or refills the demo workspace; while it is refilled it answers not_ready. The product with a bad batch is watched. An
 * interrupted call is completed by the next one.
 */
export async function makeDemo(options: DemoOptions): Promise<Demo> {
  const { database, today, now, onProgress } = options;
  const folder = options.keepFolder ?? makeTemporaryFolder(options.dataFolder, now);
  try {
    const store = await writeDemoFolder(folder, options);
    const workspace = await emptyDemoWorkspace(database);
    const token = await keepDemoToken(workspace, options);
    const asOf = now.toISOString().startsWith(today) ? now : new Date(`${today}T00:00:00Z`);
    const asOfDay = dayOfInstant(asOf.getTime());
    const replayedDays = REPLAYED_WEEKS.map((week) => asOfDay - 7 * week);
    const request = { folder, asOf, now, skipInvalid: false, onProgress, replayedDays };
    const { imported } = await importIntoWorkspace(database, OPERATOR, workspace, request);
    if (!imported) throw new Error("The generated store has rows that cannot be imported.");
    const caller = { database, keys: options.keys, workspace, actor: OPERATOR, now: new Date() };
    await runAction(addWatched, caller, textInput({ type: "sku", key: store.badBatch.sku }));
    return { domain: workspace.shop_domain, store, token };
  } finally {
    if (options.keepFolder === null) rmSync(folder, { recursive: true, force: true });
  }
}

/** Only writes the demo store as an import folder. */
export async function writeDemoFolder(folder: string, request: DemoStoreRequest): Promise<DemoStoreSummary> {
  const { today, seed, onProgress } = request;
  return writeDemoStore({
    folder,
    today,
    ...(seed === undefined ? {} : { seed }),
    onProgress: (done, total) => onProgress("Generating orders", done, total),
  });
}

/** Whether a first start still has to create the demo workspace: it is missing, or its creation was interrupted. */
export async function isDemoMissing(database: Database): Promise<boolean> {
  const { workspaces } = await countInstallation(database);
  if (workspaces !== 1) return workspaces === 0;
  return (await findWorkspace(database, DEMO_STORE.domain))?.data_version === 0;
}

/** The file of a database's demo token: one data folder may serve the embedded database and others at different times. */
export function demoTokenFile(installation: {
  dataFolder: string;
  embedded: object | null;
  databaseUrl: string;
}): string {
  const { dataFolder, embedded, databaseUrl } = installation;
  if (embedded !== null) return join(dataFolder, DEMO_TOKEN_PREFIX);
  const { host, pathname } = new URL(databaseUrl);
  const name = createHash("sha256").update(`${host}${pathname}`).digest("hex").slice(0, 8);
  return join(dataFolder, `${DEMO_TOKEN_PREFIX}-${name}`);
}

/** Whether the file has a token of the demo workspace that works. */
export async function hasDemoToken(database: Database, tokenFile: string, now: Date): Promise<boolean> {
  const workspace = await findWorkspace(database, DEMO_STORE.domain);
  return workspace !== null && (await findDemoToken(database, workspace, tokenFile, now)) !== null;
}

async function emptyDemoWorkspace(database: Database): Promise<DirectoryRow> {
  const { domain, currency } = DEMO_STORE;
  const found = await findWorkspace(database, domain);
  if (found === null) {
    const caller = { database, actor: OPERATOR, now: new Date() };
    await runAction(createWorkspace, caller, textInput({ domain, currency, plan: DEMO_PLAN }));
  } else if (found.data_version > 0) {
    await database.transaction(async (connection) => {
      await lockWorkspace(connection, found.shop_key);
      await clearWorkspace(connection, found.shop_key);
      await recordAction(connection, OPERATOR, {
        shopKey: found.shop_key,
        action: "demo.clear",
        detail: {},
      });
    });
  }
  return requireWorkspace(database, domain);
}

/** The token that is kept already, or a new one in its place. */
async function keepDemoToken(workspace: DirectoryRow, options: DemoOptions): Promise<DemoToken> {
  const { database, tokenFile: file, keys, now } = options;
  const kept = await findDemoToken(database, workspace, file, now);
  if (kept !== null) return kept;
  const caller = { database, keys, workspace, actor: OPERATOR, now };
  const { secret } = await runAction(createToken, caller, textInput({ name: "demo", scopes: SCOPES }));
  const token = secret?.reveal() ?? "";
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${token}\n`, { mode: 0o600 });
  renameSync(draft, file);
  return { token, file };
}

async function findDemoToken(
  database: Database,
  workspace: DirectoryRow,
  file: string,
  now: Date,
): Promise<DemoToken | null> {
  const token = readTokenFile(file);
  const tokenId = token === null ? null : parseToken(token)?.tokenId;
  if (token === null || tokenId === undefined) return null;
  const tokens = await listTokens(database, workspace.shop_key);
  const works = tokens.some((row) => row.token_id === tokenId && statusOf(row, now) === "active");
  return works ? { token, file } : null;
}

function readTokenFile(file: string): string | null {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** Also removes leftovers of a killed start. */
function makeTemporaryFolder(dataFolder: string, now: Date): string {
  const parent = join(dataFolder, "tmp");
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(parent)) {
    const path = join(parent, name);
    const modifiedAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now.getTime();
    if (now.getTime() - modifiedAtMs > LEFTOVER_AGE_MS) rmSync(path, { recursive: true, force: true });
  }
  return mkdtempSync(join(parent, "demo-"));
}
