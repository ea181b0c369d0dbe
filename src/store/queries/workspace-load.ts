import { dayOfInstant } from "../../lib/month.ts";
import type { Queryable } from "../database.ts";
import { queryRow } from "../query.ts";
import type { Member, Workspace } from "../workspace.ts";
import type { AdmitRow } from "./admit.ts";
import { SERVED_READINESS } from "./workspace-directory.ts";

/** A workspace's settings, plan and sources, as admission reads them too. */
type WorkspaceRow = Pick<
  AdmitRow,
  | "shop_key"
  | "organization_id"
  | "shop_id"
  | "shop_domain"
  | "currency_code"
  | "entitlements"
  | "primary_window_days"
  | "min_sold_units"
  | "visible_card_size"
  | "data_version"
  | "data_as_of"
  | "sources"
>;

/** A workspace, and the state that decides whether its figures are given. */
export type LoadedWorkspace = {
  workspace: Workspace;
  isBillingActive: boolean;
  /** When that ends; null = it does not. */
  billingEndsAt: Date | null;
  /** "erasing" while it is scheduled for erasure. */
  readiness: string;
  isSetupOpen: boolean;
  /** When it is erased; null = not scheduled. */
  eraseAfter: Date | null;
  /** Its watchlist: kind and key. */
  watched: readonly string[];
};

type SettingsRow = WorkspaceRow & {
  is_billing_active: boolean;
  billing_ends_at: Date | null;
  readiness: string;
  is_setup_open: boolean;
  erase_after: Date | null;
  watched: string[];
};

const findSettings = queryRow<SettingsRow, [shopKey: number]>(
  "load_workspace",
  `select w.shop_key, w.organization_id, w.shop_id, w.shop_domain, w.currency_code,
                w.billing_status = 'active' as is_billing_active, w.billing_ends_at, ${SERVED_READINESS} as readiness, w.erase_after,
                w.is_setup_open, w.primary_window_days, w.min_sold_units,
                array(select e.entity_kind || ' ' || e.entity_key from watchlist_entry e where e.shop_key = $1) as watched,
                w.visible_card_size, w.data_version, w.data_as_of, coalesce(p.entitlements, '{}') as entitlements,
                (select coalesce(jsonb_agg(jsonb_build_object(
                          'source', s.source, 'kind', s.kind, 'status', s.status, 'currency_code', s.currency_code,
                          'last_synced_at', s.last_synced_at) order by s.source), '[]')
                   from data_source s where s.shop_key = $1) as sources
           from workspace w left join plan p on p.plan_key = w.plan_key
          where w.shop_key = $1`,
);

/**
 * The workspace in the statement's snapshot, and its state; null: it is gone. Primary keys of workspace, plan, data_source and
 * watchlist_entry.
 */
export async function loadWorkspace(
  database: Queryable,
  { shopKey }: Workspace | Member,
): Promise<LoadedWorkspace | null> {
  return loadAnyWorkspace(database, shopKey);
}

/** The same where the right to the workspace was checked in another way, or the service itself needs it. */
export async function loadAnyWorkspace(
  database: Queryable,
  shopKey: number,
): Promise<LoadedWorkspace | null> {
  const row = await findSettings(database, shopKey);
  if (row === null) return null;
  const { is_billing_active: isBillingActive, is_setup_open: isSetupOpen, readiness, watched } = row;
  const workspace = workspaceOf(row);
  const { billing_ends_at: billingEndsAt, erase_after: eraseAfter } = row;
  return { workspace, isBillingActive, billingEndsAt, readiness, isSetupOpen, eraseAfter, watched };
}

export function workspaceOf(row: WorkspaceRow): Workspace {
  return {
    shopKey: row.shop_key,
    organizationId: row.organization_id,
    shopId: row.shop_id,
    shopDomain: row.shop_domain,
    currencyCode: row.currency_code,
    entitlements: row.entitlements,
    primaryWindowDays: row.primary_window_days,
    minSoldUnits: row.min_sold_units,
    visibleCardSize: row.visible_card_size,
    dataVersion: row.data_version,
    dataAsOf: row.data_as_of,
    asOfDay: row.data_as_of === null ? null : dayOfInstant(row.data_as_of.getTime()),
    sources: row.sources.map((source) => ({
      source: source.source,
      kind: source.kind,
      status: source.status,
      currencyCode: source.currency_code,
      lastSyncedAt: source.last_synced_at === null ? null : new Date(source.last_synced_at),
    })),
  } as unknown as Workspace;
}
