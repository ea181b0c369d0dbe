import type { Connection, Queryable } from "../../store/database.ts";
import {
  cursor,
  query,
  requireValue,
  command,
  queryRow,
  queryValue,
  queryAny,
  queryColumn,
} from "../../store/query.ts";
import type { VariantRow } from "../../store/queries/catalogue.ts";
import { measureDocuments, type StoredOrderRow } from "../../store/queries/order-document.ts";
import { queueWorkspaces } from "../../store/queries/run-queue.ts";
import { lowered } from "../../store/queries/selection.ts";
import type { ExportedProductRow, ExportedLabelRow } from "../../sync/connectors/csv/file-formats.ts";
import { monthToDate } from "../../lib/month.ts";
import type { SaleEventRow } from "../../store/queries/report-figures.ts";
import type { Workspace } from "../../store/workspace.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import { SERVED_READINESS, COLUMNS, WITH_REQUEST } from "../../store/queries/workspace-directory.ts";

/** Takes the right to export a workspace until the transaction ends; false = another export of it is under way. */
export const tryLockExport = requireValue<boolean, [shopKey: number], Connection>(
  "try_lock_export",
  "select pg_try_advisory_xact_lock(hashtextextended('workspace export', $1)) as is_locked from coordinator",
);

/** Opens a cursor over the products stated by the source; the others are derived from order lines. Primary key of product. */
export const openExportedProducts = cursor<ExportedProductRow, [shopKey: number]>(
  "exported_product",
  500,
  `select p.product_gid, p.title, p.handle, p.vendor, p.family, p.analytics_category, p.image_url, p.image_alt
     from product p where p.shop_key = $1 and not p.from_lines order by p.product_gid`,
);

/** Opens a cursor over the variants. Primary key of variant. */
export const openExportedVariants = cursor<VariantRow, [shopKey: number]>(
  "exported_variant",
  500,
  `select v.variant_id, v.product_gid, v.sku, v.title, v.used, v.counterpart_sku, v.unit_cost_minor, v.image_url, v.options
     from variant v where v.shop_key = $1 order by v.variant_id`,
);

/** Opens a cursor over the order documents in key order: a range scan of order_document's primary key. */
export const openExportedOrders = cursor<StoredOrderRow, [shopKey: number]>(
  "exported_order",
  200,
  `select d.order_id, d.document from order_document d where d.shop_key = $1 order by d.order_id`,
  measureDocuments,
);

/** Opens a cursor over the labels with their matched orders and returns (M10). Primary key of return_label. */
export const openExportedLabels = cursor<ExportedLabelRow, [shopKey: number]>(
  "exported_label",
  500,
  `select l.source, l.label_id, l.order_id, l.return_id, l.tracking_number, l.charged_at, l.amount_minor,
          l.currency_code, l.voided_at
     from return_label l where l.shop_key = $1 order by l.source, l.label_id`,
);

/** Opens a cursor over the sale events. Primary key of sale_event. */
export const openExportedSaleEvents = cursor<SaleEventRow, [shopKey: number]>(
  "exported_sale_event",
  100,
  `select e.slug, e.label, e.starts_on, e.ends_on, e.skus
     from sale_event e where e.shop_key = $1 order by e.slug`,
);

/**
 * Opens a cursor over the workspace's actions, oldest first: audit_event_time, and the names of people. Actions are read before
 * names: a Citus on PostgreSQL 15 or 16 refuses an outer join with the view of one workspace.
 */
export const openExportedAudit = cursor<object, [shopKey: number]>(
  "exported_audit",
  500,
  `with action as materialized (
     select a.audit_id, a.happened_at, a.actor, a.origin, a.action, a.before, a.detail
       from audit_event a where a.shop_key = $1
   )
   select a.happened_at, a.actor, u.name as actor_name, a.origin, a.action, a.before, a.detail
     from action a left join console_user u on a.actor = 'user:' || u.user_id
    order by a.happened_at, a.audit_id`,
);

/** Opens a cursor over the alerts to the whole workspace, oldest first: alert_feed backwards. */
export const openExportedAlerts = cursor<object, [shopKey: number]>(
  "exported_alert",
  500,
  `select a.created_at, a.category, a.severity, a.title, a.body, a.metadata
     from alert a where a.shop_key = $1 and a.recipient is null order by a.created_at, a.alert_id`,
);

/** Who may see the workspace, by name: the primary key of workspace_member. */
export const listExportedMembers = query<object, [shopKey: number]>(
  "list_exported_members",
  `select u.user_id, u.name, m.role, m.created_at as member_since, u.disabled_at is not null as is_disabled
     from workspace_member m join console_user u on u.user_id = m.user_id
    where m.shop_key = $1 order by u.name, u.user_id`,
);

/** The sources without credentials and cursors. Primary key of data_source. */
export const listExportedSources = query<object, [shopKey: number]>(
  "list_exported_sources",
  `select s.source, s.kind, s.is_connection, s.status, s.currency_code, s.last_synced_at, s.created_at
     from data_source s where s.shop_key = $1 order by s.source`,
);

/** How many label sources the workspace has. Primary key of data_source. */
export const countLabelSources = requireValue<number, [shopKey: number], Connection>(
  "count_label_sources",
  "select count(*) as sources from data_source s where s.shop_key = $1 and s.kind = 'label_cost'",
);

/** Stores a workspace's rules. Primary key of workspace. */
export const putOrderRules = command<[shopKey: number, rules: object]>(
  "put_order_rules",
  "update workspace set order_rules = $2::jsonb where shop_key = $1",
);

/** Stores which groups a workspace's reasons belong to. Primary key of workspace. */
export const putReasonGroups = command<[shopKey: number, groups: object]>(
  "put_reason_groups",
  "update workspace set reason_groups = $2::jsonb where shop_key = $1",
);

/** The stated reasons of the orders since a month, those with the most units first. Primary key of cohort. */
export const listStatedReasons = query<
  { reason: string; returned_units: number },
  [shopKey: number, since: { month: number; longest: number }]
>(
  "list_stated_reasons",
  `select min(u.reason collate "C") as reason, sum(u.units)::integer as returned_units
     from cohort k cross join lateral unnest(k.return_reasons, k.return_units) u (reason, units)
    where k.shop_key = $1 and k.entity_kind = 'workspace' and k.entity_key = '' and k.cohort_month >= $2::date
      and u.reason not like ' %' and length(u.reason) <= $3 and u.reason !~ '[[:cntrl:]]'
    group by ${lowered("u.reason")} order by 2 desc, 1 limit 50`,
  (shopKey, { month, longest }) => [shopKey, monthToDate(month), longest],
);

/** How many orders of some months each rule leaves out. Index order_line_left_out. */
export const countLeftOut = query<
  { left_out: string; orders: number },
  [workspace: Workspace, months: { startMonth: number; endMonth: number }]
>(
  "count_left_out",
  `select l.left_out, count(distinct l.order_id) as orders
           from order_line l
          where l.shop_key = $1 and l.cohort_month between $2 and $3 and l.left_out is not null
          group by l.left_out`,
  ({ shopKey }, { startMonth, endMonth }) => [shopKey, monthToDate(startMonth), monthToDate(endMonth)],
);

/** The setup steps of a new workspace, in order, and whether each is done. */
export type Setup = {
  store: boolean;
  labels: boolean;
  window: boolean;
  others: boolean;
  token: boolean;
};

/**
 * Setup state; null: the workspace is gone. Primary keys, and audit_event_time: a new workspace has few events, and the list is
 * closed when all steps are done.
 */
export const readSetup = queryRow<Setup, [shopKey: number]>(
  "read_setup",
  `select exists (select from data_source s where s.shop_key = $1 and s.kind = 'store'
                    and (s.sealed_credentials is not null or s.last_synced_at is not null)) as store,
                exists (select from data_source s where s.shop_key = $1 and s.kind = 'label_cost'
                    and (s.sealed_credentials is not null or s.last_synced_at is not null)) as labels,
                exists (select from audit_event a where a.shop_key = $1 and a.action = 'windows.set') as window,
                (select count(*) > 1 from workspace_member m where m.shop_key = $1) as others,
                exists (select from api_token t where t.shop_key = $1 and t.revoked_at is null) as token
           from workspace w where w.shop_key = $1`,
);

/** Hides the overview's setup list. Primary key. */
export const closeSetupList = command<[shopKey: number]>(
  "close_setup_list",
  "update workspace set is_setup_open = false where shop_key = $1 and is_setup_open",
);

const findShopKey = queryValue<number, [shopDomain: string]>(
  "find_shop_key",
  "select d.shop_key from shop_directory d where d.shop_domain = $1",
);

const readWorkspace = queryRow<DirectoryRow, [shopKey: number]>(
  "read_workspace",
  `select ${COLUMNS} from workspace w ${WITH_REQUEST} where w.shop_key = $1`,
);

/** The workspace of a domain: its key comes from the directory, its row from its own node. Primary keys. */
export async function findWorkspace(database: Queryable, shopDomain: string): Promise<DirectoryRow | null> {
  const shopKey = await findShopKey(database, shopDomain);
  return shopKey === null ? null : readWorkspace(database, shopKey);
}

/** Which workspaces a list shows; null = any. */
type WorkspaceFilter = {
  /** Part of its domain. */
  search: string | null;
  plan: string | null;
  billing: string | null;
  readiness: string | null;
  /** The domain that the page follows on. */
  after: string | null;
  limit: number;
};

/** A workspace with its requests of 30 days, and its sources; `failing`: those whose last run failed, or that refuse us. */
export type ListedWorkspace = DirectoryRow & {
  requests: number;
  last_synced_at: Date | null;
  failing: number;
};

/** A page of the workspaces, by domain: workspace_by_domain, and the primary keys of their usage and sources. */
export const listWorkspaces = query<ListedWorkspace, [filter: WorkspaceFilter]>(
  "list_workspaces",
  `select ${COLUMNS},
          (select coalesce(sum(u.requests), 0)::bigint from daily_usage u
            where u.shop_key = w.shop_key and u.day > (now() at time zone 'UTC')::date - 30) as requests,
          (select max(s.last_synced_at) from data_source s where s.shop_key = w.shop_key) as last_synced_at,
          (select count(*) from data_source s
            where s.shop_key = w.shop_key and s.status in ('failed', 'disconnected')) as failing
     from workspace w ${WITH_REQUEST}
          where w.shop_domain > coalesce($1, '') and ($2::text is null or position($2 in w.shop_domain) > 0)
            and ($3::text is null or w.plan_key = $3) and ($4::text is null or w.billing_status = $4)
            and ($5::text is null or ${SERVED_READINESS} = $5)
          order by w.shop_domain limit $6`,
  ["after", "search", "plan", "billing", "readiness", "limit"],
);

/** The next shop key: assigned by the coordinator, since each node would count in its own range. */
const nextShopKey = requireValue<number>(
  "next_shop_key",
  "select nextval(pg_get_serial_sequence('shop_directory', 'shop_key')) as shop_key from coordinator",
);

const insertShopKey = queryValue<number, [shopDomain: string, shopKey: number]>(
  "reserve_domain",
  `insert into shop_directory (shop_domain, shop_key) overriding system value values ($1, $2)
         on conflict (shop_domain) do nothing returning shop_key`,
);

/** Reserves a domain and gives out its shop key, which the queue has, too; null when the domain is taken. */
export async function reserveDomain(
  database: Queryable,
  shopDomain: string,
  now: Date,
): Promise<number | null> {
  const shopKey = await insertShopKey(database, shopDomain, await nextShopKey(database));
  if (shopKey !== null) await queueWorkspaces(database, [shopKey], now);
  return shopKey;
}

type NewWorkspace = {
  organizationId: string;
  shopId: string;
  shopDomain: string;
  currencyCode: string;
  planKey: string;
  /** Whether its overview shows the setup list. */
  isSetupOpen: boolean;
};

/** A new workspace with the schema's default settings, installing and without data. */
export const insertWorkspace = command<[shopKey: number, workspace: NewWorkspace]>(
  "insert_workspace",
  `insert into workspace (shop_key, organization_id, shop_id, shop_domain, currency_code, plan_key, is_setup_open)
         values ($1, $2, $3, $4, $5, $6, $7)`,
  ["organizationId", "shopId", "shopDomain", "currencyCode", "planKey", "isSetupOpen"],
);

/** A workspace's display name; null: its domain. Primary key of shop_directory. */
export const findDisplayName = queryValue<string, [shopKey: number]>(
  "find_display_name",
  "select coalesce(d.display_name, d.shop_domain) from shop_directory d where d.shop_key = $1",
);

/** Gives it a name; null = its domain again. Primary key of shop_directory. */
export const updateDisplayName = command<[shopKey: number, name: string | null]>(
  "update_display_name",
  "update shop_directory set display_name = $2 where shop_key = $1",
);

/** The workspace of a shop key; `moving_to`: where it moves, null = nowhere; `moved_at`: since when it is served there. */
type MoveRow = { shop_id: string; moving_to: string | null; moved_at: Date | null };

/** Null = there is none. Primary key. */
export const findMove = queryRow<MoveRow, [shopKey: number]>(
  "find_move",
  "select w.shop_id, w.moving_to, w.moved_at from workspace w where w.shop_key = $1",
);

/** Stops a workspace for its move; false: it is gone, going to be erased, or in another move. Primary key. */
export const beginMove = queryAny<[shopKey: number, target: string]>(
  "begin_move",
  `update workspace set moving_to = $2
    where shop_key = $1 and erase_after is null and moved_at is null and coalesce(moving_to, $2) = $2 returning 1 as begun`,
);

/** Has a workspace served here that was stopped for a move. Primary key. */
export const endMove = command<[shopKey: number]>(
  "end_move",
  "update workspace set moving_to = null, moved_at = null where shop_key = $1",
);

/** Notes that a workspace is served elsewhere. Primary key. */
export const noteMoved = command<[shopKey: number, now: Date], Connection>(
  "note_moved",
  "update workspace set moved_at = $2 where shop_key = $1 and moved_at is null",
);

/** One move of a workspace at a time, until the transaction ends. */
export const tryLockMove = requireValue<boolean, [shopKey: number], Connection>(
  "try_lock_move",
  "select pg_try_advisory_xact_lock(hashtextextended('move of a shop', $1)) as is_locked from coordinator",
);

/** Waits for the transactions that hold whether a workspace moves, or have added rows of it. Primary key. */
export const waitForChanges = command<[shopKey: number], Connection>(
  "wait_for_changes",
  "select 1 as is_there from workspace where shop_key = $1 for update",
);

/** Whose a shop key and a domain are in the directory: its two unique indexes. */
export const listDirectoryHolders = query<
  { shop_key: number; shop_domain: string },
  [shopKey: number, shopDomain: string]
>(
  "list_directory_holders",
  "select d.shop_key, d.shop_domain from shop_directory d where d.shop_key = $1 or d.shop_domain = $2",
);

/** Shop keys here that are of another installation: a scan of the directory. */
export const listForeignShopKeys = queryColumn<number, [first: number, last: number]>(
  "list_foreign_shop_keys",
  "select d.shop_key from shop_directory d where d.shop_key not between $1 and $2 order by d.shop_key",
);

/** A person who is a member of a workspace. */
type MovedPersonRow = {
  user_id: string;
  name: string;
  created_at: Date;
  disabled_at: Date | null;
};

/** The members of a workspace as people, by name: its range of workspace_member, and look-ups by person. */
export const listMovedPeople = query<MovedPersonRow, [shopKey: number]>(
  "list_moved_people",
  `select u.user_id, u.name, u.created_at, u.disabled_at
     from workspace_member m join console_user u on u.user_id = m.user_id
    where m.shop_key = $1 order by u.name, u.user_id`,
);

/** Adds a person of another installation, who cannot sign in without a link; false = there is one of that id. */
export const insertMovedPerson = queryAny<[person: MovedPersonRow], Connection>(
  "insert_moved_person",
  `insert into console_user (user_id, name, created_at, disabled_at) values ($1, $2, $3, $4)
   on conflict (user_id) do nothing returning 1 as is_new`,
  ["user_id", "name", "created_at", "disabled_at"],
);
