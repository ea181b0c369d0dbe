import type { Connection } from "../database.ts";
import { command, requireValue } from "../query.ts";

/** Takes image addresses that are not http(s) from the staged products: pages show them. Returns how many. */
export const dropUnusableImages = requireValue<number, [], Connection>(
  "drop_unusable_images",
  `with dropped as (
           update staged_product s set image_url = null where s.image_url !~* '^https?://[^/[:space:]]' returning 1
         ) select count(*) as dropped from dropped`,
);

/**
 * Stores the staged products that are new or different, and marks the months of those that moved to another family,
 * category or vendor. Returns how many. Primary key of product, order_line_by_product.
 */
export const putProducts = requireValue<number, [shopKey: number], Connection>(
  "put_products",
  `with changed as (
           select s.product_gid, s.title, s.handle, s.vendor, s.family, s.analytics_category, s.image_url, s.image_alt,
                  (p.family, p.analytics_category, p.vendor)
                  is distinct from (s.family, s.analytics_category, s.vendor) as is_regrouped
             from staged_product s
             left join product p on p.shop_key = $1 and p.product_gid = s.product_gid
            where p.product_gid is null or p.from_lines
               or (p.title, p.handle, p.vendor, p.family, p.analytics_category, p.image_url, p.image_alt)
                  is distinct from
                  (s.title, s.handle, s.vendor, s.family, s.analytics_category, s.image_url, s.image_alt)
         ), dirty as (
           insert into dirty_cohort (shop_key, cohort_month)
           select distinct $1::bigint, l.cohort_month
             from changed c join order_line l on l.shop_key = $1 and l.product_gid = c.product_gid
            where c.is_regrouped
           on conflict do nothing
         ), touched as (
           insert into touched_product (product_gid) select product_gid from changed on conflict do nothing
         ), put as (
           insert into product (shop_key, product_gid, title, handle, vendor, family, analytics_category, image_url,
                                image_alt, from_lines)
           select $1, product_gid, title, handle, vendor, family, analytics_category, image_url, image_alt, false
             from changed
           on conflict (shop_key, product_gid) do update
              set title = excluded.title, handle = excluded.handle, vendor = excluded.vendor,
                  family = excluded.family, analytics_category = excluded.analytics_category,
                  image_url = excluded.image_url, image_alt = excluded.image_alt, from_lines = false
           returning 1
         ) select count(*) as changed from put`,
);

/** Stores the staged variants that are new or different; returns how many. Primary key of variant. */
export const putVariants = requireValue<number, [shopKey: number], Connection>(
  "put_variants",
  `with changed as (
           select s.variant_id, s.product_gid, s.sku, s.title, s.used, s.counterpart_sku, s.unit_cost_minor,
                  v.sku as old_sku, v.product_gid as old_product_gid
             from staged_variant s
             left join variant v on v.shop_key = $1 and v.variant_id = s.variant_id
            where v.variant_id is null
               or (v.product_gid, v.sku, v.title, v.used, v.counterpart_sku, v.unit_cost_minor)
                  is distinct from
                  (s.product_gid, s.sku, s.title, s.used, s.counterpart_sku, s.unit_cost_minor)
         ), variant_touched as (
           insert into touched_variant (variant_id) select variant_id from changed on conflict do nothing
         ), product_touched as (
           insert into touched_product (product_gid)
           select product_gid from changed
           union select old_product_gid from changed where old_product_gid is not null
           on conflict do nothing
         ), sku_touched as (
           insert into touched_sku (sku)
           select sku from changed where sku is not null union select old_sku from changed where old_sku is not null
           on conflict do nothing
         ), put as (
           insert into variant (shop_key, variant_id, product_gid, sku, title, used, counterpart_sku, unit_cost_minor)
           select $1, variant_id, product_gid, sku, title, used, counterpart_sku, unit_cost_minor from changed
           on conflict (shop_key, variant_id) do update
              set product_gid = excluded.product_gid, sku = excluded.sku, title = excluded.title,
                  used = excluded.used, counterpart_sku = excluded.counterpart_sku,
                  unit_cost_minor = excluded.unit_cost_minor
           returning 1
         ) select count(*) as changed from put`,
);

/** Marks every product and SKU that anything names. Reads all lines of the shop. */
export const touchWholeCatalogue = command<[shopKey: number], Connection>(
  "touch_whole_catalogue",
  `with product_touched as (
           insert into touched_product (product_gid)
           select product_gid from product where shop_key = $1
           union select product_gid from variant where shop_key = $1
           union select product_gid from order_line where shop_key = $1 and product_gid is not null
           on conflict do nothing
         )
         insert into touched_sku (sku)
         select sku from sku where shop_key = $1
         union select sku from variant where shop_key = $1 and sku is not null
         union select sku from order_line where shop_key = $1 and sku is not null
         on conflict do nothing`,
);

/** A product may owe its title to a variant that shares a touched SKU. Index variant_by_sku. */
export const touchProductsOfSkus = command<[shopKey: number], Connection>(
  "touch_products_of_skus",
  `insert into touched_product (product_gid)
         select v.product_gid from variant v join touched_sku t on t.sku = v.sku where v.shop_key = $1
         on conflict do nothing`,
);

/** The latest first, served backwards by order_line_by_sku or order_line_by_product. */
const LATEST = "order by l.cohort_month desc, l.ordered_on desc, l.order_id desc, l.line_id desc limit 1";

/**
 * Brings the touched products that no product row of a source describes to what order lines and variants say: title and
 * vendor of the latest line that has one, else the title of its first variant, else its id. Removes those that nothing
 * names any more, and marks the months of those whose vendor changed. Index order_line_by_product.
 */
export const putLineProducts = command<[shopKey: number], Connection>(
  "put_line_products",
  `with fresh as materialized (
           select t.product_gid, p.vendor as old_vendor, made.line_vendor as vendor,
                  coalesce(titled.line_title, v.title, regexp_replace(t.product_gid, '^gid://import/Product/', '')) as title,
                  v.product_gid is not null
                  or exists (select from order_line l where l.shop_key = $1 and l.product_gid = t.product_gid) as is_named
             from touched_product t
             left join product p on p.shop_key = $1 and p.product_gid = t.product_gid
             left join (
               select distinct on (product_gid) product_gid, title from variant
                where shop_key = $1 order by product_gid, title is null, variant_id
             ) v on v.product_gid = t.product_gid
             left join lateral (
               select l.line_title from order_line l
                where p.from_lines is not false and l.shop_key = $1 and l.product_gid = t.product_gid
                  and l.line_title is not null ${LATEST}
             ) titled on true
             left join lateral (
               select l.line_vendor from order_line l
                where p.from_lines is not false and l.shop_key = $1 and l.product_gid = t.product_gid
                  and l.line_vendor is not null ${LATEST}
             ) made on true
            where p.from_lines is not false
         ), dirty as (
           insert into dirty_cohort (shop_key, cohort_month)
           select distinct $1::bigint, l.cohort_month
             from fresh f join order_line l on l.shop_key = $1 and l.product_gid = f.product_gid
            where f.vendor is distinct from f.old_vendor
           on conflict do nothing
         ), gone as (
           delete from product p using fresh f
            where p.shop_key = $1 and p.product_gid = f.product_gid and not f.is_named
         )
         insert into product (shop_key, product_gid, title, vendor, from_lines)
         select $1, product_gid, title, vendor, true from fresh where is_named
         on conflict (shop_key, product_gid) do update set title = excluded.title, vendor = excluded.vendor`,
);

/** SKUs carry title and vendor of their product. Index sku_by_product. */
export const touchSkusOfProducts = command<[shopKey: number], Connection>(
  "touch_skus_of_products",
  `insert into touched_sku (sku)
         select s.sku from sku s join touched_product t on t.product_gid = s.product_gid where s.shop_key = $1
         on conflict do nothing`,
);

/** Removes the touched SKUs: look-ups in sku's primary key. */
export const removeSkus = command<[shopKey: number], Connection>(
  "remove_skus",
  "delete from sku s using touched_sku t where s.shop_key = $1 and s.sku = t.sku",
);

/**
 * A row for each touched SKU that a variant or a line names: what its variant says (a new one before a used one),
 * else its latest line. Primary key of product, order_line_by_sku.
 */
export const insertSkus = command<[shopKey: number], Connection>(
  "insert_skus",
  `insert into sku (shop_key, sku, product_gid, product_title, vendor, used, unit_cost_minor, from_lines)
         select $1, t.sku, p.product_gid, coalesce(p.title, titled.line_title),
                case when p.product_gid is null then made.line_vendor else p.vendor end,
                coalesce(v.used, latest.used),
                case when v.variant_id is null then latest.unit_cost_minor else v.unit_cost_minor end,
                v.variant_id is null
           from touched_sku t
           left join (
             select distinct on (sku) sku, variant_id, product_gid, used, unit_cost_minor from variant
              where shop_key = $1 and sku is not null order by sku, used, variant_id
           ) v on v.sku = t.sku
           left join lateral (
             select l.used, l.unit_cost_minor from order_line l
              where v.variant_id is null and l.shop_key = $1 and l.sku = t.sku ${LATEST}
           ) latest on true
           left join lateral (
             select l.product_gid from order_line l
              where v.variant_id is null and l.shop_key = $1 and l.sku = t.sku and l.product_gid is not null ${LATEST}
           ) placed on true
           left join product p on p.shop_key = $1 and p.product_gid = coalesce(v.product_gid, placed.product_gid)
           left join lateral (
             select l.line_title from order_line l
              where p.product_gid is null and l.shop_key = $1 and l.sku = t.sku and l.line_title is not null ${LATEST}
           ) titled on true
           left join lateral (
             select l.line_vendor from order_line l
              where p.product_gid is null and l.shop_key = $1 and l.sku = t.sku and l.line_vendor is not null ${LATEST}
           ) made on true
          where v.variant_id is not null or latest.used is not null`,
);
