import { query } from "../query.ts";
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

/** One row per ranked SKU that the catalogue knows, with the product to show; primary keys of sku and product. */
export const loadLeaderboardProducts = query<
  LeaderboardProductRow,
  [workspace: Workspace, rows: readonly { sku: string; product_gid: string | null }[]]
>(
  "load_leaderboard_products",
  `select s.sku, p.product_gid, coalesce(p.title, s.product_title) as product_title, p.handle,
                case when p.product_gid is null then s.vendor else p.vendor end as vendor, p.image_url, p.image_alt
           from unnest($2::text[], $3::text[]) r (sku, product_gid)
           join sku s on s.shop_key = $1 and s.sku = r.sku
           left join product p on p.shop_key = $1 and p.product_gid = r.product_gid`,
  (workspace, rows) => [workspace.shopKey, rows.map((row) => row.sku), rows.map((row) => row.product_gid)],
);
