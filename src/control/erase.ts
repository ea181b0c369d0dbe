import type { Connection, Database } from "../store/database.ts";
import { askForErasure, takeErasureBack } from "../store/queries/erasure.ts";
import { wakeShop } from "../store/queries/run-queue.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import type { Action } from "./audit.ts";
import { requireRight } from "./rights.ts";
import { impossible, invalid } from "./refusal.ts";

/** How long an erasure can be taken back. */
export const ERASE_DAYS = 7;
const DAY_MS = 86_400_000;

/** What was decided of a workspace; `erase_after` null = it stays. */
export type Erasure = { shop_domain: string; erase_after: Date | null };

/**
 * Stops serving a workspace with the next request, and has it erased after `ERASE_DAYS`. `typedDomain` is what the actor
 * typed, so that nobody erases the wrong one. Throws a `Refusal` for another domain, and when it is asked for already.
 */
export async function askToErase(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  { typedDomain, now }: { typedDomain: string; now: Date },
): Promise<Erasure & { erase_after: Date }> {
  requireRight(actor, "workspace.erase");
  const { shop_key: shopKey, shop_domain: domain } = workspace;
  if (typedDomain.trim().toLowerCase() !== domain) {
    throw invalid(`Type the domain of this workspace, ${domain}, to have it erased.`);
  }
  const eraseAfter = new Date(now.getTime() + ERASE_DAYS * DAY_MS);
  await database.transaction(async (connection) => {
    if (!(await askForErasure(connection, shopKey, eraseAfter))) {
      throw impossible(`${domain} is already going to be erased.`);
    }
    await recordTwice(connection, actor, shopKey, {
      action: "workspace.erase",
      detail: { shop_domain: domain, erase_after: eraseAfter.toISOString() },
      before: { erase_after: null },
    });
  });
  return { shop_domain: domain, erase_after: eraseAfter };
}

/** Takes an erasure back: everything is as it was. Throws a `Refusal` when there is none, or no workspace any more. */
export async function takeBackErasure(
  database: Database,
  actor: Actor,
  { shop_key: shopKey, shop_domain: domain, erase_after: before }: WorkspaceRow,
): Promise<Erasure> {
  requireRight(actor, "workspace.keep");
  await database.transaction(async (connection) => {
    if (!(await takeErasureBack(connection, shopKey))) {
      throw impossible(`${domain} is not going to be erased: there is nothing to take back.`);
    }
    await wakeShop(connection, shopKey);
    await recordTwice(connection, actor, shopKey, {
      action: "workspace.keep",
      detail: { shop_domain: domain, erase_after: null },
      before: { erase_after: before?.toISOString() ?? null },
    });
  });
  return { shop_domain: domain, erase_after: null };
}

/** The workspace's own audit goes with it; the installation's stays. */
async function recordTwice(
  connection: Connection,
  actor: Actor,
  shopKey: number,
  action: Omit<Action, "shopKey">,
): Promise<void> {
  await recordAction(connection, actor, { shopKey, ...action });
  await recordAction(connection, actor, { shopKey: null, ...action });
}
