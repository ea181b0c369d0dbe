import { requireValue } from "../query.ts";

/** The workspace's data version as it is now. Throws when there is no such workspace. */
export const requireDataVersion = requireValue<number, [shopKey: number]>(
  "find_data_version",
  "select data_version from workspace where shop_key = $1",
);

/** What is served has changed; returns the new data version. Throws when there is no such workspace. */
export const raiseDataVersion = requireValue<number, [shopKey: number]>(
  "raise_data_version",
  "update workspace set data_version = data_version + 1 where shop_key = $1 returning data_version",
);
