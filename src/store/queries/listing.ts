import type { Connection } from "../database.ts";
import { command } from "../query.ts";
import { isChanged, type ChangedSkus } from "./sku-rollup.ts";

/** `listing_id` of cohort rows that are not of a SKU. */
export const NO_LISTING = "'00000000-0000-0000-0000-000000000000'::uuid";

/** The vendor that a line `l` names itself, where it has no product to have one. */
export const LINE_VENDOR = "case when l.product_gid is null then l.line_vendor end";

/** The listing of a line `l` of order_line. Text never holds chr(31): control characters are stripped on the way in. */
export const LISTING_ID = `md5(concat_ws(chr(31), coalesce(l.product_gid, ''), l.used, coalesce(l.counterpart_sku, ''),
  coalesce(${LINE_VENDOR}, ''), l.variant_id))::uuid`;

/** Whether row `k` of listing is that of a line `l` of order_line. */
export const IS_LISTING = `k.shop_key = $1 and k.sku = coalesce(l.sku, '') and k.product_gid = coalesce(l.product_gid, '')
       and k.used = l.used and k.counterpart_sku = coalesce(l.counterpart_sku, '')
       and k.line_vendor = coalesce(${LINE_VENDOR}, '') and k.variant_id = coalesce(l.variant_id, '')`;

/** Adds the new listings that sold something in the cohort months (first days). Index order_line_by_month. */
export const putListings = command<[shopKey: number, months: readonly string[]], Connection>(
  "put_listings",
  `insert into listing (shop_key, sku, listing_id, product_gid, used, counterpart_sku, line_vendor, variant_id)
         select l.shop_key, coalesce(l.sku, ''), ${LISTING_ID}, coalesce(l.product_gid, ''), l.used,
                coalesce(l.counterpart_sku, ''), coalesce(${LINE_VENDOR}, ''), coalesce(l.variant_id, '')
           from order_line l
          where l.shop_key = $1 and l.cohort_month = any($2::date[]) and l.sold_units > 0
            and not exists (select 1 as is_there from listing k where ${IS_LISTING})
          group by l.shop_key, l.sku, l.product_gid, l.used, l.counterpart_sku, ${LINE_VENDOR}, l.variant_id
         on conflict do nothing`,
);

/**
 * Removes the listings of changed SKUs that have no year left: every month that sold something is in one. Primary keys.
 * The statistics may not include rows of this transaction, so call it while the planner is restricted to hash joins.
 */
export const removeUnsoldListings = command<[shopKey: number, skus: ChangedSkus], Connection>(
  "remove_unsold_listings",
  `delete from listing l
          where l.shop_key = $1 and ${isChanged("l.sku", "$2")}
            and not exists (
              select from sku_year y
               where y.shop_key = $1 and y.sku = l.sku and y.listing_id = l.listing_id
                 and ${isChanged("y.sku", "$2")})`,
);
