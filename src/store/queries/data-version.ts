import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";

type VersionRow = { data_version: number };

const FIND_DATA_VERSION = defineStatement({
  name: "find_data_version",
  text: "select data_version from workspace where shop_key = $1",
});

/** The workspace's data version as it is now. Throws when there is no such workspace. */
export async function requireDataVersion(database: Queryable, shopKey: number): Promise<number> {
  const [row] = await database.rows<VersionRow>(FIND_DATA_VERSION, [shopKey]);
  if (row === undefined) throw new Error("the workspace does not exist");
  return row.data_version;
}

const RAISE_DATA_VERSION = defineStatement({
  name: "raise_data_version",
  text: "update workspace set data_version = data_version + 1 where shop_key = $1 returning data_version",
});

/** What is served has changed; returns the new data version. Throws when there is no such workspace. */
export async function raiseDataVersion(database: Queryable, shopKey: number): Promise<number> {
  const [row] = await database.rows<VersionRow>(RAISE_DATA_VERSION, [shopKey]);
  if (row === undefined) throw new Error("the workspace does not exist");
  return row.data_version;
}
