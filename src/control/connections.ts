import type { Queryable } from "../store/database.ts";
import { listConnections } from "../store/queries/data-source.ts";
import type { ConnectionRow } from "../store/queries/data-source.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";

/** A connection as it is shown: without secrets. */
export type ShownConnection = {
  workspace: string;
  source: string;
  kind: string;
  /** "waiting" = no run has begun. */
  status: string;
  account: string | null;
  url: string | null;
  /** Of a store its workspace's; of a label source that of its labels, null before its first sync (M10). */
  currency_code: string | null;
  last_synced_at: Date | null;
  last_error: string | null;
};

/** Every connection, or those of one workspace. */
export async function showConnections(
  database: Queryable,
  workspace: WorkspaceRow | null,
): Promise<ShownConnection[]> {
  const rows = await listConnections(database);
  return rows
    .filter((row) => workspace === null || row.shop_key === workspace.shop_key)
    .map((row) => ({
      workspace: row.shop_domain,
      source: row.source,
      kind: row.kind,
      status: row.sealed_credentials === null ? "disconnected" : (row.status ?? "waiting"),
      account: textOf(row, "shop"),
      url: textOf(row, "url"),
      currency_code: row.kind === "store" ? row.shop_currency_code : row.currency_code,
      last_synced_at: row.last_synced_at,
      last_error: row.last_error,
    }));
}

function textOf({ settings }: ConnectionRow, name: string): string | null {
  const value = settings[name];
  return typeof value === "string" ? value : null;
}
