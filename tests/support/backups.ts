import { randomBytes } from "node:crypto";
import type { TestContext } from "node:test";
import pg from "pg";
import { runAction } from "../../src/actions/action.ts";
import { textInput } from "../../src/actions/field.ts";
import { backup, restoreBackup, type Restored } from "../../src/actions/installation/actions.ts";
import { readBackup } from "../../src/actions/installation/backup-folder.ts";
import { OPERATOR } from "../../src/actions/actor.ts";
import type { Database } from "../../src/store/database.ts";
import { createTestDatabase, openConnections, plainTemplateName, type TestDatabase } from "./database.ts";
import { isCitus } from "./citus.ts";
import { execute, urlOfDatabase } from "./server.ts";
import { migrate, MIGRATION_LOCK } from "../../src/store/migrate.ts";

/** Blocks migrations until the end of the transaction, as a running migration does. */
export const HOLD_MIGRATION_LOCK = `select pg_advisory_xact_lock(${MIGRATION_LOCK})`;

/** An empty database. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const serverUrl = process.env["RETURNS_TEST_DATABASE_URL"] ?? "";
  const name = `test_empty_${randomBytes(6).toString("hex")}`;
  await execute(serverUrl, `create database ${name} template template0`);
  return {
    url: urlOfDatabase(serverUrl, name),
    drop: () => execute(serverUrl, `drop database if exists ${name} with (force)`),
  };
}

/** A migrated database for backups: not distributed, because that is refused, even on a Citus server. */
export async function createPlainDatabase(): Promise<TestDatabase> {
  if (!isCitus()) return createTestDatabase(plainTemplateName);
  const database = await createEmptyDatabase();
  await migrate({ url: database.url });
  return database;
}

/** A database of one test with connections to it; both are removed when the test ends. */
export async function openDatabaseOf(context: TestContext, make = createEmptyDatabase) {
  const made = await make();
  const database = openConnections(made.url, { maxConnections: 3 });
  context.after(async () => {
    await database.close();
    await made.drop();
  });
  return { url: made.url, database };
}

/** Backs a database up as the command does, by default without the secret. */
export async function backUp(database: Database, folder: string, secret: string | null = null) {
  const caller = {
    database,
    actor: OPERATOR,
    now: new Date(),
    signal: new AbortController().signal,
    onProgress: () => {},
    secrets: { secret, dataFolder: "" },
    migrate: () => Promise.resolve(),
  };
  const input = textInput({ folder, ...(secret === null ? {} : { with_secret: "yes" }) });
  return (await runAction(backup, caller, input)).result;
}

/** Restores a folder into the database of an address, as the command does before it migrates. */
export async function restoreInto(url: string, folder: string): Promise<Restored> {
  const database = openConnections(url, { maxConnections: 2 });
  try {
    return await restoreBackup(await readBackup(folder), {
      database,
      signal: new AbortController().signal,
      onProgress: () => {},
    });
  } finally {
    await database.close();
  }
}

/** Columns that a restore writes itself, and those that the backup writes after its snapshot. */
const CHANGED_COLUMNS = ["data_version", "warned_version", "backed_up_at"];

/** A hash of all rows of each table, by its name, without the columns that are named. */
export async function hashesOf(
  client: Pick<pg.ClientBase, "query">,
  without: readonly string[] = [],
): Promise<Record<string, string>> {
  const { rows: tables } = await client.query<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'schema_migration' order by 1",
  );
  const hashes: Record<string, string> = {};
  for (const { name } of tables) {
    const { rows } = await client.query<{ hash: string }>(
      `select count(*) || ' ' || md5(coalesce(string_agg(row, '|' order by row), '')) as hash
         from (select (to_jsonb(t) - $1::text[])::text collate "C" as row from public.${name} t) r`,
      [[...CHANGED_COLUMNS, ...without]],
    );
    hashes[name] = rows[0]?.hash ?? "";
  }
  return hashes;
}

/** Runs one statement on a separate connection and returns its rows. */
export async function rowsIn<Row>(url: string, statement: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows as Row[];
  } finally {
    await client.end();
  }
}
