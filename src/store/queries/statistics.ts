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
  "group_day",
  "unmatched_label",
] as const;

/**
 * Analyzes a table: on one server all of it, by a sample whose size does not grow with it; on a distributed one the shop's shard
 * alone, on its node. What a node refuses is left out.
 */
export const analyzeTable = command<[shopKey: number, table: string]>(
  "analyze_table",
  "select analyze_shop($1, $2) is null as done",
);
