import { ENTITLEMENTS } from "../contract/endpoint.ts";
import type { Database, Queryable } from "../store/database.ts";
import { findPlan, listPlans, putPlan } from "../store/queries/plan.ts";
import type { PlanRow } from "../store/queries/plan.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { requireRight } from "./rights.ts";
import { quoted, readChoices, readInteger } from "./input.ts";
import { invalid } from "./refusal.ts";
import { DEFAULT_PLAN } from "./workspace.ts";

const NOTHING: Omit<PlanRow, "plan"> = { entitlements: [], daily_quota: 0 };
const PLAN_KEY = /^[a-z0-9][a-z0-9_-]{0,39}$/u;

/**
 * Creates or changes a plan from `daily_quota` (a whole number or unlimited) and `entitlements` (a list, empty = none).
 * What is not given stays; for a new plan it is as in the default plan. Takes effect with the next request.
 */
export async function setPlan(
  database: Database,
  actor: Actor,
  planKey: string,
  settings: ReadonlyMap<string, string>,
): Promise<PlanRow> {
  requireRight(actor, "plan.set");
  if (!PLAN_KEY.test(planKey)) {
    throw invalid("The plan's key must be 1 to 40 lower-case letters, digits, hyphens or underscores.");
  }
  const change = readSettings(settings);
  return database.transaction(async (connection) => {
    const earlier = await findPlan(connection, planKey);
    const base = earlier ?? (await findPlan(connection, DEFAULT_PLAN)) ?? NOTHING;
    const plan: PlanRow = {
      plan: planKey,
      entitlements: change.entitlements ?? base.entitlements,
      daily_quota: change.dailyQuota === undefined ? base.daily_quota : change.dailyQuota,
    };
    await putPlan(connection, plan);
    await recordAction(connection, actor, {
      shopKey: null,
      action: "plan.set",
      detail: plan,
      ...(earlier === null ? {} : { before: earlier }),
    });
    return plan;
  });
}

/** Every plan, smallest quota first. */
export async function showPlans(database: Queryable): Promise<PlanRow[]> {
  return listPlans(database);
}

/** undefined = not given; a daily quota of null = unlimited. */
type PlanChange = { dailyQuota: number | null | undefined; entitlements: string[] | undefined };

function readSettings(settings: ReadonlyMap<string, string>): PlanChange {
  const change: PlanChange = { dailyQuota: undefined, entitlements: undefined };
  for (const [name, value] of settings) {
    if (name === "daily_quota") change.dailyQuota = readQuota(value);
    else if (name === "entitlements") change.entitlements = readChoices(name, value, ENTITLEMENTS);
    else
      throw invalid(
        `${quoted(name)} is no setting of a plan; its settings are daily_quota and entitlements.`,
      );
  }
  return change;
}

function readQuota(value: string): number | null {
  if (value === "unlimited") return null;
  try {
    return readInteger("daily_quota", value, 0, null);
  } catch {
    throw invalid("daily_quota must be a whole number of at least 0, or unlimited.");
  }
}
