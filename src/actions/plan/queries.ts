import type { Connection } from "../../store/database.ts";
import { command, query, queryRow } from "../../store/query.ts";

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

/** One change of plans after the other, until the transaction ends: each reads what the one before has left. */
export const lockPlans = command<[], Connection>(
  "lock_plans",
  "select pg_advisory_xact_lock(hashtext('plans'))",
);

/** Creates or replaces a plan. */
export const putPlan = command<[plan: PlanRow]>(
  "put_plan",
  `insert into plan (plan_key, entitlements, daily_quota) values ($1, $2, $3)
         on conflict (plan_key) do update
            set entitlements = excluded.entitlements, daily_quota = excluded.daily_quota`,
  ["plan", "entitlements", "daily_quota"],
);

/** The plan that a workspace requests; `asked_by` as the audit names people. */
export type PlanRequestRow = { plan: string; reason: string; asked_by: string; asked_at: Date };

const REQUEST_COLUMNS = "plan_key as plan, reason, asked_by, asked_at";

/** A workspace's request for a plan, by its primary key. */
export const findPlanRequest = queryRow<PlanRequestRow, [shopKey: number]>(
  "find_plan_request",
  `select ${REQUEST_COLUMNS} from plan_request where shop_key = $1`,
);

/** Stores a workspace's request for a plan, replacing an earlier one. */
export const putPlanRequest = command<[shopKey: number, request: PlanRequestRow]>(
  "put_plan_request",
  `insert into plan_request (shop_key, plan_key, reason, asked_by, asked_at) values ($1, $2, $3, $4, $5)
         on conflict (shop_key) do update
            set plan_key = excluded.plan_key, reason = excluded.reason, asked_by = excluded.asked_by,
                asked_at = excluded.asked_at`,
  ["plan", "reason", "asked_by", "asked_at"],
);

/** Ends a workspace's request for a plan, and returns it; null = there was none. */
export const deletePlanRequest = queryRow<PlanRequestRow, [shopKey: number]>(
  "delete_plan_request",
  `delete from plan_request where shop_key = $1 returning ${REQUEST_COLUMNS}`,
);
