import type { Actor } from "../actor.ts";
import type { Queryable } from "../../store/database.ts";
import { closeSetupList, readSetup } from "./queries.ts";
import { defineAction } from "../action.ts";
import { requireRight } from "../right.ts";

/** What a new workspace needs once, in this order, and whether it is done. */
export type Setup = {
  store: boolean;
  labels: boolean;
  window: boolean;
  others: boolean;
  token: boolean;
};

/** Hides the checklist for every member. */
export const closeSetup = defineAction({
  name: "setup.close",
  title: "Dismiss setup checklist",
  about: "Dismiss the setup checklist of a workspace.",
  past: "Dismissed the setup checklist",
  least: "admin",
  input: {},
  run: async ({ connection, workspace }) => {
    await closeSetupList(connection, workspace.shop_key);
    return {
      result: { shop_domain: workspace.shop_domain },
      done: "The setup checklist is dismissed. Each of its steps is in the settings.",
      audit: { detail: {} },
    };
  },
});

/**
 * What is left to set up; null = nothing: then the list is closed, so that later pages need not ask. One statement until
 * then.
 */
export async function showSetup(database: Queryable, actor: Actor, shopKey: number): Promise<Setup | null> {
  requireRight(actor, closeSetup);
  const row = await readSetup(database, shopKey);
  if (row === null) return null;
  const { has_store: store, has_labels: labels, has_window: window, has_others: others } = row;
  const setup = { store, labels, window, others, token: row.has_token };
  if (Object.values(setup).includes(false)) return setup;
  await closeSetupList(database, shopKey);
  return null;
}
