import type { Database } from "../database.ts";
import { command } from "../query.ts";

/** What an import writes. */
export const FACT_TABLES = [
  "product",
  "variant",
  "sku",
  "entity",
  "order_document",
  "return_label",
  "order_line",
  "return_event",
  "booking_difference",
  "amount_refund",
  "return_request",
  "label_share",
  "cohort",
  "listing",
  "sku_quarter",
  "sku_year",
  "group_day",
  "unmatched_label",
] as const;

/**
 * Analyzes a table: on one server all of it, by a sample whose size does not grow with it; on a distributed one the workspace's shard
 * alone, on its node. What a node refuses is left out.
 */
export const analyzeTable = command<[shopKey: number, table: string]>(
  "analyze_table",
  "select analyze_shop($1, $2) is null as done",
);

/**
 * Gives the planner the new sizes of a workspace's data at once, where autovacuum would come to it later. Call it outside a
 * transaction: its locks would keep other workspaces' runs waiting until the end of that. Never throws: what was imported is
 * imported, and statistics that fail are left to autovacuum.
 */
export async function analyzeData(database: Database, shopKey: number): Promise<void> {
  await analyze(database, shopKey, FACT_TABLES);
}

/** The same of the records that were fetched for a workspace. */
export async function analyzeRecords(database: Database, shopKey: number): Promise<void> {
  await analyze(database, shopKey, ["sync_record"]);
}

async function analyze(database: Database, shopKey: number, tables: readonly string[]): Promise<void> {
  try {
    for (const table of tables) await analyzeTable(database, shopKey, table);
  } catch {
    // The workspace's node, or the database, is away: whatever comes next says so.
  }
}
