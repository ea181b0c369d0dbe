import type { Database } from "../store/database.ts";
import { findConnection, setCredentials, setSourceStatus } from "../store/queries/data-source.ts";
import { dropRequests } from "../store/queries/sync-request.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { requireRight } from "./rights.ts";
import { quoted } from "./input.ts";
import { impossible } from "./refusal.ts";

/** What became of a connection. */
export type Disconnected = {
  source: string;
  workspace: string;
  was_connected: boolean;
  last_synced_at: Date | null;
};

/**
 * Deletes the credentials of a source; what was read stays and is served with its date. Doing it again changes nothing.
 * Throws a `Refusal` when the workspace was never connected to it.
 */
export async function disconnectSource(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  source: string,
): Promise<Disconnected> {
  requireRight(actor, "source.disconnect");
  const { shop_key: shopKey, shop_domain: domain } = workspace;
  return database.transaction(async (connection) => {
    const found = await findConnection(connection, shopKey, source);
    if (found === null) {
      throw impossible(
        `The workspace ${domain} is not connected to ${quoted(source)}; "connections" shows what is.`,
      );
    }
    const wasConnected = found.sealed_credentials !== null;
    if (wasConnected) {
      await setCredentials(connection, shopKey, source, null);
      await setSourceStatus(connection, shopKey, source, "disconnected", null);
      await dropRequests(connection, shopKey, source, null);
      await recordAction(connection, actor, {
        shopKey,
        action: "source.disconnect",
        detail: { source },
        before: { source, ...found.settings, status: found.status },
      });
    }
    return { source, workspace: domain, was_connected: wasConnected, last_synced_at: found.last_synced_at };
  });
}
