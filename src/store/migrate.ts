import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { within } from "../lib/within.ts";
import { VIEW_SCHEMA, type Connection, type Queryable, type Statement } from "./database.ts";
import { listWorkspacePages } from "./directory.ts";
import { distributeAll, isDistributed } from "./distribute.ts";
import {
  distributeReferenceTables,
  hasCitus,
  isCoordinator,
  workOnOneShardAtATime,
} from "./queries/distribute.ts";
import {
  appliedMigrations,
  hasMigrations,
  FIRST_MIGRATION,
  type AppliedMigration,
} from "./queries/installation.ts";
import { applyRoles, closeFunctions, planRoles } from "./roles.ts";
import {
  applyWorkspaceViews,
  dropWorkspaceViews,
  grantWorkspaceViews,
  hasWorkspaceViews,
  planWorkspaceViews,
} from "./workspace-views.ts";

const MIGRATIONS_FOLDER = new URL("./migrations/", import.meta.url);
const MIGRATIONS_TABLE = "schema_migration";
const CREATE_MIGRATIONS_TABLE = `create table if not exists ${MIGRATIONS_TABLE}
  (id serial primary key, name varchar(255) not null, run_on timestamp not null, works_with text)`;
/** The same in every version. */
export const MIGRATION_LOCK = 7_241_865_325_823_964n;

/**
 * How long a migration waits for a table's lock, during which requests wait behind it, before it retries. This is less than the
 * second after which waiting statements check for a deadlock: it backs off before it could make a request fail.
 */
const LOCK_TIMEOUT_MS = 700;
const BETWEEN_TRIES_MS = 500;
const MOST_TRIES = 300;
/** For another process's migrations. */
const MIGRATION_WAIT_MS = 10 * 60_000;
/** A lock that was not free in time, and a deadlock. */
const LOCK_PROBLEMS: ReadonlySet<string | undefined> = new Set(["55P03", "40P01"]);

type MigrateOptions = {
  url: string;
  log?: (line: string) => void;
  /** Where the migrations are; default: this version's. */
  folder?: URL;
  /** How long another process's migrations may take; default: 10 minutes. */
  longestWaitMs?: number;
};

/**
 * Migrates the database's schema to this version: forward only, each file in a transaction, under an advisory lock so that two at
 * once are harmless. On a distributed database each new table is distributed in the same transaction. Throws if the schema is
 * newer than this version supports, and the database's own error, with its SQLSTATE, if nothing can be created there.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  const folder = options.folder ?? MIGRATIONS_FOLDER;
  const client = new pg.Client({ connectionString: options.url, connectionTimeoutMillis: 10_000 });
  // A lost connection fails the statement under way.
  client.on("error", () => {});
  await client.connect();
  const connection = connectionOf(client);
  const log = options.log ?? (() => {});
  try {
    // The end of the connection releases it.
    await takeMigrationLock(connection, "pg_try_advisory_lock", options);
    const applied = await readApplied(connection);
    const level = await schemaLevel(applied, folder);
    if (level === "newer" || level === "older") throw new Error(UNUSABLE[level]);
    if (level === "behind") {
      await requireMigratable(connection);
      await client.query(CREATE_MIGRATIONS_TABLE);
      await runPending(connection, folder, log);
    }
    // A newer version has given the rights that belong to its tables.
    if (level !== "ahead") await secure(connection, log);
  } finally {
    await client.end();
  }
}

/** Migrations that this version does not have, or not in that order. */
export class UnknownMigrations extends Error {
  override name = "UnknownMigrations";
}

/**
 * Runs the first migrations, those with the names that a backup has, in the connection's own transaction: on an empty database,
 * which gets the schema of an earlier version or of this one. Throws `UnknownMigrations`.
 */
export async function makeSchema(connection: Connection, applied: readonly string[]): Promise<void> {
  const names = isLastOf0x(applied) ? [FIRST_MIGRATION] : sinceAdoption(applied, (name) => name);
  const first = (await knownMigrations()).slice(0, names.length);
  if (names.length === 0 || names.some((name, index) => name !== first[index])) {
    throw new UnknownMigrations("these are not the first migrations of this version");
  }
  await connection.client.query(CREATE_MIGRATIONS_TABLE);
  for (const name of names) {
    const { statements, ...migration } = await readMigration(MIGRATIONS_FOLDER, name);
    // Nobody else uses this database yet, and there are no rows to change.
    const here = statements
      .filter((text) => !(migration.isOutside && FOR_EACH_SHOP.test(text)))
      .map((text) => text.replace(CONCURRENT_INDEX, "$<create> $<name>"));
    await runMigration(connection, { ...migration, statements: here });
  }
}

/** Keeps migrations waiting until the end of the transaction. */
export async function holdOffMigrations(connection: Connection, signal: AbortSignal): Promise<void> {
  await takeMigrationLock(connection, "pg_try_advisory_xact_lock", { signal });
}

type LockOptions = Pick<MigrateOptions, "log" | "longestWaitMs"> & { signal?: AbortSignal };

/**
 * Waits for a running migration, but not for a session that holds its lock and never ends. It polls: a concurrent index build
 * would wait for a waiting statement.
 */
async function takeMigrationLock(
  { client }: Connection,
  take: "pg_try_advisory_lock" | "pg_try_advisory_xact_lock",
  { log = () => {}, longestWaitMs = MIGRATION_WAIT_MS, signal }: LockOptions,
): Promise<void> {
  const giveUpAt = Date.now() + longestWaitMs;
  for (let isFirst = true; ; isFirst = false) {
    const { rows } = await client.query<{ isTaken: boolean }>(`select ${take}($1) as "isTaken"`, [
      MIGRATION_LOCK,
    ]);
    if (rows[0]?.isTaken === true) return;
    if (isFirst) log("Another process is migrating this database: waiting for it.");
    if (Date.now() >= giveUpAt) break;
    await sleep(Math.min(BETWEEN_TRIES_MS, longestWaitMs), undefined, { signal });
  }
  throw new Error(
    `Another session has held the lock of migrations for ${longestWaitMs / 60_000} minutes: wait for its migration, or end ` +
      "it (pg_locks names it: locktype = 'advisory'), and try again.",
  );
}

/** Runs `work` while no migration runs; returns false, without running it, when one does. */
export async function runUnlessMigrating(
  { client }: Connection,
  work: () => Promise<void>,
): Promise<boolean> {
  const { rows } = await client.query<{ isFree: boolean }>(
    'select pg_try_advisory_lock_shared($1) as "isFree"',
    [MIGRATION_LOCK],
  );
  if (rows[0]?.isFree !== true) return false;
  try {
    await work();
  } finally {
    await client.query("select pg_advisory_unlock_shared($1)", [MIGRATION_LOCK]).catch(() => {});
  }
  return true;
}

/** Makes an installation assign shop keys from a range from now on; such a statement cannot take the bounds as parameters. */
export async function setShopKeyRange(
  { client }: Connection,
  { first, last, next }: { first: number; last: number; next: number },
): Promise<void> {
  await client.query(
    `alter table shop_directory alter column shop_key
       set minvalue ${BigInt(first)} set maxvalue ${BigInt(last)} set start with ${BigInt(next)} restart`,
  );
}

/** Names of the migrations this version brings, oldest first. */
export function knownMigrations(): Promise<string[]> {
  return listMigrations(MIGRATIONS_FOLDER);
}

/** `ahead`: newer than this version, which works with it all the same. `older`: of 0.x, before its last level. */
export type SchemaLevel = "current" | "behind" | "ahead" | "newer" | "older";

/** The migrations of 0.x: after the last of them the schema is that of `FIRST_MIGRATION`. */
const OF_0_X = { first: ["0001_control", "0001_workspaces"], last: "0061_purchases", count: 50 };

function isLastOf0x(names: readonly string[]): boolean {
  return names.length === OF_0_X.count && names.includes(OF_0_X.last);
}

/** Without the migrations of 0.x, which a backup that 0.x made of an adopted database also names. */
function sinceAdoption<Applied>(applied: readonly Applied[], nameOf: (each: Applied) => string): Applied[] {
  return applied.slice(isLastOf0x(applied.slice(0, OF_0_X.count).map(nameOf)) ? OF_0_X.count : 0);
}

/** Instructions for a schema that this version can neither use nor migrate. */
export const UNUSABLE = {
  newer: "The database's schema is newer than this version of the service: install the newer version.",
  older:
    'The database\'s schema is older than that of version 0.2.0: run "./returns migrate" of version 0.2.0 on it, then start this version.',
} as const;

/** Whether `migrate` has work to do on a database of this level: roles may be newer than its schema. */
export async function isMigrationDue(database: Queryable, level: SchemaLevel): Promise<boolean> {
  if (level !== "current") return level === "behind";
  return (await planRoles(database)).length > 0 || (await planWorkspaceViews(database)).length > 0;
}

/** Compares the migrations a database has run, or a backup's, with those this version knows. */
export async function schemaLevel(
  applied: readonly AppliedMigration[],
  folder: URL = MIGRATIONS_FOLDER,
): Promise<SchemaLevel> {
  if (isLastOf0x(applied.map(({ name }) => name))) return "behind";
  const own = sinceAdoption(applied, ({ name }) => name);
  if (own.some(({ name }) => OF_0_X.first.includes(name))) return "older";
  const known = await listMigrations(folder);
  const isComplete = known.every((name) => own.some((migration) => migration.name === name));
  const later = own.filter(({ name }) => !known.includes(name));
  if (later.length === 0) return isComplete ? "current" : "behind";
  const works = later.every(({ works_with: name }) => name !== null && known.includes(name));
  return works && isComplete ? "ahead" : "newer";
}

/** The migrations that the database has run; of an empty one none. */
export async function readApplied(database: Queryable): Promise<AppliedMigration[]> {
  return (await hasMigrations(database)) ? appliedMigrations(database) : [];
}

/** The refusals of a user without rights, a replica or a full disk, before any lock is taken. */
const TRY_TO_CREATE = `begin; create table ${MIGRATIONS_TABLE}_attempt (id integer); rollback`;

async function requireMigratable(connection: Connection): Promise<void> {
  if ((await hasCitus(connection)) && !(await isCoordinator(connection))) {
    throw new Error(
      "Citus changes tables only through its coordinator: migrate with the coordinator's address.",
    );
  }
  await connection.client.query(TRY_TO_CREATE);
}

async function runPending(connection: Connection, folder: URL, log: (line: string) => void): Promise<void> {
  let applied = await appliedMigrations(connection);
  if (await isDistributed(connection)) await distributeReferenceTables(connection);
  const isOf0x = isLastOf0x(applied.map(({ name }) => name));
  if (isOf0x) {
    // Servers of 0.x stay ready beside it: their own rows stay, and this one is compatible with them.
    const adopted = { name: FIRST_MIGRATION, worksWith: OF_0_X.last };
    await inTransaction(connection, () => keepMigration(connection, adopted));
    applied = await appliedMigrations(connection);
  }
  for (const name of await listMigrations(folder)) {
    if (applied.some((migration) => migration.name === name)) continue;
    const migration = await readMigration(folder, name);
    // So do those of 0.x, for which this version's first migration is the same as their last.
    if (isOf0x && migration.worksWith === FIRST_MIGRATION) migration.worksWith = OF_0_X.last;
    const run = migration.isOutside ? runOutside : runMigration;
    await runWithRetries(connection, (own) => run(own, migration), {
      name,
      log,
      isOutside: migration.isOutside,
    });
  }
}

type Retries = { name: string; log: (line: string) => void; isOutside?: boolean };

/** Changes tables or views, by default in one transaction; retries from the beginning while others use them. */
async function runWithRetries(
  connection: Connection,
  work: (connection: Connection) => Promise<void>,
  { name, log, isOutside = false }: Retries,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await (isOutside ? work(connection) : inTransaction(connection, work));
      return;
    } catch (error) {
      if (tries === MOST_TRIES || !LOCK_PROBLEMS.has((error as pg.DatabaseError).code)) throw error;
    }
    if (tries === 1) log(`${name}: waiting until no statement uses the tables to change.`);
    await sleep(BETWEEN_TRIES_MS);
  }
}

async function inTransaction(
  connection: Connection,
  work: (connection: Connection) => Promise<void>,
): Promise<void> {
  const { client } = connection;
  await client.query("begin");
  try {
    await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await work(connection);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => {});
    throw error;
  }
}

const TAKES_FROM_VIEWS = /\bdrop (?:column|table)\b|\brename\b|\balter column \w+ (?:set data )?type\b/iu;
const ALTERED_TABLE = /^alter table (?:only )?(?<table>\w+)/iu;
const CONCURRENT_INDEX = /^(?<create>create (?:unique )?index) concurrently (?<name>\w+)/iu;
/** Of a migration outside of transactions: its one value is the workspace's key. */
const FOR_EACH_SHOP = /\$1\b/u;

/** Statement by statement: Citus refuses several changes of distributed tables in one message. */
async function runMigration(connection: Connection, migration: Migration): Promise<void> {
  const { client } = connection;
  const { statements } = migration;
  const isSpread = await isDistributed(connection);
  if (isSpread) await changeEveryNode(connection);
  else await lockAltered(connection, statements);
  // Views block the removal and renaming of their columns.
  const replacesViews =
    statements.some((text) => TAKES_FROM_VIEWS.test(text)) && (await hasWorkspaceViews(connection));
  if (replacesViews) await dropWorkspaceViews(connection);
  for (const statement of statements) await client.query(statement);
  if (replacesViews) await applyWorkspaceViews(connection);
  await keepMigration(connection, migration);
  if (isSpread) await distributeAll(connection);
  await applyRoles(connection);
}

/**
 * Locks all tables that a migration alters before it alters the first, so that it never waits while others wait for it. A view
 * comes before its table, in the order of readers through it.
 */
async function lockAltered({ client }: Connection, statements: readonly string[]): Promise<void> {
  const altered = statements.flatMap((text) => ALTERED_TABLE.exec(text)?.groups?.["table"] ?? []);
  const { rows } = await client.query<{ name: string }>(
    `select c.oid::regclass::text as name from unnest($1::text[]) with ordinality a (name, place)
       join pg_class c on c.relname = a.name and c.relnamespace in ('public'::regnamespace, to_regnamespace('${VIEW_SCHEMA}'))
      where c.relkind in ('r', 'v') group by c.oid, c.relkind order by c.relkind desc, min(a.place)`,
    [altered],
  );
  if (rows.length > 0)
    await client.query(`lock table ${rows.map(({ name }) => name).join(", ")} in access exclusive mode`);
}

/**
 * Each statement separately, so that none locks a table for long: index builds, and backfills workspace by workspace. An
 * interrupted file is run again from its beginning; an unfinished index is built again.
 */
async function runOutside(connection: Connection, migration: Migration): Promise<void> {
  const { client } = connection;
  for (const statement of migration.statements) {
    const index = CONCURRENT_INDEX.exec(statement)?.groups?.["name"];
    if (index !== undefined) await client.query(`drop index concurrently if exists ${index}`);
    if (FOR_EACH_SHOP.test(statement)) {
      for await (const page of listWorkspacePages(connection))
        for (const shopKey of page) await client.query(statement, [shopKey]);
    } else {
      await client.query(statement);
    }
  }
  await inTransaction(connection, () => keepMigration(connection, migration));
}

async function keepMigration(
  { client }: Connection,
  { name, worksWith }: Pick<Migration, "name" | "worksWith">,
): Promise<void> {
  await client.query(`insert into ${MIGRATIONS_TABLE} (name, run_on, works_with) values ($1, now(), $2)`, [
    name,
    worksWith,
  ]);
}

async function changeEveryNode(connection: Connection): Promise<void> {
  await workOnOneShardAtATime(connection);
  await connection.client.query("set local citus.propagate_set_commands = 'local'");
}

/**
 * Grants rights to roles created since the last migration, and creates the view of every workspace table: each in a separate
 * transaction, which waits for one lock and holds no other.
 */
async function secure(connection: Connection, log: (line: string) => void): Promise<void> {
  const isSpread = await isDistributed(connection);
  const change = async (work: (own: Connection) => Promise<void>): Promise<void> =>
    runWithRetries(
      connection,
      async (own) => {
        if (isSpread) await changeEveryNode(own);
        await work(own);
      },
      { name: "Granting rights and creating views", log },
    );
  await change(applyRoles);
  for (const view of await planWorkspaceViews(connection)) {
    await change(async ({ client }) => {
      for (const statement of view) await client.query(statement);
    });
  }
  // A node that has joined a Citus has views that nobody may read, and functions open to all; only the coordinator can change that.
  if (!isSpread || !(await isCoordinator(connection))) return;
  await change(grantWorkspaceViews);
  await change(closeFunctions);
}

function connectionOf(client: pg.Client): Connection {
  return {
    client: client as unknown as pg.PoolClient,
    rows: async <Row>({ text }: Statement, values: readonly unknown[]) =>
      (await client.query(text, [...values])).rows as Row[],
  };
}

type Readiness = { ready: true } | { ready: false; reason: string };

/** A probe is answered soon, even if the database does not respond. */
const READINESS_TIMEOUT_MS = 3000;

/** Whether the database answers with a schema that this version works with; otherwise why it does not serve. */
export async function checkReadiness(database: Queryable): Promise<Readiness> {
  try {
    const level = await schemaLevel(await within(READINESS_TIMEOUT_MS, appliedMigrations(database)));
    return level === "current" || level === "ahead"
      ? { ready: true }
      : { ready: false, reason: `the database schema is ${level}` };
  } catch {
    return { ready: false, reason: "the database does not answer" };
  }
}

type Migration = {
  name: string;
  /** The oldest migration that a version must know to be compatible with this schema; null: this one. */
  worksWith: string | null;
  /** Its statements run one by one, each committed for itself. */
  isOutside: boolean;
  statements: string[];
};

const EXTENSION = ".sql";
const WORKS_WITH = /^-- Works with (\w+)\.$/mu;
const OUTSIDE = /^-- Outside of transactions\.$/mu;
/** A comment, a quoted text or name, the end of a statement, or the text in between. */
const TOKEN =
  // oxlint-disable-next-line house/linear-patterns -- reads only this project's migrations
  /--[^\n]*|\/\*.*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$((?:[A-Za-z_]\w*)?)\$.*?\$\1\$|;|[^-/'"$;]+|./gsu;

/** Names of a folder's migrations, oldest first. */
export async function listMigrations(folder: URL): Promise<string[]> {
  const files = await readdir(folder);
  return files
    .filter((file) => file.endsWith(EXTENSION))
    .map((file) => file.slice(0, -EXTENSION.length))
    .toSorted();
}

export async function readMigration(folder: URL, name: string): Promise<Migration> {
  const text = await readFile(new URL(`${name}${EXTENSION}`, folder), "utf8");
  const worksWith = WORKS_WITH.exec(text)?.[1] ?? null;
  return { name, worksWith, isOutside: OUTSIDE.test(text), statements: splitStatements(text) };
}

/**
 * The statements of a text, without the comments between their words. Semicolons in quotes and in $quotes$ are text.
 * Unknown to it: E'' strings, comments inside of comments, and `begin atomic`. Throws for an unterminated quote.
 */
export function splitStatements(text: string): string[] {
  const statements: string[] = [];
  let statement = "";
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === "'" || token === '"') throw new Error(`A migration has an unterminated quote: ${token}`);
    if (token === ";") {
      statements.push(statement.trim());
      statement = "";
    } else if (!/^(?:--|\/\*)/u.test(token)) {
      statement += token;
    }
  }
  return [...statements, statement.trim()].filter((each) => each !== "");
}
