import type { Queryable } from "../database.ts";
import { command, queryValue, requireValue } from "../query.ts";

/** The next shop key: the coordinator's, since each node would count in a range of its own. */
const nextShopKey = requireValue<number>(
  "next_shop_key",
  "select nextval(pg_get_serial_sequence('shop_directory', 'shop_key')) as shop_key from coordinator",
);

const insertShopKey = queryValue<number, [shopDomain: string, shopKey: number]>(
  "insert_shop",
  `insert into shop_directory (shop_domain, shop_key) overriding system value values ($1, $2)
         on conflict (shop_domain) do nothing returning shop_key`,
);

/** Reserves a domain and gives out its shop key; null when the domain is taken. */
export async function insertShop(database: Queryable, shopDomain: string): Promise<number | null> {
  return insertShopKey(database, shopDomain, await nextShopKey(database));
}

type NewWorkspace = {
  organizationId: string;
  shopId: string;
  shopDomain: string;
  currencyCode: string;
  planKey: string;
  /** Its overview lists what is left to set up. */
  isSetupOpen: boolean;
};

/** A new workspace with the schema's default settings, installing and without data. */
export const insertWorkspace = command<[shopKey: number, workspace: NewWorkspace]>(
  "insert_workspace",
  `insert into workspace (shop_key, organization_id, shop_id, shop_domain, currency_code, plan_key, is_setup_open)
         values ($1, $2, $3, $4, $5, $6, $7)`,
  (shopKey, workspace) => [
    shopKey,
    workspace.organizationId,
    workspace.shopId,
    workspace.shopDomain,
    workspace.currencyCode,
    workspace.planKey,
    workspace.isSetupOpen,
  ],
);

/** What people call a workspace; null = its domain. Primary key of shop_directory. */
export const findDisplayName = queryValue<string, [shopKey: number]>(
  "find_display_name",
  "select coalesce(d.display_name, d.shop_domain) from shop_directory d where d.shop_key = $1",
);

/** Gives it a name; null = its domain again. Primary key of shop_directory. */
export const updateDisplayName = command<[shopKey: number, name: string | null]>(
  "update_display_name",
  "update shop_directory set display_name = $2 where shop_key = $1",
);

/** null = as it is, and so is what is left out. */
type WorkspaceChange = {
  planKey: string | null;
  billingStatus: string | null;
  readiness: string | null;
  minSoldUnits: number | null;
  visibleCardSize: number | null;
};

/** Changes the settings that admission reads with each request. */
export const updateWorkspace = command<[shopKey: number, change: Partial<WorkspaceChange>]>(
  "update_workspace",
  `update workspace
            set plan_key = coalesce($2, plan_key), billing_status = coalesce($3, billing_status),
                readiness = coalesce($4, readiness), min_sold_units = coalesce($5, min_sold_units),
                visible_card_size = coalesce($6, visible_card_size)
          where shop_key = $1`,
  (shopKey, change) => [
    shopKey,
    change.planKey,
    change.billingStatus,
    change.readiness,
    change.minSoldUnits,
    change.visibleCardSize,
  ],
);
