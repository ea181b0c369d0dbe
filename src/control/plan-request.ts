import type { Database, Queryable } from "../store/database.ts";
import { deletePlanRequest, findPlanRequest, putPlanRequest } from "../store/queries/plan-request.ts";
import type { PlanRequestRow } from "../store/queries/plan-request.ts";
import type { WorkspaceRow } from "../store/queries/workspace-directory.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { readText } from "./input.ts";
import { impossible } from "./refusal.ts";
import { requireRight } from "./rights.ts";
import { requirePlan, requireWorkspace } from "./workspace.ts";

const REASON_MAX_LENGTH = 300;

/** What an owner asks for; `reason` in their words, 1 to 300 characters. */
export type PlanToAsk = { plan: string; reason: string };

/**
 * Asks the operators for another plan, in place of what was asked for before. They see it in `workspace list`, `workspace
 * show` and `doctor` until they set a plan. `changed` is false when just this was asked for already. Throws a `Refusal` for
 * an unknown plan and for the plan that the workspace has.
 */
export async function askForPlan(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
  { plan, reason }: PlanToAsk,
  now: Date,
): Promise<{ plan: string; changed: boolean }> {
  requireRight(actor, "plan.ask");
  const { shop_key: shopKey, shop_domain: shopDomain } = workspace;
  const asked = { plan, reason: readText("The reason", reason, REASON_MAX_LENGTH) };
  return database.transaction(async (connection) => {
    await requirePlan(connection, plan);
    const current = await requireWorkspace(connection, shopDomain);
    if (current.plan === plan) throw impossible(`${shopDomain} already has the plan ${plan}.`);
    const earlier = await findPlanRequest(connection, shopKey);
    if (earlier?.plan === plan && earlier.reason === asked.reason) return { plan, changed: false };
    await putPlanRequest(connection, shopKey, { ...asked, asked_by: actor.name, asked_at: now });
    await recordAction(connection, actor, {
      shopKey,
      action: "plan.ask",
      detail: asked,
      ...(earlier === null ? {} : { before: detailOf(earlier) }),
    });
    return { plan, changed: true };
  });
}

/** Takes back what was asked for; `withdrawn` is false when nothing was. */
export async function withdrawPlanRequest(
  database: Database,
  actor: Actor,
  workspace: WorkspaceRow,
): Promise<{ withdrawn: boolean }> {
  requireRight(actor, "plan.withdraw");
  const { shop_key: shopKey } = workspace;
  return database.transaction(async (connection) => {
    const ended = await deletePlanRequest(connection, shopKey);
    if (ended === null) return { withdrawn: false };
    const before = detailOf(ended);
    await recordAction(connection, actor, { shopKey, action: "plan.withdraw", detail: {}, before });
    return { withdrawn: true };
  });
}

/** The plan that the workspace asks for; null = none. */
export async function showPlanRequest(
  database: Queryable,
  workspace: WorkspaceRow,
): Promise<PlanRequestRow | null> {
  return findPlanRequest(database, workspace.shop_key);
}

function detailOf({ plan, reason }: PlanRequestRow): PlanToAsk {
  return { plan, reason };
}
