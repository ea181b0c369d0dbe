import type { Connection } from "../database.ts";
import { command, query, queryColumn } from "../query.ts";

/** A product as its source states it; from_lines: none does, only order lines name it. */
export type ProductRow = {
  product_gid: string;
  title: string;
  handle: string | null;
  vendor: string | null;
  family: string | null;
  analytics_category: string | null;
  image_url: string | null;
  image_alt: string | null;
  from_lines: boolean;
};

/** A variant as its source states it. */
export type VariantRow = {
  /** In the source's order, such as Size and Colour. */
  options: { name: string; value: string }[];
  variant_id: string;
  product_gid: string;
  sku: string | null;
  title: string | null;
  used: boolean;
  counterpart_sku: string | null;
  unit_cost_minor: number | null;
  /** null = its product's. */
  image_url: string | null;
};

/** Stored rows of some products. Primary key of product. */
export const listProducts = query<ProductRow, [shopKey: number, productGids: readonly string[]], Connection>(
  "list_stored_products",
  `select p.product_gid, p.title, p.handle, p.vendor, p.family, p.analytics_category, p.image_url, p.image_alt, p.from_lines
           from product p where p.shop_key = $1 and p.product_gid = any($2)`,
);

/** Stores products as their source states them. Primary key of product. */
export const putProducts = command<[shopKey: number, products: readonly ProductRow[]], Connection>(
  "put_products",
  `insert into product (shop_key, product_gid, title, handle, vendor, family, analytics_category, image_url, image_alt,
                             from_lines)
         select w.shop_key, s.product_gid, s.title, s.handle, s.vendor, s.family, s.analytics_category, s.image_url,
                s.image_alt, false
           from workspace w
          cross join json_to_recordset($2::json) s (product_gid text, title text, handle text, vendor text, family text,
                       analytics_category text, image_url text, image_alt text)
          where w.shop_key = $1
         on conflict (shop_key, product_gid) do update
            set title = excluded.title, handle = excluded.handle, vendor = excluded.vendor,
                family = excluded.family, analytics_category = excluded.analytics_category,
                image_url = excluded.image_url, image_alt = excluded.image_alt, from_lines = false`,
  (shopKey, products) => [shopKey, JSON.stringify(products)],
);

/** Marks the months in which some products were sold. Index order_line_by_product. */
export const markProductMonths = command<[shopKey: number, productGids: readonly string[]], Connection>(
  "mark_product_months",
  `insert into dirty_cohort (shop_key, cohort_month)
         select distinct l.shop_key, l.cohort_month
           from order_line l where l.shop_key = $1 and l.product_gid = any($2)
         on conflict do nothing`,
);

/** Stored rows of some variants. Primary key of variant. */
export const listVariants = query<VariantRow, [shopKey: number, variantIds: readonly string[]], Connection>(
  "list_stored_variants",
  `select v.variant_id, v.product_gid, v.sku, v.title, v.used, v.counterpart_sku, v.unit_cost_minor, v.image_url, v.options
           from variant v where v.shop_key = $1 and v.variant_id = any($2)`,
);

/** Stores variants as their source states them. Primary key of variant. */
export const putVariants = command<[shopKey: number, variants: readonly VariantRow[]], Connection>(
  "put_variants",
  `insert into variant (shop_key, variant_id, product_gid, sku, title, used, counterpart_sku, unit_cost_minor,
                              image_url, options)
         select w.shop_key, s.variant_id, s.product_gid, s.sku, s.title, s.used, s.counterpart_sku, s.unit_cost_minor,
                s.image_url, s.options
           from workspace w
          cross join json_to_recordset($2::json) s (variant_id text, product_gid text, sku text, title text, used boolean,
                       counterpart_sku text, unit_cost_minor bigint, image_url text, options jsonb)
          where w.shop_key = $1
         on conflict (shop_key, variant_id) do update
            set product_gid = excluded.product_gid, sku = excluded.sku, title = excluded.title, used = excluded.used,
                counterpart_sku = excluded.counterpart_sku, unit_cost_minor = excluded.unit_cost_minor,
                image_url = excluded.image_url, options = excluded.options`,
  (shopKey, variants) => [shopKey, JSON.stringify(variants)],
);

/** Every product that anything names. Reads all lines of the workspace. */
export const listNamedProducts = queryColumn<string, [shopKey: number], Connection>(
  "list_named_products",
  `select product_gid from product where shop_key = $1
         union select product_gid from variant where shop_key = $1
         union select product_gid from order_line where shop_key = $1 and product_gid is not null`,
);

/** Every SKU that anything names. Reads all lines of the workspace. */
export const listNamedSkus = queryColumn<string, [shopKey: number], Connection>(
  "list_named_skus",
  `select sku from sku where shop_key = $1
         union select sku from variant where shop_key = $1 and sku is not null
         union select sku from order_line where shop_key = $1 and sku is not null`,
);

/** The products of the variants of some SKUs, whose titles may come from these variants. Index variant_by_sku. */
export const listProductsOfSkus = queryColumn<string, [shopKey: number, skus: readonly string[]], Connection>(
  "list_products_of_skus",
  "select distinct v.product_gid from variant v where v.shop_key = $1 and v.sku = any($2)",
);

/** The latest first, served backwards by order_line_by_sku or order_line_by_product. */
const LATEST = "order by l.cohort_month desc, l.ordered_on desc, l.order_id desc, l.line_id desc limit 1";

/** A product that no product row of a source describes, as order lines and variants have it. */
type LineProductRow = {
  product_gid: string;
  title: string;
  vendor: string | null;
  /** false: nothing refers to it. */
  is_named: boolean;
  /** Whether the vendor is another than the one stored. */
  is_moved: boolean;
};

/**
 * What order lines and variants say of those among some products that no product row of a source describes: title and
 * vendor of the latest line that has one, else the title of its first variant, else its id. Index order_line_by_product.
 */
export const listLineProducts = query<
  LineProductRow,
  [shopKey: number, productGids: readonly string[]],
  Connection
>(
  "list_line_products",
  `select t.product_gid, made.line_vendor as vendor, made.line_vendor is distinct from p.vendor as is_moved,
                coalesce(titled.line_title, v.title, regexp_replace(t.product_gid, '^gid://import/Product/', '')) as title,
                v.product_gid is not null
                or exists (select from order_line l where l.shop_key = $1 and l.product_gid = t.product_gid) as is_named
           from unnest($2::text[]) t (product_gid)
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
          where p.from_lines is not false`,
);

/** Stores products as lines and variants have them. Primary key of product. */
export const putLineProducts = command<[shopKey: number, products: readonly LineProductRow[]], Connection>(
  "put_line_products",
  `insert into product (shop_key, product_gid, title, vendor, from_lines)
         select w.shop_key, s.product_gid, s.title, s.vendor, true
           from workspace w
          cross join json_to_recordset($2::json) s (product_gid text, title text, vendor text)
          where w.shop_key = $1
         on conflict (shop_key, product_gid) do update set title = excluded.title, vendor = excluded.vendor`,
  (shopKey, products) => [shopKey, JSON.stringify(products)],
);

/** Removes products. Primary key of product. */
export const removeProducts = command<[shopKey: number, productGids: readonly string[]], Connection>(
  "remove_products",
  "delete from product p where p.shop_key = $1 and p.product_gid = any($2)",
);

/** The SKUs of some products, whose title and vendor they carry. Index sku_by_product. */
export const listSkusOfProducts = queryColumn<
  string,
  [shopKey: number, productGids: readonly string[]],
  Connection
>("list_skus_of_products", "select s.sku from sku s where s.shop_key = $1 and s.product_gid = any($2)");

/** Removes some SKUs: look-ups in sku's primary key. */
export const removeSkus = command<[shopKey: number, skus: readonly string[]], Connection>(
  "remove_skus",
  "delete from sku s where s.shop_key = $1 and s.sku = any($2)",
);

/**
 * Adds a row for each of some SKUs named by a variant or a line: based on its variant (a new one before a used one), else its
 * latest line. Primary key of product, order_line_by_sku.
 */
export const insertSkus = command<[shopKey: number, skus: readonly string[]], Connection>(
  "insert_skus",
  `insert into sku (shop_key, sku, product_gid, product_title, vendor, used, unit_cost_minor, image_url,
                          from_lines)
         select w.shop_key, t.sku, p.product_gid, coalesce(p.title, titled.line_title),
                case when p.product_gid is null then made.line_vendor else p.vendor end,
                coalesce(v.used, latest.used),
                case when v.variant_id is null then latest.unit_cost_minor else v.unit_cost_minor end,
                v.image_url,
                v.variant_id is null
           from workspace w
          cross join unnest($2::text[]) t (sku)
           left join (
             select distinct on (sku) sku, variant_id, product_gid, used, unit_cost_minor, image_url from variant
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
          where w.shop_key = $1 and (v.variant_id is not null or latest.used is not null)`,
);
