import type { Database } from "../database.ts";
import { command } from "../query.ts";

/** The tables that an import writes. */
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
 * Analyzes a table: on one server the whole table, by a sample of fixed size; on a distributed one only the workspace's shard, on
 * its node. Tables that a node refuses are omitted.
 */
export const analyzeTable = command<[shopKey: number, table: string]>(
  "analyze_table",
  "select analyze_shop($1, $2) is null as done",
);

/**
 * Gives the planner the new sizes of a workspace's data at once, before autovacuum does. Call it outside a transaction: its locks
 * would block other workspaces' runs until the end of that. Never throws: the import is committed, and failed statistics are left
 * to autovacuum.
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
    // The workspace's node, or the database, is unavailable: the next statement reports it.
  }
}
