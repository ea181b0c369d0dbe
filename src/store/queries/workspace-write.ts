import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";

const INSERT_SHOP = defineStatement({
  name: "insert_shop",
  text: `insert into shop_directory (shop_domain) values ($1)
         on conflict (shop_domain) do nothing returning shop_key`,
});

/** Reserves a domain and gives out its shop key; null when the domain is taken. */
export async function insertShop(database: Queryable, shopDomain: string): Promise<number | null> {
  const [row] = await database.rows<{ shop_key: number }>(INSERT_SHOP, [shopDomain]);
  return row?.shop_key ?? null;
}

export type NewWorkspace = {
  organizationId: string;
  shopId: string;
  shopDomain: string;
  currencyCode: string;
  planKey: string;
};

const INSERT_WORKSPACE = defineStatement({
  name: "insert_workspace",
  text: `insert into workspace (shop_key, organization_id, shop_id, shop_domain, currency_code, plan_key)
         values ($1, $2, $3, $4, $5, $6)`,
});

/** A new workspace with the schema's default settings, installing and without data. */
export async function insertWorkspace(
  database: Queryable,
  shopKey: number,
  workspace: NewWorkspace,
): Promise<void> {
  await database.rows(INSERT_WORKSPACE, [
    shopKey,
    workspace.organizationId,
    workspace.shopId,
    workspace.shopDomain,
    workspace.currencyCode,
    workspace.planKey,
  ]);
}

/** null = as it is. */
export type WorkspaceChange = {
  planKey: string | null;
  billingStatus: string | null;
  readiness: string | null;
  minSoldUnits: number | null;
  visibleCardSize: number | null;
};

const UPDATE_WORKSPACE = defineStatement({
  name: "update_workspace",
  text: `update workspace
            set plan_key = coalesce($2, plan_key), billing_status = coalesce($3, billing_status),
                readiness = coalesce($4, readiness), min_sold_units = coalesce($5, min_sold_units),
                visible_card_size = coalesce($6, visible_card_size)
          where shop_key = $1`,
});

/** Changes the settings that admission reads with each request. */
export async function updateWorkspace(
  database: Queryable,
  shopKey: number,
  change: WorkspaceChange,
): Promise<void> {
  await database.rows(UPDATE_WORKSPACE, [
    shopKey,
    change.planKey,
    change.billingStatus,
    change.readiness,
    change.minSoldUnits,
    change.visibleCardSize,
  ]);
}
