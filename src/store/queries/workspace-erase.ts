import type { Connection } from "../database.ts";
import { command, inOrder, queryAny, queryRow, queryValue } from "../query.ts";
import { deleteAccounts } from "./data-source.ts";
import { leaveQueueWithWorkspace, leaveQueueWithSources } from "./run-queue.ts";
import { deleteMembers } from "./workspace-member.ts";

/** Everything that holds a workspace's data. */
const CLEARED_TABLES = [
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
  "sku_year",
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

/** Tables that clearing keeps: settings, tokens, history, and redacted orders. */
const KEPT_BY_CLEARING = [
  "alert_endpoint",
  "api_token",
  "audit_event",
  "daily_usage",
  "oauth_grant",
  "plan_request",
  "redacted_order",
  "shop_directory",
  "usage_detail",
];

const eraseTables = command<[shopKey: number], Connection>(
  "erase_workspace",
  `with ${[...CLEARED_TABLES, ...KEPT_BY_CLEARING]
    .map((table) => `from_${table} as (delete from ${table} where shop_key = $1)`)
    .join(", ")}
         delete from workspace where shop_key = $1`,
);

/**
 * Removes a workspace with all its data and its members; its domain can be used again. Needs `lockWorkspace` and then
 * `lockMembers` earlier in the transaction: uncommitted rows of a run would be missed, and members lock themselves before they
 * change rows. Citus changes the installation's tables (members, directory, queue) by separate statements.
 */
export const eraseWorkspace = inOrder(eraseTables, deleteMembers, deleteAccounts, leaveQueueWithWorkspace);

/** Notes when a workspace is to be erased; false = that is noted already. Primary key. */
export const askForErasure = queryAny<[shopKey: number, eraseAfter: Date]>(
  "ask_for_erasure",
  `update workspace set erase_after = $2 where shop_key = $1 and erase_after is null returning 1 as asked`,
);

/** Cancels the erasure; false: it was not requested, or the workspace is gone. Primary key. */
export const takeErasureBack = queryAny<[shopKey: number]>(
  "take_erasure_back",
  `update workspace set erase_after = null where shop_key = $1 and erase_after is not null returning 1 as taken`,
);

/** When a workspace will be erased; null: not requested, or it is gone. Primary key. */
export const findErasure = queryValue<Date, [shopKey: number]>(
  "find_erasure",
  "select w.erase_after from workspace w where w.shop_key = $1",
);

type ErasingRow = { shop_domain: string; erase_after: Date };

/** A workspace due for erasure, locked to the end of the transaction; null: not due. Primary key. */
export const lockDueErasure = queryRow<ErasingRow, [shopKey: number, now: Date], Connection>(
  "lock_due_erasure",
  `select w.shop_domain, w.erase_after from workspace w
    where w.shop_key = $1 and w.erase_after <= $2 for update`,
);
