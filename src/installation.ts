import { resolve } from "node:path";
import type { FastifyBaseLogger } from "fastify";
import type { Config } from "./config.ts";
import { defaultDataFolder } from "./embedded/cluster.ts";
import { joinEmbedded } from "./embedded/embedded.ts";
import type { EmbeddedDatabase } from "./embedded/embedded.ts";
import { deriveKeys, readOrCreateSecret } from "./lib/keys.ts";
import type { Keys } from "./lib/keys.ts";
import { openDatabase } from "./store/database.ts";
import type { Database, DatabaseOptions, DatabasePool } from "./store/database.ts";
import { isDistributed } from "./store/distribute.ts";
import { migrate } from "./store/migrate.ts";
import { openNodeDatabases } from "./store/node-databases.ts";
import type { NodeDatabases } from "./store/node-databases.ts";
import { hasCitus } from "./store/queries/distribute.ts";
import { rebuildMarkedShops } from "./sync/rebuild.ts";

const PROJECT_FOLDER = resolve(import.meta.dirname, "..");
/** Of a request for its admission, and for a turn of its shop. */
export const LONGEST_WAIT_MS = 3000;
/** Longest run of one statement for a request, a webhook or a check. */
export const SERVING_TIMEOUT_MS = 10_000;
const TAKING_CONNECTIONS = 4;
const CONSOLE_CONNECTIONS = 4;
const EXPORT_CONNECTIONS = 2;
/** A node has one batch of admission at a time, and shops that are asked for by themselves. */
const NODE_CONNECTIONS = 4;

/** A database that this process may use, and the keys that go with it. */
export type Installation = {
  databaseUrl: string;
  /** null = the database of DATABASE_URL. */
  embedded: EmbeddedDatabase | null;
  dataFolder: string;
  /** Without RETURNS_SECRET, first asking for them makes the file of the secret: a command without need of keys leaves none. */
  keys: Keys;
  /** For the operator's actions and imports: reads and writes, no time limit. */
  database: Database;
  close(): Promise<void>;
};

type Log = (line: string) => void;

/** Where an installation keeps its embedded database and its secret. */
export function dataFolderOf(config: Config): string {
  return resolve(config.dataFolder ?? defaultDataFolder(PROJECT_FOLDER));
}

/** Joins or starts the embedded database, or takes DATABASE_URL. Does not migrate. */
export async function openInstallation(config: Config, log: Log): Promise<Installation> {
  const dataFolder = dataFolderOf(config);
  const embedded = config.databaseUrl === null ? await joinEmbedded({ dataFolder, log }) : null;
  const databaseUrl = config.databaseUrl ?? (embedded?.url as string);
  let keys: Keys | undefined;
  const database = openDatabase({
    url: databaseUrl,
    maxConnections: 4,
    readOnly: false,
    statementTimeoutMs: 0,
    applicationName: "returns-control",
    onConnectionError: (error) => log(`database connection lost: ${error.message}`),
  });
  return {
    databaseUrl,
    embedded,
    dataFolder,
    get keys() {
      return (keys ??= deriveKeys(config.secret ?? readOrCreateSecret(dataFolder)));
    },
    database,
    close: async () => {
      await database.close();
      await embedded?.release();
    },
  };
}

/** Brings the installation's schema to this version, and what is prepared for answers with it. */
export async function migrateInstallation(installation: Installation, log: Log): Promise<void> {
  await migrate({ url: installation.databaseUrl, log });
  await finishMigration(installation, log);
}

/** Prepares the answers of workspaces that a migration marked; at once where there are none. */
export async function finishMigration({ database }: Installation, log: Log): Promise<void> {
  await rebuildMarkedShops(database, log);
}

/** A pool of connections that write, unless told otherwise; a lost idle connection is a warning. */
export function openPool(
  installation: Installation,
  logger: FastifyBaseLogger,
  options: Pick<DatabaseOptions, "applicationName" | "maxConnections" | "statementTimeoutMs"> &
    Partial<DatabaseOptions>,
): DatabasePool {
  return openDatabase({
    url: installation.databaseUrl,
    readOnly: false,
    onConnectionError: (error) => logger.warn({ err: error }, "idle database connection lost"),
    ...options,
  });
}

export type ServingDatabases = {
  admission: DatabasePool;
  reading: DatabasePool;
  taking: DatabasePool;
  /** For sessions and settings. */
  console: DatabasePool;
  /** For exports of whole workspaces. */
  exporting: DatabasePool;
  /** For admission, where Citus spreads the shops over nodes. */
  nodes: NodeDatabases | null;
  close(): Promise<void>;
};

/**
 * Admission counts requests, and endpoints read on connections that the database itself holds to it. Webhooks are
 * stored over a few connections of their own, opened for the first one, so that no burst of them holds up requests; the
 * details of usage are written over the same. What the console asks for itself has its own, too.
 */
export async function openServingDatabases(
  config: Config,
  installation: Installation,
  logger: FastifyBaseLogger,
): Promise<ServingDatabases> {
  const isOnCitus = await hasCitus(installation.database);
  const open = (name: string, options: Partial<DatabaseOptions> = {}): DatabasePool =>
    openPool(installation, logger, {
      applicationName: `returns-${name}`,
      maxConnections: config.maxConnections,
      statementTimeoutMs: SERVING_TIMEOUT_MS,
      hasCitus: isOnCitus,
      ...options,
    });
  const admission = open("admission", { statementTimeoutMs: LONGEST_WAIT_MS });
  const reading = open("reading", { readOnly: true });
  const taking = open("taking", { maxConnections: TAKING_CONNECTIONS });
  const ofConsole = open("console", { maxConnections: CONSOLE_CONNECTIONS });
  const exporting = open("exporting", { maxConnections: EXPORT_CONNECTIONS });
  const openNode = (url: string): DatabasePool =>
    open("admission", { url, maxConnections: NODE_CONNECTIONS, statementTimeoutMs: LONGEST_WAIT_MS });
  const nodes = (await isDistributed(installation.database))
    ? openNodeDatabases({ entrance: admission, url: installation.databaseUrl, open: openNode })
    : null;
  return {
    admission,
    reading,
    taking,
    console: ofConsole,
    exporting,
    nodes,
    close: async () => {
      await nodes?.close();
      const opened = [admission, reading, taking, ofConsole, exporting];
      await Promise.all(opened.map((database) => database.close()));
    },
  };
}
