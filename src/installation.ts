import { createHmac } from "node:crypto";
import { resolve } from "node:path";
import type { FastifyBaseLogger } from "fastify";
import { ConfigError, type Config } from "./config.ts";
import { defaultDataFolder } from "./embedded/cluster.ts";
import { joinEmbedded, type EmbeddedDatabase } from "./embedded/embedded.ts";
import { openDatabase, VIEW_SCHEMA } from "./store/database.ts";
import type { Database, DatabaseOptions, DatabasePool, Queryable } from "./store/database.ts";
import { isDistributed } from "./store/distribute.ts";
import { migrate, schemaLevel, setShopKeyRange } from "./store/migrate.ts";
import { openNodeDatabases, type NodeDatabases } from "./store/node-databases.ts";
import { hasCitus } from "./store/queries/distribute.ts";
import { appliedMigrations } from "./store/queries/installation.ts";
import {
  findExcessRight,
  findLogin,
  findMissingRight,
  mayCall,
  findsViewsFirst,
  readsViews,
} from "./store/queries/roles.ts";
import type { LoginRow, RightValues } from "./store/queries/roles.ts";
import { findShopKeyRange } from "./store/queries/workspace-directory.ts";
import { FUNCTIONS, groupOf, ROLES, TABLE_RIGHTS, TABLES_WITH_RIGHTS } from "./store/role-rights.ts";
import type { DatabaseRole } from "./store/role-rights.ts";
import { createLogins, loginUrl } from "./store/roles.ts";
import { findMissingWorkspaceView } from "./store/workspace-views.ts";
import { rebuildMarkedWorkspaces } from "./sync/rebuild.ts";

const PROJECT_FOLDER = resolve(import.meta.dirname, "..");
/** Of a request for its admission, and for a turn of its workspace. */
export const LONGEST_WAIT_MS = 3000;
/** Longest duration of one statement for a request, a webhook or a check. */
export const SERVING_TIMEOUT_MS = 10_000;
const INGEST_CONNECTIONS = 4;
const CONSOLE_CONNECTIONS = 4;
const EXPORT_CONNECTIONS = 4;
/** For one fetch of an export: the first one may sort its input. */
const EXPORT_TIMEOUT_MS = 60_000;
/** For metrics: one connection stays free while the other waits for a node that does not answer. */
export const MONITORING_CONNECTIONS = 2;
export const MONITORING_TIMEOUT_MS = 3000;
/** A node has one batch of admission at a time, and workspaces that are retried alone. */
const NODE_CONNECTIONS = 4;
/** A connection keeps a plan of each statement, about a megabyte, for each shard that it has read. */
const USES_OF_SHARDS = 200;

/** A database that this process may use, and where its root secret is: `openKeys` opens its keys with it. */
export type Installation = {
  /** The owner's, or the worker's where the owner's is kept from this process. */
  databaseUrl: string;
  /** Where what serves connects, each part as its role. */
  roleUrls: Readonly<Record<DatabaseRole, string>>;
  /** null = the database of DATABASE_URL. */
  embedded: EmbeddedDatabase | null;
  dataFolder: string;
  /** RETURNS_SECRET; null = the file of the data folder. */
  secret: string | null;
  /** SHOP_KEY_RANGE; null: the database's range is unchanged. */
  shopKeyRange: Config["shopKeyRange"];
  /** For the operator's actions and imports: reads and writes, no time limit. */
  database: Database;
  close(): Promise<void>;
};

type Log = (line: string) => void;

/** Where an installation keeps its embedded database and its secret. */
export function dataFolderOf(config: Config): string {
  return resolve(config.dataFolder ?? defaultDataFolder(PROJECT_FOLDER));
}

/** Joins or starts the embedded database and makes its logins, or takes DATABASE_URL. Does not migrate. */
export async function openInstallation(config: Config, log: Log): Promise<Installation> {
  const dataFolder = dataFolderOf(config);
  const ownUrl = config.databaseUrl ?? config.databaseWorkerUrl;
  const embedded = ownUrl === null ? await joinEmbedded({ dataFolder, log }) : null;
  const databaseUrl = ownUrl ?? (embedded?.url as string);
  const database = openDatabase({
    url: databaseUrl,
    maxConnections: 4,
    readOnly: false,
    statementTimeoutMs: 0,
    applicationName: "returns-control",
    onConnectionError: (error) => log(`database connection lost: ${error.message}`),
  });
  const close = async (): Promise<void> => {
    await database.close();
    await embedded?.release();
  };
  if (embedded !== null) {
    const passwordOf = (role: DatabaseRole): string => embeddedPassword(databaseUrl, role);
    await createLogins(database, passwordOf).catch(async (error: unknown) => {
      await close();
      throw error;
    });
  }
  return {
    databaseUrl,
    roleUrls: roleUrlsOf(config, databaseUrl),
    embedded,
    dataFolder,
    secret: config.secret,
    shopKeyRange: config.shopKeyRange,
    database,
    close,
  };
}

function roleUrlsOf(config: Config, databaseUrl: string): Installation["roleUrls"] {
  if (config.databaseUrl === null && config.databaseWorkerUrl === null) {
    const urlOf = (role: DatabaseRole): string =>
      loginUrl(databaseUrl, role, embeddedPassword(databaseUrl, role));
    return { reader: urlOf("reader"), admission: urlOf("admission"), worker: urlOf("worker") };
  }
  return {
    reader: config.databaseReaderUrl ?? databaseUrl,
    admission: config.databaseAdmissionUrl ?? databaseUrl,
    worker: config.databaseWorkerUrl ?? databaseUrl,
  };
}

/** Derived from the owner's, which is random and kept in a file of mode 0600: there is nothing more to keep. */
function embeddedPassword(databaseUrl: string, role: DatabaseRole): string {
  return createHmac("sha256", new URL(databaseUrl).password).update(`login of ${role}`).digest("hex");
}

const ROLE_OPTIONS: Readonly<Record<DatabaseRole, string>> = {
  reader: "DATABASE_READER_URL",
  admission: "DATABASE_ADMISSION_URL",
  worker: "DATABASE_WORKER_URL",
};

/** Throws a `ConfigError` when a role's login has other rights than its role. One login for everything may do everything. */
export async function requireRoles(
  config: Config,
  { database, embedded }: Installation,
  opened: RoleDatabases,
): Promise<void> {
  if (embedded === null && config.databaseWorkerUrl === null) return;
  const problem = await findLoginProblem(opened, {
    nameOf: (role) => ROLE_OPTIONS[role],
    isOnCitus: await hasCitus(database),
    isAhead: await isSchemaAhead(database),
  });
  if (problem !== null) throw new ConfigError([problem]);
}

/**
 * Throws a `ConfigError` if requests would read tables instead of views, as behind a pooler that drops settings or after an
 * interrupted migration, or may not read the views, as on a node that joined a Citus later. A newer version has its own views.
 */
async function requireViews(
  config: Config,
  { database }: Installation,
  reading: DatabasePool,
): Promise<void> {
  const option = config.databaseReaderUrl === null ? "DATABASE_URL" : ROLE_OPTIONS.reader;
  if (!(await findsViewsFirst(reading))) {
    throw new ConfigError([
      `Connections of ${option} do not look for tables in the schema ${VIEW_SCHEMA} first: ` +
        `leave "options" out of the address; behind a pooler, set search_path = ${VIEW_SCHEMA}, public on the login.`,
    ]);
  }
  if (!(await readsViews(reading))) {
    throw new ConfigError([
      `The login of ${option} may not read the views in the schema ${VIEW_SCHEMA} on this server: run "./returns migrate" ` +
        "through the coordinator of the Citus cluster after each node that joins.",
    ]);
  }
  if (await isSchemaAhead(database)) return;
  const table = await findMissingWorkspaceView(reading);
  if (table === null) return;
  throw new ConfigError([
    `The schema ${VIEW_SCHEMA} lacks the view of the table ${table}, or one of its columns: run "./returns migrate" as the owner.`,
  ]);
}

async function isSchemaAhead(database: Database): Promise<boolean> {
  return (await schemaLevel(await appliedMigrations(database))) === "ahead";
}

/** Migrates the installation's schema to this version, with the data prepared for answers. */
export async function migrateInstallation(installation: Installation, log: Log): Promise<void> {
  await migrate({ url: installation.databaseUrl, log });
  await applyShopKeyRange(installation);
  await finishMigration(installation, log);
}

/** Throws a `ConfigError` when the database has given out a shop key beyond the range. */
async function applyShopKeyRange({ database, shopKeyRange }: Installation): Promise<void> {
  if (shopKeyRange === null) return;
  const { first, last } = shopKeyRange;
  await database.transaction(async (connection) => {
    const range = await findShopKeyRange(connection);
    if (range.first === first && range.last === last) return;
    const given = range.given ?? 0;
    if (given >= last) {
      throw new ConfigError([
        `SHOP_KEY_RANGE must end beyond ${given}, the last shop key that this database has assigned.`,
      ]);
    }
    await setShopKeyRange(connection, { first, last, next: Math.max(first, given + 1) });
  });
}

/** Prepares the answers of workspaces that a migration marked; at once where there are none. */
export async function finishMigration({ database }: Installation, log: Log): Promise<void> {
  await rebuildMarkedWorkspaces(database, log);
}

/** A pool of connections of a role; a lost idle connection is a warning. */
export function openPool(
  { roleUrls }: Installation,
  logger: FastifyBaseLogger,
  role: DatabaseRole,
  options: Pick<DatabaseOptions, "applicationName" | "maxConnections" | "statementTimeoutMs"> &
    Partial<DatabaseOptions>,
): DatabasePool {
  return openDatabase({
    url: roleUrls[role],
    readOnly: false,
    onConnectionError: (error) => logger.warn({ err: error }, "idle database connection lost"),
    ...options,
  });
}

export type ServingDatabases = {
  admission: DatabasePool;
  reading: DatabasePool;
  ingest: DatabasePool;
  /** For sessions and settings. */
  console: DatabasePool;
  /** For exports of whole workspaces, and of tables. */
  exporting: DatabasePool;
  /** For metrics, which have to be read above all when the others are used up. */
  monitoring: DatabasePool;
  /** For admission, and for reading, where Citus spreads the workspaces over nodes. */
  nodes: NodeDatabases | null;
  readingNodes: NodeDatabases | null;
  close(): Promise<void>;
};

/**
 * Admission counts requests, and endpoints read on connections whose role may not write. Webhooks use a few separate connections,
 * opened with the first one, so that a burst does not delay requests; usage details are written over the same. The console's own
 * statements have separate connections too. Throws a `ConfigError` if a login's rights differ from its role's.
 */
export async function openServingDatabases(
  config: Config,
  installation: Installation,
  logger: FastifyBaseLogger,
): Promise<ServingDatabases> {
  if (config.databaseWorkerUrl !== null && config.databaseReaderUrl === null) {
    throw new ConfigError([WORKER_ALONE]);
  }
  const isOnCitus = await hasCitus(installation.database);
  const open = (name: string, role: DatabaseRole, options: Partial<DatabaseOptions> = {}): DatabasePool =>
    openPool(installation, logger, role, {
      applicationName: `returns-${name}`,
      maxConnections: config.maxConnections,
      statementTimeoutMs: SERVING_TIMEOUT_MS,
      hasCitus: isOnCitus,
      ...options,
    });
  const admission = open("admission", "admission", { statementTimeoutMs: LONGEST_WAIT_MS });
  const ofRequests = { readOnly: true, ofOneWorkspace: true };
  const reading = open("reading", "reader", ofRequests);
  const ingest = open("ingest", "worker", { maxConnections: INGEST_CONNECTIONS });
  const ofConsole = open("console", "worker", { maxConnections: CONSOLE_CONNECTIONS });
  const exporting = open("exporting", "reader", {
    maxConnections: EXPORT_CONNECTIONS,
    statementTimeoutMs: EXPORT_TIMEOUT_MS,
    ofOneWorkspace: true,
  });
  const monitoring = open("monitoring", "worker", {
    readOnly: true,
    maxConnections: MONITORING_CONNECTIONS,
    statementTimeoutMs: MONITORING_TIMEOUT_MS,
  });
  const openNode = (url: string): DatabasePool =>
    open("admission", "admission", {
      url,
      maxConnections: NODE_CONNECTIONS,
      statementTimeoutMs: LONGEST_WAIT_MS,
    });
  const isSpread = await isDistributed(installation.database);
  const { roleUrls } = installation;
  const nodes = isSpread
    ? openNodeDatabases({ coordinator: admission, url: roleUrls.admission, open: openNode })
    : null;
  const readingNodes = isSpread
    ? openNodeDatabases({
        coordinator: reading,
        url: roleUrls.reader,
        // PostgreSQL itself plans what reads the tables of a shard.
        open: (url) =>
          open("reading", "reader", { ...ofRequests, hasCitus: false, mostUses: USES_OF_SHARDS, url }),
      })
    : null;
  const close = async (): Promise<void> => {
    await nodes?.close();
    await readingNodes?.close();
    const opened = [admission, reading, ingest, ofConsole, exporting, monitoring];
    await Promise.all(opened.map((database) => database.close()));
  };
  const check = async (): Promise<void> => {
    await requireRoles(config, installation, { admission, reader: reading, worker: ingest });
    await requireViews(config, installation, reading);
  };
  await check().catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    admission,
    reading,
    ingest,
    console: ofConsole,
    exporting,
    monitoring,
    nodes,
    readingNodes,
    close,
  };
}

const WORKER_ALONE =
  "A server needs DATABASE_READER_URL and DATABASE_ADMISSION_URL besides DATABASE_WORKER_URL, which is enough for a worker.";

type RoleDatabases = Readonly<Partial<Record<DatabaseRole, Queryable>>>;

type LoginCheck = {
  /** The option that names a role's login. */
  nameOf: (role: DatabaseRole) => string;
  isOnCitus: boolean;
  /** A newer version has migrated the database, and may have given a role more. */
  isAhead: boolean;
};

/**
 * The problem of the connections' logins, one for each role: null: each has exactly the rights of its role, and all use one
 * database.
 */
async function findLoginProblem(
  databases: RoleDatabases,
  { nameOf, isOnCitus, isAhead }: LoginCheck,
): Promise<string | null> {
  const logins: [DatabaseRole, LoginRow][] = [];
  for (const role of ROLES) {
    const database = databases[role];
    if (database === undefined) continue;
    const login = await findLogin(database);
    const problem =
      findFault(role, login) ??
      (isAhead ? null : await findExcess(database, role)) ??
      (await findLack(database, role));
    if (problem !== null) return `${nameOf(role)} names the login ${login.name}, which ${problem}.`;
    logins.push([role, login]);
  }
  const [first, ...others] = logins;
  const other = others.find(([, login]) => !isSameDatabase(login, first?.[1], isOnCitus));
  if (first === undefined || other === undefined) return null;
  return `${nameOf(first[0])} and ${nameOf(other[0])} name different databases: give all of them the same one.`;
}

const only = (role: DatabaseRole): string => `grant it ${groupOf(role)} and nothing more`;

function findFault(role: DatabaseRole, login: LoginRow): string | null {
  if (login.is_replica) return "connects to a replica: name the primary, whose data is current";
  if (login.is_privileged)
    return `is a superuser, or has another attribute of an administrator: ${only(role)}`;
  return login.may_create ? `may create tables: ${only(role)}` : null;
}

async function findExcess(database: Queryable, role: DatabaseRole): Promise<string | null> {
  const excess = await findExcessRight(database, ...valuesOf(role), TABLES_WITH_RIGHTS);
  if (excess !== null) return `has the right to ${excess.privilege} on ${excess.table_name}: ${only(role)}`;
  for (const [name, caller] of Object.entries(FUNCTIONS)) {
    if (caller !== role && (await mayCall(database, name))) return `may call ${name}: ${only(role)}`;
  }
  return null;
}

async function findLack(database: Queryable, role: DatabaseRole): Promise<string | null> {
  const remedy = `grant it ${groupOf(role)}, and run "./returns migrate" as the owner`;
  const missing = await findMissingRight(database, ...valuesOf(role));
  if (missing !== null) return `lacks the right to ${missing.privilege} on ${missing.table_name}: ${remedy}`;
  for (const [name, caller] of Object.entries(FUNCTIONS)) {
    if (caller === role && !(await mayCall(database, name))) return `may not call ${name}: ${remedy}`;
  }
  return null;
}

function valuesOf(role: DatabaseRole): RightValues {
  const rights = TABLE_RIGHTS.filter((right) => right.role === role).flatMap(
    ({ table, privilege, columns }) => (columns ?? [null]).map((column) => ({ table, privilege, column })),
  );
  return [
    rights.map(({ table }) => table),
    rights.map(({ privilege }) => privilege),
    rights.map(({ column }) => column),
  ];
}

/** Servers of a Citus may enter by another node than workers do, where the database has the same name. */
function isSameDatabase(one: LoginRow, other: LoginRow | undefined, isOnCitus: boolean): boolean {
  if (isOnCitus) return one.database_name === other?.database_name;
  return one.database_key === other?.database_key && one.server_started_at === other.server_started_at;
}
