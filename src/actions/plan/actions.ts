import { ENTITLEMENTS } from "../../contract/endpoint.ts";
import { quoted, readChoices, readInteger } from "../input.ts";
import { impossible, invalid, Refusal } from "../refusal.ts";
import type { Queryable } from "../../store/database.ts";
import {
  deletePlanRequest,
  findPlan,
  findPlanRequest,
  listPlans,
  lockPlans,
  putPlan,
  putPlanRequest,
} from "./queries.ts";
import type { PlanRequestRow, PlanRow } from "./queries.ts";
import { defineAction, defineList, type ActionContext, type ActionCaller } from "../action.ts";
import { anyText, omittable, own, text } from "../field.ts";
import { requireWorkspace } from "../workspace/workspace.ts";

/** Of a workspace for which no other one is named. */
export const DEFAULT_PLAN = "growth";
const NOTHING: Omit<PlanRow, "plan"> = { entitlements: [], daily_quota: 0 };
const PLAN_KEY = /^[a-z0-9][a-z0-9_-]{0,39}$/u;
const REASON_MAX_LENGTH = 300;

/** Every plan, smallest quota first. */
export const planList = defineList<PlanRow, ActionCaller>({
  name: "plans.read",
  about: "Show every plan.",
  past: "Read the list of plans",
  least: "viewer",
  hasNoWorkspace: true,
  columns: {
    plan: "plan",
    "requests a day": ({ daily_quota: quota }) => quota ?? "unlimited",
    entitlements: "entitlements",
  },
  rows: ({ database }) => listPlans(database),
});

/** Creates or changes a plan. Omitted values are unchanged; a new plan takes them from the default plan. */
export const setPlan = defineAction({
  name: "plan.set",
  title: "Save plan",
  about: "Create or change a plan; it applies from the next request.",
  past: "Created or changed a plan",
  least: "operator",
  hasNoWorkspace: true,
  input: {
    plan: own("The plan's key", readKey, { hint: "the plan's key" }),
    daily_quota: omittable(own("Daily quota", readQuota, { hint: "<number>|unlimited" })),
    entitlements: omittable(
      own("Entitlements", (subject, list) => readChoices(subject, [list], ENTITLEMENTS), { hint: "<list>" }),
    ),
  },
  run: async (
    { connection }: ActionContext<ActionCaller>,
    { plan: key, daily_quota: quota, entitlements },
  ) => {
    await lockPlans(connection);
    const before = await findPlan(connection, key);
    const base = before ?? (await findPlan(connection, DEFAULT_PLAN)) ?? NOTHING;
    const plan: PlanRow = {
      plan: key,
      entitlements: entitlements ?? base.entitlements,
      daily_quota: quota === undefined ? base.daily_quota : quota,
    };
    await putPlan(connection, plan);
    const included = plan.entitlements.length === 0 ? "no entitlements" : plan.entitlements.join(", ");
    return {
      result: plan,
      done: `Saved the plan ${key}: ${plan.daily_quota ?? "unlimited"} requests a day, ${included}.`,
      audit: { detail: plan, ...(before === null ? {} : { before }) },
    };
  },
});

/**
 * Requests another plan from the operators, replacing an earlier request. They see it in `workspace list`, `workspace show` and
 * `doctor` until they set a plan.
 */
export const requestPlan = defineAction({
  name: "plan.ask",
  title: "Request plan",
  past: "Requested a plan",
  least: "owner",
  proof: true,
  input: {
    plan: anyText("Plan"),
    reason: text("Reason", REASON_MAX_LENGTH, {
      hint: "A sentence for the operator of this service, up to 300 characters.",
    }),
  },
  run: async ({ connection, shopKey, domain, actor, now }, asked) => {
    const { plan, reason } = asked;
    await requirePlan(connection, plan);
    const current = await requireWorkspace(connection, domain);
    if (current.plan === plan) throw impossible(`${domain} already has the plan ${plan}.`);
    const earlier = await findPlanRequest(connection, shopKey);
    if (earlier?.plan === plan && earlier.reason === reason) {
      return {
        result: { plan, changed: false },
        done: `The plan ${plan} is already requested.`,
        audit: null,
      };
    }
    await putPlanRequest(connection, shopKey, { ...asked, asked_by: actor.name, asked_at: now });
    return {
      result: { plan, changed: true },
      done: `Requested the plan ${plan}. The operator of this service sees the request; the plan stays as it is until they set another.`,
      audit: { detail: asked, ...(earlier === null ? {} : { before: detailOf(earlier) }) },
    };
  },
});

export const cancelPlanRequest = defineAction({
  name: "plan.withdraw",
  title: "Cancel plan request",
  past: "Canceled a plan request",
  least: "owner",
  input: {},
  run: async ({ connection, shopKey }) => {
    const ended = await deletePlanRequest(connection, shopKey);
    return {
      result: { withdrawn: ended !== null },
      done:
        ended === null ? "There was no plan request." : `Canceled the request for the plan ${ended.plan}.`,
      audit: ended === null ? null : { detail: {}, before: detailOf(ended) },
    };
  },
});

export const PLAN_ACTIONS = [requestPlan, cancelPlanRequest, setPlan] as const;

/** Throws a `Refusal` when there is no such plan, which begins with `where`. */
export async function requirePlan(database: Queryable, planKey: string, where = ""): Promise<void> {
  if ((await findPlan(database, planKey)) !== null) return;
  throw impossible(`${where}There is no plan ${quoted(planKey)}; ./returns plan list shows all plans.`);
}

function detailOf({ plan, reason }: PlanRequestRow) {
  return { plan, reason };
}

function readKey(subject: string, key: string): string {
  if (PLAN_KEY.test(key)) return key;
  throw invalid(`${subject} must be 1 to 40 lower-case letters, digits, hyphens or underscores.`);
}

/** null = unlimited. */
function readQuota(subject: string, quota: string): number | null {
  if (quota === "unlimited") return null;
  try {
    return readInteger(subject, quota, 0, null);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw invalid(`${subject} must be a whole number of at least 0, or unlimited.`);
  }
}
