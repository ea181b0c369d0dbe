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

/** Every workspace of the installation, by domain: a scan of all of them. */
export const listWorkspaces = query<DirectoryRow>(
  "list_workspaces",
  `select ${COLUMNS} from workspace w ${WITH_REQUEST} order by w.shop_domain`,
);

/** What the health check adds to a workspace. */
export type WorkspaceHealthRow = {
  shop_domain: string;
  readiness: string;
  billing: string;
  data_as_of: Date | null;
  plan: string;
  /** null: the workspace's plan is missing, or it is unlimited. */
  daily_quota: number | null;
  is_plan_known: boolean;
  requests_today: number;
  requested_plan: string | null;
  plan_request_reason: string | null;
  last_import_at: Date | null;
  sources: { source: string; kind: string; status: string | null; last_synced_at: string | null }[];
};

/** One row per workspace with its plan, today's use of the quota, its sources and its last import. */
export const workspaceHealth = query<WorkspaceHealthRow>(
  "workspace_health",
  `select w.shop_domain, ${SERVED_READINESS} as readiness, w.billing_status as billing, w.data_as_of, w.plan_key as plan,
                p.daily_quota, p.plan_key is not null as is_plan_known,
                coalesce(u.requests, 0) as requests_today,
                r.plan_key as requested_plan, r.reason as plan_request_reason,
                (select max(a.happened_at) from audit_event a
                  where a.shop_key = w.shop_key and a.action = 'import') as last_import_at,
                (select coalesce(jsonb_agg(jsonb_build_object(
                          'source', s.source, 'kind', s.kind, 'status', s.status,
                          'last_synced_at', s.last_synced_at) order by s.source), '[]')
                   from data_source s where s.shop_key = w.shop_key) as sources
           from workspace w
           left join plan p on p.plan_key = w.plan_key
           ${WITH_REQUEST}
           left join daily_usage u on u.shop_key = w.shop_key and u.day = (now() at time zone 'UTC')::date
          order by w.shop_domain`,
);
