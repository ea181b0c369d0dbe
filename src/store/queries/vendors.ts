import { queryColumn } from "../query.ts";
import type { Workspace } from "../workspace.ts";

/**
 * Names of the vendors that the workspace ever had, those of most products first: what an unknown one may have meant. Indexes
 * product_by_vendor and listing_by_line_vendor.
 */
export const listVendors = queryColumn<string, [workspace: Workspace]>(
  "list_vendors",
  `select v.vendor
     from (select p.vendor, count(*) as products from product p where p.shop_key = $1 and p.vendor is not null group by p.vendor
           union all
           select l.line_vendor, 0 from listing l where l.shop_key = $1 and l.line_vendor <> '' group by l.line_vendor) v
    group by v.vendor order by sum(v.products) desc, v.vendor limit 1000`,
  ({ shopKey }) => [shopKey],
);
