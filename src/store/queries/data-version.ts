import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";
import type { Workspace } from "../workspace.ts";

const LOAD_DATA_VERSION = defineStatement({
  name: "load_data_version",
  text: "select data_version from workspace where shop_key = $1",
});

/** The workspace's data version as it is now; null = the workspace is gone. */
export async function loadDataVersion(database: Queryable, workspace: Workspace): Promise<number | null> {
  const [row] = await database.rows<{ data_version: number }>(LOAD_DATA_VERSION, [workspace.shopKey]);
  return row?.data_version ?? null;
}
