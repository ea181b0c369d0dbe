import { evaluateAlerts } from "../alerts/evaluate-alerts.ts";
import type { Database } from "../store/database.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { rebuildWorkspace } from "../sync/rebuild.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { requireRight } from "./rights.ts";

/**
 * Recomputes facts and rollups from the order documents; what is served changes in one step. Then
 * evaluates alerts.
 */
export async function rebuildData(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
): Promise<{ shop_domain: string; data_version: number }> {
  requireRight(actor, "rebuild");
  const { shop_key: shopKey, shop_domain: shopDomain } = workspace;
  const dataVersion = await database.transaction(async (connection) => {
    const version = await rebuildWorkspace(connection, shopKey);
    await recordAction(connection, actor, { shopKey, action: "rebuild", detail: { data_version: version } });
    return version;
  });
  await evaluateAlerts({ database, shopKey, now: new Date() });
  return { shop_domain: shopDomain, data_version: dataVersion };
}
