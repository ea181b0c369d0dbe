import { query, queryValue, requireRow, command } from "../query.ts";
import type { Connection } from "../database.ts";

/** A workspace as its operator sees it; `plan` and `billing` are named as the operator's settings. */
export type DirectoryRow = {
  shop_key: number;
  organization_id: string;
  shop_id: string;
  shop_domain: string;
  currency_code: string;
  plan: string;
  billing: string;
  /** "erasing" while it is going to be erased, "moving" while it moves to another installation, or has moved. */
  readiness: string;
  primary_window_days: number;
  min_sold_units: number;
  visible_card_size: number;
  data_version: number;
  data_as_of: Date | null;
  created_at: Date;
  /** The plan that its owner requests, and why; null: none. */
  requested_plan: string | null;
  plan_request_reason: string | null;
  /** When it is erased; null = it is not to be. */
  erase_after: Date | null;
};

/** As admission sees it: "erasing" while the workspace is going to be erased, "moving" while it moves away, and once it has. */
export const SERVED_READINESS =
  "case when w.moving_to is not null then 'moving' when w.erase_after is null then w.readiness else 'erasing' end";
/** Nothing is served, fetched or changed. */
export const IS_STOPPED = "(w.erase_after is not null or w.moving_to is not null)";

export const COLUMNS = `w.shop_key, w.organization_id, w.shop_id, w.shop_domain, w.currency_code, w.plan_key as plan,
                w.billing_status as billing, ${SERVED_READINESS} as readiness, w.primary_window_days, w.min_sold_units,
                w.visible_card_size, w.data_version, w.data_as_of, w.created_at, w.erase_after,
                r.plan_key as requested_plan, r.reason as plan_request_reason`;
export const WITH_REQUEST = "left join plan_request r on r.shop_key = w.shop_key";

/** The health check's data of a workspace. */
export type WorkspaceHealthRow = {
  shop_domain: string;
  readiness: string;
  billing: string;
  plan: string;
  /** null: the workspace's plan is missing, or it is unlimited. */
  daily_quota: number | null;
  is_plan_known: boolean;
  requests_today: number;
  requested_plan: string | null;
  plan_request_reason: string | null;
  has_store: boolean;
  /** The name of an active subscription that stands for no plan, where any does; null = there is none. */
  unknown_subscription: string | null;
  /** Workspaces that have a problem. */
  with_problems: number;
};

/** The first workspaces that request a plan, and the first others with a problem, by domain: a scan of all workspaces. */
export const workspaceHealth = query<WorkspaceHealthRow, [most: number, hasPlans: boolean]>(
  "workspace_health",
  `with known as (
           select w.shop_key, w.shop_domain, ${SERVED_READINESS} as readiness, w.billing_status as billing, w.plan_key as plan,
                  p.daily_quota, p.plan_key is not null as is_plan_known,
                  coalesce((select u.requests from daily_usage u
                             where u.shop_key = w.shop_key and u.day = (now() at time zone 'UTC')::date), 0) as requests_today,
                  r.plan_key as requested_plan, r.reason as plan_request_reason,
                  case when $2 and w.purchase @> '{"plan": null, "is_active": true}'
                       then w.purchase ->> 'name' end as unknown_subscription
             from workspace w
             left join plan p on p.plan_key = w.plan_key
             ${WITH_REQUEST}),
        judged as (
           select k.*, k.billing <> 'active' or not k.is_plan_known or k.readiness <> 'ready'
                         or k.unknown_subscription is not null
                         or coalesce(k.requests_today >= k.daily_quota, false) as has_problem
             from known k)
         select j.shop_domain, j.readiness, j.billing, j.plan, j.daily_quota, j.is_plan_known, j.requests_today,
                j.requested_plan, j.plan_request_reason, j.unknown_subscription,
                exists (select from data_source s where s.shop_key = j.shop_key and s.kind = 'store') as has_store,
                j.with_problems
           from (select *, count(*) filter (where has_problem) over () as with_problems,
                        row_number() over (partition by requested_plan is null order by shop_domain) as place
                   from judged where has_problem or requested_plan is not null) j
          where j.place <= $1
          order by j.has_problem desc, j.shop_domain`,
);

/** Whether a workspace is moving or has moved, locked until the transaction ends; null: it is gone. Primary key. */
export const holdWhetherMoving = queryValue<boolean, [shopKey: number], Connection>(
  "hold_whether_moving",
  "select w.moving_to is not null as is_moving from workspace w where w.shop_key = $1 for key share",
);

/** The range of shop keys that an installation assigns, and the last one assigned; null: none yet. */
export type ShopKeyRange = { first: number; last: number; given: number | null };

const SEQUENCE = "pg_get_serial_sequence('shop_directory', 'shop_key')::regclass";

export const findShopKeyRange = requireRow<ShopKeyRange>(
  "find_shop_key_range",
  `select s.min_value as first, least(s.max_value, 9007199254740991) as last, s.last_value as given
     from pg_sequences s where format('%I.%I', s.schemaname, s.sequencename)::regclass = ${SEQUENCE}`,
);

/** Changed settings; one that is left out stays as it is. */
type WorkspaceChange = {
  plan?: string | undefined;
  billing?: string | undefined;
  readiness?: string | undefined;
  min_sold_units?: number | undefined;
  visible_card_size?: number | undefined;
};

/** Changes the settings that admission reads with each request. */
export const updateWorkspace = command<[shopKey: number, change: WorkspaceChange]>(
  "update_workspace",
  `update workspace
            set plan_key = coalesce($2, plan_key), billing_status = coalesce($3, billing_status),
                billing_ends_at = case when $3 is null then billing_ends_at end,
                readiness = coalesce($4, readiness), min_sold_units = coalesce($5, min_sold_units),
                visible_card_size = coalesce($6, visible_card_size)
          where shop_key = $1`,
  ["plan", "billing", "readiness", "min_sold_units", "visible_card_size"],
);
