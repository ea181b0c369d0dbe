import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

export type TestDatabase = { url: string; drop(): Promise<void> };

/** The migrated database that every test database is a copy of. */
export const templateName = "template_returns";

const attempts = 50;
const retryMs = 100;

/** A migrated, empty database of its own for a test file; `drop` cuts off connections that are still open. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = process.env["RETURNS_TEST_DATABASE_URL"];
  if (serverUrl === undefined) throw new Error("Tests that need PostgreSQL run through: npm test");
  const name = `test_${randomBytes(6).toString("hex")}`;
  await copyTemplate(serverUrl, name);
  return {
    url: urlOfDatabase(serverUrl, name),
    drop: () => execute(serverUrl, `drop database if exists ${name} with (force)`),
  };
}

/** The same server and user, another database. */
export function urlOfDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
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

/** PostgreSQL refuses to copy a database while somebody is connected to it (55006). */
async function copyTemplate(serverUrl: string, name: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await execute(serverUrl, `create database ${name} template ${templateName}`);
    } catch (error) {
      if ((error as { code?: string }).code !== "55006" || attempt === attempts) throw error;
      await sleep(retryMs);
    }
  }
}
