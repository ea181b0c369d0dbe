import { randomBytes } from "node:crypto";
import { migrate } from "../../src/store/migrate.ts";
import { execute, urlOfDatabase } from "./server.ts";
import type { TestDatabase } from "./database.ts";
import { copyMigrations, MIGRATIONS } from "./migration-folder.ts";

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
  const folder = copyMigrations(new URL("before-release/", MIGRATIONS), last);
  try {
    await migrate({ url, folder: folder.url });
  } finally {
    folder.remove();
  }
}
