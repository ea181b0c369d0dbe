import { command, inOrder } from "../query.ts";
import { leaveQueueWithSources } from "./run-queue.ts";
import { deleteAccounts } from "./shop-account.ts";

/** Everything that holds a workspace's data. */
export const CLEARED_TABLES = [
  "alert",
  "amount_refund",
  "booking_difference",
  "cohort",
  "data_source",
  "dirty_cohort",
  "entity",
  "group_day",
  "import_part",
  "import_upload",
  "label_share",
  "listing",
  "order_document",
  "order_line",
  "order_reference",
  "pending_record",
  "product",
  "return_event",
  "return_label",
  "return_request",
  "return_tracking",
  "sale_event",
  "sku",
  "sku_quarter",
  "sync_record",
  "sync_request",
  "sync_run",
  "unmatched_label",
  "variant",
  "warning_episode",
  "watchlist_entry",
  "webhook_delivery",
];

const clearTables = command<[shopKey: number]>(
  "clear_workspace",
  `with ${CLEARED_TABLES.map((table) => `from_${table} as (delete from ${table} where shop_key = $1)`).join(", ")}
         update workspace
            set readiness = 'backfilling', data_as_of = null, data_version = data_version + 1
          where shop_key = $1`,
);

/** Removes all data of a workspace, not its settings, tokens and history; it answers not_ready until it has data. */
export const clearWorkspace = inOrder(clearTables, deleteAccounts, leaveQueueWithSources);
