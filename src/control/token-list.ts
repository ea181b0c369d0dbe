import type { Database } from "../store/database.ts";
import { listUsedTokens } from "../store/queries/token-list.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import type { Actor } from "./actor.ts";
import { requireRight } from "./rights.ts";
import { attend, sortByAttention } from "./token-attention.ts";
import type { AttendedToken } from "./token-attention.ts";
import { firstDay } from "./usage.ts";

/** How many days of requests the list counts, today included. */
export const RECENT_DAYS = 30;

/** The workspace's tokens without their secrets, those that need somebody first. */
export async function listTokensByAttention(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  now: Date,
): Promise<AttendedToken[]> {
  requireRight(actor, "tokens.read");
  const rows = await listUsedTokens(database, workspace.shop_key, firstDay(RECENT_DAYS, now));
  return sortByAttention(rows.map((row) => attend(row, now)));
}

/** One token of the list; null = the workspace has none with that id. */
export async function showToken(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  { tokenId, now }: { tokenId: string; now: Date },
): Promise<AttendedToken | null> {
  const tokens = await listTokensByAttention(database, actor, workspace, now);
  return tokens.find((token) => token.token_id === tokenId) ?? null;
}
