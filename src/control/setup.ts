import type { Database, Queryable } from "../store/database.ts";
import { closeSetupList, readSetup } from "../store/queries/setup.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { requireRight } from "./rights.ts";

/** What a new workspace needs once, in this order, and whether it is done. */
export type Setup = {
  store: boolean;
  labels: boolean;
  window: boolean;
  others: boolean;
  token: boolean;
};

/**
 * What is left to set up; null = nothing: then the list is closed, so that later pages need not ask. One statement until
 * then.
 */
export async function showSetup(database: Queryable, actor: Actor, shopKey: number): Promise<Setup | null> {
  requireRight(actor, "setup.close");
  const row = await readSetup(database, shopKey);
  if (row === null) return null;
  const { has_store: store, has_labels: labels, has_window: window, has_others: others } = row;
  const setup = { store, labels, window, others, token: row.has_token };
  if (Object.values(setup).includes(false)) return setup;
  await closeSetupList(database, shopKey);
  return null;
}

/** Hides the list for every member. */
export async function closeSetup(
  database: Database,
  actor: Actor,
  { shop_key: shopKey }: WorkspaceRow,
): Promise<void> {
  requireRight(actor, "setup.close");
  await database.transaction(async (connection) => {
    await closeSetupList(connection, shopKey);
    await recordAction(connection, actor, { shopKey, action: "setup.close", detail: {} });
  });
}
