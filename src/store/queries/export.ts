import type { Connection } from "../database.ts";
import { cursor, query, requireValue } from "../query.ts";
import type { ProductRow, VariantRow } from "./catalogue.ts";

/** Takes the right to export a workspace until the transaction ends; false = another export of it is under way. */
export const tryLockExport = requireValue<boolean, [shopKey: number], Connection>(
  "try_lock_export",
  "select pg_try_advisory_xact_lock(hashtextextended('workspace export', $1)) as is_locked from coordinator",
);

export type ExportedProductRow = Omit<ProductRow, "from_lines">;

/** Opens a cursor over the products that the source stated; the others come of order lines. Primary key of product. */
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
  `select v.variant_id, v.product_gid, v.sku, v.title, v.used, v.counterpart_sku, v.unit_cost_minor, v.options
     from variant v where v.shop_key = $1 order by v.variant_id`,
);

type ExportedOrderRow = { order_id: string; document: unknown };

/** Opens a cursor over the order documents in key order: a range scan of order_document's primary key. */
export const openExportedOrders = cursor<ExportedOrderRow, [shopKey: number]>(
  "exported_order",
  200,
  `select d.order_id, d.document from order_document d where d.shop_key = $1 order by d.order_id`,
);

export type ExportedLabelRow = {
  source: string;
  label_id: string;
  order_id: string | null;
  return_id: string | null;
  tracking_number: string | null;
  charged_at: Date;
  amount_minor: number;
  currency_code: string;
  voided_at: Date | null;
};

/** Opens a cursor over the labels with what each was matched to (M10). Primary key of return_label. */
export const openExportedLabels = cursor<ExportedLabelRow, [shopKey: number]>(
  "exported_label",
  500,
  `select l.source, l.label_id, l.order_id, l.return_id, l.tracking_number, l.charged_at, l.amount_minor,
          l.currency_code, l.voided_at
     from return_label l where l.shop_key = $1 order by l.source, l.label_id`,
);

export type ExportedSaleEventRow = {
  slug: string;
  label: string;
  starts_on: string;
  ends_on: string;
  skus: string[] | null;
};

/** Opens a cursor over the sale events. Primary key of sale_event. */
export const openExportedSaleEvents = cursor<ExportedSaleEventRow, [shopKey: number]>(
  "exported_sale_event",
  100,
  `select e.slug, e.label, e.starts_on, e.ends_on, e.skus
     from sale_event e where e.shop_key = $1 order by e.slug`,
);

type ExportedAuditRow = {
  happened_at: Date;
  actor: string;
  /** Of a person who is still known. */
  actor_name: string | null;
  origin: string | null;
  action: string;
  before: unknown;
  detail: unknown;
};

/**
 * Opens a cursor over what was done in the workspace, oldest first: audit_event_time, and the names of people. Actions are
 * read before names: a Citus on PostgreSQL 15 or 16 refuses an outer join with the view of one shop.
 */
export const openExportedAudit = cursor<ExportedAuditRow, [shopKey: number]>(
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

type ExportedAlertRow = {
  created_at: Date;
  category: string;
  severity: string;
  title: string;
  body: string | null;
  metadata: unknown;
};

/** Opens a cursor over the alerts to the whole workspace, oldest first: alert_feed backwards. */
export const openExportedAlerts = cursor<ExportedAlertRow, [shopKey: number]>(
  "exported_alert",
  500,
  `select a.created_at, a.category, a.severity, a.title, a.body, a.metadata
     from alert a where a.shop_key = $1 and a.recipient is null order by a.created_at, a.alert_id`,
);

type ExportedMemberRow = {
  user_id: string;
  name: string;
  role: string;
  member_since: Date;
  is_disabled: boolean;
};

/** Who may see the workspace, by name: the primary key of workspace_member. */
export const listExportedMembers = query<ExportedMemberRow, [shopKey: number]>(
  "list_exported_members",
  `select u.user_id, u.name, m.role, m.created_at as member_since, u.disabled_at is not null as is_disabled
     from workspace_member m join console_user u on u.user_id = m.user_id
    where m.shop_key = $1 order by u.name, u.user_id`,
);

type ExportedSourceRow = {
  source: string;
  kind: string;
  is_connection: boolean;
  status: string | null;
  currency_code: string | null;
  last_synced_at: Date | null;
  created_at: Date;
};

/** The sources without credentials and cursors. Primary key of data_source. */
export const listExportedSources = query<ExportedSourceRow, [shopKey: number]>(
  "list_exported_sources",
  `select s.source, s.kind, s.is_connection, s.status, s.currency_code, s.last_synced_at, s.created_at
     from data_source s where s.shop_key = $1 order by s.source`,
);

/** How many label sources the workspace has. Primary key of data_source. */
export const countLabelSources = requireValue<number, [shopKey: number], Connection>(
  "count_label_sources",
  "select count(*) as sources from data_source s where s.shop_key = $1 and s.kind = 'label_cost'",
);
