import type { Database } from "../store/database.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { rebuildWorkspace } from "../sync/rebuild.ts";
import { recordAction } from "./audit.ts";
import { joinTransaction } from "./join.ts";

/** Derives facts and prepared answers anew from the order documents; what is served changes in one step. */
export async function rebuildData(
  database: Database,
  workspace: WorkspaceRow,
): Promise<{ shop_domain: string; data_version: number }> {
  const { shop_key: shopKey, shop_domain: shopDomain } = workspace;
  return database.transaction(async (connection) => {
    const dataVersion = await rebuildWorkspace(joinTransaction(connection), shopKey);
    await recordAction(connection, shopKey, "rebuild", { data_version: dataVersion });
    return { shop_domain: shopDomain, data_version: dataVersion };
  });
}
