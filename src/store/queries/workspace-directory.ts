import type { Queryable } from "../database.ts";
import { query, queryRow, queryValue, command } from "../query.ts";

/** What is set up of a workspace. */
type SetupRow = {
  has_store: boolean;
  has_labels: boolean;
  has_window: boolean;
  has_others: boolean;
  has_token: boolean;
};

/**
 * What is set up; null = the workspace is gone. Primary keys, and audit_event_time: a new workspace has few events, and the
 * list is closed once all of it is done.
 */
export const readSetup = queryRow<SetupRow, [shopKey: number]>(
  "read_setup",
  `select exists (select from data_source s where s.shop_key = $1 and s.kind = 'store'
                    and (s.sealed_credentials is not null or s.last_synced_at is not null)) as has_store,
                exists (select from data_source s where s.shop_key = $1 and s.kind = 'label_cost'
                    and (s.sealed_credentials is not null or s.last_synced_at is not null)) as has_labels,
                exists (select from audit_event a where a.shop_key = $1 and a.action = 'windows.set') as has_window,
                (select count(*) > 1 from workspace_member m where m.shop_key = $1) as has_others,
                exists (select from api_token t where t.shop_key = $1 and t.revoked_at is null) as has_token
           from workspace w where w.shop_key = $1`,
);

/** The overview no longer lists what is left to set up. Primary key. */
export const closeSetupList = command<[shopKey: number]>(
  "close_setup_list",
  "update workspace set is_setup_open = false where shop_key = $1 and is_setup_open",
);

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
  /** The plan that its owner asks for, and why; null = none. */
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

const COLUMNS = `w.shop_key, w.organization_id, w.shop_id, w.shop_domain, w.currency_code, w.plan_key as plan,
                w.billing_status as billing, ${SERVED_READINESS} as readiness, w.primary_window_days, w.min_sold_units,
                w.visible_card_size, w.data_version, w.data_as_of, w.created_at, w.erase_after,
                r.plan_key as requested_plan, r.reason as plan_request_reason`;
const WITH_REQUEST = "left join plan_request r on r.shop_key = w.shop_key";

const findShopKey = queryValue<number, [shopDomain: string]>(
  "find_shop_key",
  "select d.shop_key from shop_directory d where d.shop_domain = $1",
);

const readWorkspace = queryRow<DirectoryRow, [shopKey: number]>(
  "read_workspace",
  `select ${COLUMNS} from workspace w ${WITH_REQUEST} where w.shop_key = $1`,
);

/** The workspace of a domain: the directory has its key, and then only its own node is asked. Primary keys. */
export async function findWorkspace(database: Queryable, shopDomain: string): Promise<DirectoryRow | null> {
  const shopKey = await findShopKey(database, shopDomain);
  return shopKey === null ? null : readWorkspace(database, shopKey);
}

/** Which workspaces a list shows; null = any. */
export type WorkspaceFilter = {
  /** Part of its domain. */
  search: string | null;
  plan: string | null;
  billing: string | null;
  readiness: string | null;
  /** The domain that the page follows on. */
  after: string | null;
  limit: number;
};

/** Every workspace, a thousand at most. */
export const ANY_WORKSPACE: WorkspaceFilter = {
  search: null,
  plan: null,
  billing: null,
  readiness: null,
  after: null,
  limit: 1000,
};

/** A page of the workspaces, by domain: workspace_by_domain. */
export const listWorkspaces = query<DirectoryRow, [filter: WorkspaceFilter]>(
  "list_workspaces",
  `select ${COLUMNS} from workspace w ${WITH_REQUEST}
          where w.shop_domain > $1 and ($2::text is null or position($2 in w.shop_domain) > 0)
            and ($3::text is null or w.plan_key = $3) and ($4::text is null or w.billing_status = $4)
            and ($5::text is null or ${SERVED_READINESS} = $5)
          order by w.shop_domain limit $6`,
  ({ search, plan, billing, readiness, after, limit }) => [
    after ?? "",
    search,
    plan,
    billing,
    readiness,
    limit,
  ],
);

/** What the health check reads of a workspace. */
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
  /** Workspaces that have a problem. */
  with_problems: number;
};

/** The first workspaces with a problem or a request for a plan, by domain: a scan of all workspaces. */
export const workspaceHealth = query<WorkspaceHealthRow, [most: number]>(
  "workspace_health",
  `with known as (
           select w.shop_key, w.shop_domain, ${SERVED_READINESS} as readiness, w.billing_status as billing, w.plan_key as plan,
                  p.daily_quota, p.plan_key is not null as is_plan_known,
                  coalesce((select u.requests from daily_usage u
                             where u.shop_key = w.shop_key and u.day = (now() at time zone 'UTC')::date), 0) as requests_today,
                  r.plan_key as requested_plan, r.reason as plan_request_reason
             from workspace w
             left join plan p on p.plan_key = w.plan_key
             ${WITH_REQUEST}),
        judged as (
           select k.*, k.billing <> 'active' or not k.is_plan_known or k.readiness <> 'ready'
                         or coalesce(k.requests_today >= k.daily_quota, false) as has_problem
             from known k)
         select j.shop_domain, j.readiness, j.billing, j.plan, j.daily_quota, j.is_plan_known, j.requests_today,
                j.requested_plan, j.plan_request_reason,
                exists (select from data_source s where s.shop_key = j.shop_key and s.kind = 'store') as has_store,
                count(*) filter (where j.has_problem) over () as with_problems
           from judged j where j.has_problem or j.requested_plan is not null
          order by j.has_problem desc, j.shop_domain limit $1`,
);
