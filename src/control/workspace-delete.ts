import type { Database } from "../store/database.ts";
import { lockShop, WorkspaceGone } from "../store/queries/import-stage.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import { eraseWorkspace } from "../store/queries/workspace-erase.ts";
import { lockMembers } from "../store/queries/workspace-member.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { requireRight } from "./rights.ts";
import { impossible } from "./refusal.ts";
import { shownWorkspace } from "./workspace.ts";

/** A workspace that is gone. */
export type DeletedWorkspace = { shop_domain: string };

/**
 * Deletes a workspace with everything that is stored of it, after a run that is writing its data. What is left is the
 * installation's record that it was deleted. Throws a `Refusal` when somebody else has deleted it.
 */
export async function deleteWorkspace(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
): Promise<DeletedWorkspace> {
  requireRight(actor, "workspace.delete");
  const { shop_key: shopKey, shop_domain: shopDomain } = workspace;
  await database.transaction(async (connection) => {
    await lockShop(connection, shopKey).catch((error: unknown) => {
      throw error instanceof WorkspaceGone
        ? impossible(`The workspace ${shopDomain} has already been deleted.`)
        : error;
    });
    await lockMembers(connection, shopKey);
    await eraseWorkspace(connection, shopKey);
    await recordAction(connection, actor, {
      shopKey: null,
      action: "workspace.delete",
      detail: { shop_domain: shopDomain },
      before: shownWorkspace(workspace),
    });
  });
  return { shop_domain: shopDomain };
}
