import type { Connection } from "../database.ts";
import { queryAny, queryRow, queryValue } from "../query.ts";

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

/** When a workspace is erased; null = it is not to be, or is gone. Primary key. */
export const findErasure = queryValue<Date, [shopKey: number]>(
  "find_erasure",
  "select w.erase_after from workspace w where w.shop_key = $1",
);

export type ErasingRow = { shop_domain: string; erase_after: Date };

/** A workspace whose time has come, held to the end of the transaction; null = it has not. Primary key. */
export const lockDueErasure = queryRow<ErasingRow, [shopKey: number, now: Date], Connection>(
  "lock_due_erasure",
  `select w.shop_domain, w.erase_after from workspace w
    where w.shop_key = $1 and w.erase_after <= $2 for update`,
);
