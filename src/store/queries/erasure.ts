import type { Connection } from "../database.ts";
import { query, queryAny, queryRow } from "../query.ts";

/** Notes when a workspace is to be erased; false = that is noted already. Primary key. */
export const askForErasure = queryAny<[shopKey: number, eraseAfter: Date]>(
  "ask_for_erasure",
  `update workspace set erase_after = $2 where shop_key = $1 and erase_after is null returning 1 as asked`,
);

/** Takes that back; false = it was not noted, or the workspace is gone. Primary key. */
export const takeErasureBack = queryAny<[shopKey: number]>(
  "take_erasure_back",
  `update workspace set erase_after = null where shop_key = $1 and erase_after is not null returning 1 as taken`,
);

export type ErasingRow = { shop_key: number; shop_domain: string; erase_after: Date };

/** Workspaces whose time has come, the earliest first: a scan of all, once an hour. */
export const listDueErasures = query<ErasingRow, [now: Date]>(
  "list_due_erasures",
  `select w.shop_key, w.shop_domain, w.erase_after from workspace w
    where w.erase_after <= $1 order by w.erase_after, w.shop_key`,
);

/** The same workspace, held to the end of the transaction; null = it was taken back, or is gone. Primary key. */
export const lockDueErasure = queryRow<ErasingRow, [shopKey: number, now: Date], Connection>(
  "lock_due_erasure",
  `select w.shop_key, w.shop_domain, w.erase_after from workspace w
    where w.shop_key = $1 and w.erase_after <= $2 for update`,
);

/** Of these workspaces those that are going to be erased: a look-up each. */
export const listErasing = query<{ shop_key: number }, [shopKeys: readonly number[]]>(
  "list_erasing",
  "select w.shop_key from workspace w where w.shop_key = any($1::bigint[]) and w.erase_after is not null",
);
