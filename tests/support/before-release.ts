import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runner } from "node-pg-migrate";
import { execute, urlOfDatabase } from "./server.ts";
import type { TestDatabase } from "./database.ts";

const FOLDER = fileURLToPath(new URL("../../src/store/migrations/before-release/", import.meta.url));

/** A database that versions before the first release made, up to and with the migration `last`; all without it. */
export async function createDatabaseBeforeRelease(last?: string): Promise<TestDatabase> {
  const serverUrl = process.env["RETURNS_TEST_DATABASE_URL"] ?? "";
  const name = `test_old_${randomBytes(6).toString("hex")}`;
  const url = urlOfDatabase(serverUrl, name);
  await execute(serverUrl, `create database ${name}`);
  await migrateBeforeRelease(url, last);
  return { url, drop: () => execute(serverUrl, `drop database if exists ${name} with (force)`) };
}

/** Runs those migrations on a database up to and with `last`, all without it. */
export async function migrateBeforeRelease(url: string, last?: string): Promise<void> {
  const names = readdirSync(FOLDER).toSorted();
  const count = last === undefined ? names.length : names.indexOf(`${last}.sql`) + 1;
  if (count === 0) throw new Error(`${last} is no migration of before the first release`);
  await runner({
    databaseUrl: url,
    dir: FOLDER,
    direction: "up",
    count,
    migrationsTable: "schema_migration",
    log: () => {},
  });
}
