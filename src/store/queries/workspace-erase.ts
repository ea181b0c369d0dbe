import type { Connection } from "../database.ts";
import { command, inOrder } from "../query.ts";
import { deleteMembers } from "./workspace-member.ts";
import { leaveQueueWithShop } from "./run-queue.ts";
import { deleteAccounts } from "./shop-account.ts";
import { CLEARED_TABLES } from "./workspace-clear.ts";

/** What clearing leaves: settings, tokens, history, and which orders are not to be named again. */
const KEPT_BY_CLEARING = [
  "alert_endpoint",
  "api_token",
  "audit_event",
  "daily_usage",
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
 * Removes a workspace with all its data and its members; its domain can be used again. Needs `lockShop` and then `lockMembers`
 * earlier in the transaction: rows that a run has not committed yet would be overlooked, members hold themselves before they
 * change rows, and not every table falls with its workspace. Members, directory and queue are of the installation's tables, which Citus changes by statements of their own.
 */
export const eraseWorkspace = inOrder(eraseTables, deleteMembers, deleteAccounts, leaveQueueWithShop);
