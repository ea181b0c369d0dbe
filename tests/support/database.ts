import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { distributeInstallation } from "../../src/store/distribute.ts";
import { migrate } from "../../src/store/migrate.ts";
import { openDatabase } from "../../src/store/database.ts";
import type { Database, DatabaseOptions } from "../../src/store/database.ts";

export type TestDatabase = { url: string; drop(): Promise<void> };

/**
 * What a database holds from the start. It is written once for all test files, into a template of its own; `write` returns
 * what tests need to know of it, as JSON has it.
 */
export type Seed<Known> = { name: string; write: (url: string) => Promise<Known> };

/** The migrated database that every test database is a copy of. */
export const templateName = "template_returns";

/** Tests of the schedule make its tasks due; others run past the quarter of an hour at which one would be. */
const STOP_SCHEDULE = "update schedule set done_until = 'infinity'";

const attempts = 50;
const retryMs = 100;

/**
 * A migrated, empty database of its own for a test file; `drop` cuts off connections that are still open. With
 * RETURNS_TEST_CITUS=1 the server is a Citus, and its tables are distributed over that one node.
 */
export async function createTestDatabase(template = templateName): Promise<TestDatabase> {
  const serverUrl = process.env["RETURNS_TEST_DATABASE_URL"];
  if (serverUrl === undefined) throw new Error("Tests that need PostgreSQL run through: npm test");
  const name = `test_${randomBytes(6).toString("hex")}`;
  const url = urlOfDatabase(serverUrl, name);
  if (process.env["RETURNS_TEST_CITUS"] === "1") await createDistributed(serverUrl, name, url);
  else await copyTemplate(serverUrl, name, template);
  await execute(url, STOP_SCHEDULE);
  return {
    url,
    drop: () => execute(serverUrl, `drop database if exists ${name} with (force)`),
  };
}

/** Drops what earlier runs left on a server that outlives them: their schema may be older. */
export async function dropTemplates(serverUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ datname: string }>(
      "select datname from pg_database where starts_with(datname, $1)",
      [templateName],
    );
    for (const { datname } of rows) await client.query(`drop database ${datname} with (force)`);
  } finally {
    await client.end();
  }
}

/** A database of its own that holds what the seed has written. */
export async function createSeededDatabase<Known>(
  seed: Seed<Known>,
): Promise<TestDatabase & { known: Known }> {
  if (process.env["RETURNS_TEST_CITUS"] === "1") {
    const created = await createTestDatabase();
    return { ...created, known: await seed.write(created.url) };
  }
  const serverUrl = process.env["RETURNS_TEST_DATABASE_URL"] ?? "";
  const template = `${templateName}_${seed.name}`;
  const known = await ensureTemplate(serverUrl, template, seed);
  return { ...(await createTestDatabase(template)), known };
}

/** The same server and user, another database. */
export function urlOfDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** Connections as the service opens them: one that may write and wait, unless told otherwise. */
export function openConnections(url: string, options: Partial<DatabaseOptions> = {}): Database {
  return openDatabase({
    url,
    maxConnections: 1,
    readOnly: false,
    statementTimeoutMs: 0,
    applicationName: "returns-test",
    onConnectionError: () => {},
    ...options,
  });
}

/** Runs one statement on a connection of its own. */
export async function execute(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Not from the template: Citus keeps a connection of its own to each database, and PostgreSQL copies none that has one. */
async function createDistributed(serverUrl: string, name: string, url: string): Promise<void> {
  await execute(serverUrl, `create database ${name}`);
  await execute(serverUrl, `alter database ${name} set citus.shard_count = 2`);
  await execute(url, "create extension citus");
  const { hostname, port: given } = new URL(url);
  const port = given === "" ? 5432 : Number(given);
  await execute(url, `select citus_set_coordinator_host('${hostname}', ${port})`);
  await execute(url, `select citus_set_node_property('${hostname}', ${port}, 'shouldhaveshards', true)`);
  await migrate({ url });
  const database = openConnections(url);
  try {
    await distributeInstallation(database);
  } finally {
    await database.close();
  }
}

/** PostgreSQL refuses to copy a database while somebody is connected to it (55006). */
async function copyTemplate(serverUrl: string, name: string, template: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await execute(serverUrl, `create database ${name} template ${template}`);
    } catch (error) {
      if ((error as { code?: string }).code !== "55006" || attempt === attempts) throw error;
      await sleep(retryMs);
    }
  }
}

/** Of the files that want a template at once one writes it. What is known of it is the comment on the database. */
async function ensureTemplate<Known>(
  serverUrl: string,
  template: string,
  { write }: Seed<Known>,
): Promise<Known> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock(hashtext($1))", [template]);
    const { rows } = await client.query<{ known: string | null }>(
      "select shobj_description(oid, 'pg_database') as known from pg_database where datname = $1",
      [template],
    );
    const [found] = rows;
    if (typeof found?.known === "string") return JSON.parse(found.known) as Known;
    await client.query(`drop database if exists ${template} with (force)`);
    await copyTemplate(serverUrl, template, templateName);
    const known = await write(urlOfDatabase(serverUrl, template));
    await client.query(`comment on database ${template} is ${client.escapeLiteral(JSON.stringify(known))}`);
    return known;
  } finally {
    await client.end();
  }
}
