import type { TestService } from "./service.ts";

/** Runs `work` while a table and its view of one shop are missing: reading it fails with 42P01. */
export async function withoutTable<Result>(
  database: TestService["database"],
  table: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const rename = async (from: string, to: string): Promise<void> => {
    await database.query(`alter table ${from} rename to ${to}`);
    await database.query(`alter view if exists one_shop.${from} rename to ${to}`);
  };
  await rename(table, `${table}_away`);
  try {
    return await work();
  } finally {
    await rename(`${table}_away`, table);
  }
}
