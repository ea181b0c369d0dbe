import type { Selection } from "./selection.ts";

type LineKind = Selection["kind"] | "skus";

/**
 * The condition that keeps the order lines `l` of a selection; the statement starts with `CHOSEN`. It takes what the
 * cohort rows of that selection hold (M7, M14). One text per kind, so that each is planned for its own index:
 * order_line_by_month, order_line_by_sku or order_line_by_product. `skus` takes a list of SKUs as $9.
 */
export const LINE_CONDITION: Readonly<Record<LineKind, string>> = {
  workspace: "",
  sku: "and l.sku in (select c.entity_key from chosen c)",
  product: "and l.product_gid = $3 and (not l.used or $4)",
  family: `and l.product_gid in (
           select p.product_gid from product p where p.shop_key = $1 and p.family = $3)`,
  analytics_category: `and l.product_gid in (
           select p.product_gid from product p where p.shop_key = $1 and p.analytics_category = $3)`,
  skus: "and l.sku = any($9::text[])",
};
