import { command, query, queryRow } from "../query.ts";

/** daily_quota null = unlimited. */
export type PlanRow = { plan: string; entitlements: string[]; daily_quota: number | null };

const COLUMNS = "plan_key as plan, entitlements, daily_quota";

/** Every plan, smallest quota first. */
export const listPlans = query<PlanRow>(
  "list_plans",
  `select ${COLUMNS} from plan order by daily_quota nulls last, plan_key`,
);

/** One plan by its primary key. */
export const findPlan = queryRow<PlanRow, [planKey: string]>(
  "find_plan",
  `select ${COLUMNS} from plan where plan_key = $1`,
);

/** Creates or replaces a plan. */
export const putPlan = command<[plan: PlanRow]>(
  "put_plan",
  `insert into plan (plan_key, entitlements, daily_quota) values ($1, $2, $3)
         on conflict (plan_key) do update
            set entitlements = excluded.entitlements, daily_quota = excluded.daily_quota`,
  (plan) => [plan.plan, plan.entitlements, plan.daily_quota],
);
