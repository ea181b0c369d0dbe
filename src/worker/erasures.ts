import type { Database } from "../store/database.ts";
import { INSTALLATION_SHOP_KEY, insertAuditEvent } from "../store/queries/audit.ts";
import { listDueErasures, lockDueErasure } from "../store/queries/erasure.ts";
import { lockShop, WorkspaceGone } from "../store/queries/import-stage.ts";
import { eraseWorkspace } from "../store/queries/workspace-erase.ts";
import type { RunLog } from "../sync/runs.ts";

/**
 * Erases the workspaces whose time has come, each in a transaction of its own: one that is cut off leaves all of its
 * workspace, and the next call erases it. What stays is the installation's record of it.
 */
export async function eraseDue(database: Database, now: Date, log: RunLog): Promise<void> {
  for (const { shop_key: shopKey, shop_domain: shop } of await listDueErasures(database, now)) {
    try {
      if (await eraseOne(database, shopKey, now)) log.info({ shop }, "the workspace is erased");
    } catch (error) {
      if (!(error instanceof WorkspaceGone)) {
        log.error({ shop, err: error }, "a workspace could not be erased; the next upkeep tries again");
      }
    }
  }
}

/** false = it was taken back meanwhile. */
async function eraseOne(database: Database, shopKey: number, now: Date): Promise<boolean> {
  return database.transaction(async (connection) => {
    await lockShop(connection, shopKey);
    const due = await lockDueErasure(connection, shopKey, now);
    if (due === null) return false;
    await eraseWorkspace(connection, shopKey);
    await insertAuditEvent(connection, INSTALLATION_SHOP_KEY, {
      actor: "upkeep",
      action: "workspace.delete",
      detail: { shop_domain: due.shop_domain },
      before: { erase_after: due.erase_after.toISOString() },
    });
    return true;
  });
}
