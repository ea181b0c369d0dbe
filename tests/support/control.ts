import type pg from "pg";
import type { Database, DatabaseOptions, DatabasePool } from "../../src/store/database.ts";
import { createTestDatabase, openConnections } from "./database.ts";
import { openTestPool } from "./service.ts";

/** `shop_key` 0 = the installation. */
export type StoredAuditEvent = {
  shop_key: number;
  actor: string;
  action: string;
  detail: Record<string, unknown>;
};

export type ControlDatabase = {
  database: Database;
  url: string;
  /** For the test's own statements. */
  pool: pg.Pool;
  /** Every recorded action, oldest first. */
  audit(): Promise<StoredAuditEvent[]>;
  stop(): Promise<void>;
};

/** A separate database, opened as the operator's actions open it, or as a test says. */
export async function openControlDatabase(
  options: Partial<DatabaseOptions> = {},
): Promise<ControlDatabase & { database: DatabasePool }> {
  const testDatabase = await createTestDatabase();
  const database = openConnections(testDatabase.url, {
    maxConnections: 4,
    applicationName: "returns-control",
    ...options,
  });
  const pool = openTestPool(testDatabase.url);
  return {
    database,
    url: testDatabase.url,
    pool,
    audit: () =>
      database.rows(
        {
          name: "test_audit",
          text: `select shop_key, actor, action, detail from (
                   select shop_key, happened_at, audit_id, actor, action, detail from audit_event
                    union all
                   select 0, happened_at, audit_id, actor, action, detail from identity_event) a
                  order by happened_at, audit_id`,
        },
        [],
      ),
    stop: async () => {
      await Promise.all([database.close(), pool.end()]);
      await testDatabase.drop();
    },
  };
}

/** Connections that stay while those of workers are killed. */
export function openObserver({ url }: Pick<ControlDatabase, "url">) {
  const database = openConnections(url, { maxConnections: 2, applicationName: "test-observer" });
  return { ...database, stop: () => database.close() };
}
