import { defineStatement } from "../database.ts";
import type { Queryable } from "../database.ts";
import type { Workspace } from "../workspace.ts";

/** What a leaderboard shows of one SKU's product. */
export type LeaderboardProductRow = {
  sku: string;
  product_gid: string | null;
  product_title: string | null;
  handle: string | null;
  vendor: string | null;
  image_url: string | null;
  image_alt: string | null;
};

const LOAD_LEADERBOARD_PRODUCTS = defineStatement({
  name: "load_leaderboard_products",
  text: `select s.sku, s.product_gid, s.product_title, p.handle, s.vendor, p.image_url, p.image_alt
           from sku s
           left join product p on p.shop_key = s.shop_key and p.product_gid = s.product_gid
          where s.shop_key = $1 and s.sku = any ($2)`,
});

/** One row per SKU of the list that the catalogue knows; primary keys of sku and product. */
export async function loadLeaderboardProducts(
  database: Queryable,
  workspace: Workspace,
  skus: readonly string[],
): Promise<LeaderboardProductRow[]> {
  return database.rows(LOAD_LEADERBOARD_PRODUCTS, [workspace.shopKey, skus]);
}
