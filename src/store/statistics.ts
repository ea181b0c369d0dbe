import type { Database } from "./database.ts";
import { analyzeTable, FACT_TABLES } from "./queries/statistics.ts";

/**
 * Gives the planner the new sizes of a shop's data at once, where autovacuum would come to it later. Belongs outside a
 * transaction: its locks would keep other shops' runs waiting until the end of that. Never throws: what was imported is
 * imported, and statistics that fail are left to autovacuum.
 */
export async function analyzeData(database: Database, shopKey: number): Promise<void> {
  await analyze(database, shopKey, FACT_TABLES);
}

/** The same of the records that were fetched for a shop. */
export async function analyzeRecords(database: Database, shopKey: number): Promise<void> {
  await analyze(database, shopKey, ["sync_record"]);
}

async function analyze(database: Database, shopKey: number, tables: readonly string[]): Promise<void> {
  try {
    for (const table of tables) await analyzeTable(database, shopKey, table);
  } catch {
    // The shop's node, or the database, is away: whatever comes next says so.
  }
}
