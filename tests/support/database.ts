import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { rootFingerprint } from "../../src/lib/keys.ts";
import { distributeInstallation } from "../../src/store/distribute.ts";
import { migrate } from "../../src/store/migrate.ts";
import { openDatabase, type DatabaseOptions, type DatabasePool } from "../../src/store/database.ts";
import { groupOf, ROLES, type DatabaseRole } from "../../src/store/role-rights.ts";
import { createLogins, loginUrl } from "../../src/store/roles.ts";
import { freeze, isCitus, joinNodes, listServers } from "./citus.ts";
import { TEST_SECRET } from "./secret.ts";
import { execute, urlOfDatabase } from "./server.ts";

export type TestDatabase = { url: string; drop(): Promise<void> };

/**
 * The initial content of a database. It is written once for all test files, into its own template; `write` returns
 * what tests need to know about it, as JSON.
 */
export type Seed<Known> = { name: string; write: (url: string) => Promise<Known> };

/** The migrated database that every test database is a copy of, and on one server the one as a migration leaves it. */
export const templateName = "template_returns";
export const plainTemplateName = `${templateName}_plain`;

/**
 * Test databases are of an installation whose keys an earlier version derived from TEST_SECRET, so that tests can create tokens and
 * encrypt credentials without opening the keys. `FORGET_KEYS` makes one with which no secret was used.
 */
export const KEEP_TEST_KEYS = `insert into installation (secret_fingerprint)
  values ('\\x${rootFingerprint(TEST_SECRET).toString("hex")}')`;
export const FORGET_KEYS = "delete from installation";
/** Password of the logins that every test server has. */
const LOGIN_PASSWORD = "a password of tests";

/** A database's address with the login of a role, as a service uses it. */
export function asRole(url: string, role: DatabaseRole): string {
  return loginUrl(url, role, LOGIN_PASSWORD);
}

/** The options of a service with an external database: an address for each role. */
export function roleEnvironment(url: string): Record<string, string> {
  return Object.fromEntries(ROLES.map((role) => [`DATABASE_${role.toUpperCase()}_URL`, asRole(url, role)]));
}

/** Rights on the database itself are the only thing that a copy does not include. */
const closeCopy = (name: string): string =>
  `revoke temporary on database ${name} from public; grant temporary on database ${name} to ${groupOf("worker")}`;

/** Tests of the schedule make its tasks due; in other tests nothing is polled until it was read. */
const STOP_SCHEDULE = [
  "update schedule set done_until = 'infinity'",
  "alter table data_source alter column poll_at set default '2999-01-01'",
  "alter table data_source alter column reread_at set default '2999-01-01'",
];

const attempts = 50;
const retryMs = 100;

/**
 * A migrated, empty database of its own for a test file; `drop` cuts off connections that are still open. With
 * RETURNS_TEST_CITUS=1 the server is the coordinator of a Citus, and the tables are distributed over its nodes.
 */
export async function createTestDatabase(template = templateName): Promise<TestDatabase> {
  const serverUrl = testServerUrl();
  const name = `test_${randomBytes(6).toString("hex")}`;
  const url = urlOfDatabase(serverUrl, name);
  await onEachServer(serverUrl, (server) => copyTemplate(server, name, template));
  await onEachServer(serverUrl, (server) => execute(server, closeCopy(name)));
  return {
    url,
    drop: () => onEachServer(serverUrl, (server) => dropDatabase(server, name)),
  };
}

/** Creates the database that every test database is a copy of, in place of what an earlier run left. */
export async function createTemplate(serverUrl: string): Promise<void> {
  await onEachServer(serverUrl, dropTemplates);
  await createTestLogins(serverUrl);
  const url = urlOfDatabase(serverUrl, templateName);
  const first = isCitus() ? templateName : plainTemplateName;
  await onEachServer(serverUrl, (server) => execute(server, `create database ${first}`));
  if (isCitus())
    await joinNodes((await listServers(serverUrl)).map((server) => urlOfDatabase(server, templateName)));
  await migrate({ url: urlOfDatabase(serverUrl, first) });
  if (!isCitus()) await copyTemplate(serverUrl, templateName, plainTemplateName);
  for (const statement of [KEEP_TEST_KEYS, ...STOP_SCHEDULE]) await execute(url, statement);
  if (!isCitus()) return;
  const database = openConnections(url);
  try {
    await distributeInstallation(database);
  } finally {
    await database.close();
  }
  await freeze(serverUrl, templateName);
}

/** The logins that `serviceEnvironment` names. Roles belong to the server; on Citus, with the extension in this database, they are also created on its nodes. */
export async function createTestLogins(serverUrl: string): Promise<void> {
  const server = openConnections(serverUrl);
  try {
    await createLogins(server, () => LOGIN_PASSWORD);
  } finally {
    await server.close();
  }
}

/** Drops the templates that earlier runs left on a server: their schema may be older. */
async function dropTemplates(serverUrl: string): Promise<void> {
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

/** A separate database filled by the seed. */
export async function createSeededDatabase<Known>(
  seed: Seed<Known>,
): Promise<TestDatabase & { known: Known }> {
  const serverUrl = testServerUrl();
  const template = `${templateName}_${seed.name}`;
  const known = await ensureTemplate(serverUrl, template, seed);
  return { ...(await createTestDatabase(template)), known };
}

/** Connections as the service opens them: one that may write and wait, unless told otherwise. */
export function openConnections(url: string, options: Partial<DatabaseOptions> = {}): DatabasePool {
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

function testServerUrl(): string {
  const serverUrl = process.env["RETURNS_TEST_DATABASE_URL"];
  if (serverUrl === undefined) throw new Error("Tests that need PostgreSQL run through: npm test");
  return serverUrl;
}

/** On the one server, or on the coordinator and then each node. */
async function onEachServer(serverUrl: string, act: (server: string) => Promise<void>): Promise<void> {
  const servers = isCitus() ? await listServers(serverUrl) : [serverUrl];
  for (const server of servers) await act(server);
}

/** Copies files: writing each page to the log as well takes three times as long. */
const copyTemplate = (serverUrl: string, name: string, template: string): Promise<void> =>
  executeAlone(serverUrl, `create database ${name} template ${template} strategy file_copy`);

const dropDatabase = (serverUrl: string, name: string): Promise<void> =>
  executeAlone(serverUrl, `drop database if exists ${name} with (force)`);

/** PostgreSQL refuses to copy or drop a database while something is connected to it (55006), such as Citus, which disconnects slowly. */
async function executeAlone(serverUrl: string, statement: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await execute(serverUrl, statement);
    } catch (error) {
      if ((error as { code?: string }).code !== "55006" || attempt === attempts) throw error;
      await sleep(retryMs);
    }
  }
}

/** If several test files need a template at once, one writes it. The comment on the database holds what `write` returned. */
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
    await onEachServer(serverUrl, async (server) => {
      await dropDatabase(server, template);
      await copyTemplate(server, template, templateName);
    });
    const known = await write(urlOfDatabase(serverUrl, template));
    if (isCitus()) await freeze(serverUrl, template);
    await client.query(`comment on database ${template} is ${client.escapeLiteral(JSON.stringify(known))}`);
    return known;
  } finally {
    await client.end();
  }
}
