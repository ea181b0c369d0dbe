import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";

/** daily_quota null = unlimited. */
export type PlanRow = { plan: string; entitlements: string[]; daily_quota: number | null };

const COLUMNS = "plan_key as plan, entitlements, daily_quota";

const LIST_PLANS = defineStatement({
  name: "list_plans",
  text: `select ${COLUMNS} from plan order by daily_quota nulls last, plan_key`,
});

/** Every plan, smallest quota first. */
export async function listPlans(database: Queryable): Promise<PlanRow[]> {
  return database.rows(LIST_PLANS, []);
}

const FIND_PLAN = defineStatement({
  name: "find_plan",
  text: `select ${COLUMNS} from plan where plan_key = $1`,
});

/** One plan by its primary key. */
export async function findPlan(database: Queryable, planKey: string): Promise<PlanRow | null> {
  const [row] = await database.rows<PlanRow>(FIND_PLAN, [planKey]);
  return row ?? null;
}

const PUT_PLAN = defineStatement({
  name: "put_plan",
  text: `insert into plan (plan_key, entitlements, daily_quota) values ($1, $2, $3)
         on conflict (plan_key) do update
            set entitlements = excluded.entitlements, daily_quota = excluded.daily_quota`,
});

/** Creates or replaces a plan. */
export async function putPlan(database: Queryable, plan: PlanRow): Promise<void> {
  await database.rows(PUT_PLAN, [plan.plan, plan.entitlements, plan.daily_quota]);
}
