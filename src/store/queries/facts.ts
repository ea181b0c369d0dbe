import type { Connection } from "../database.ts";
import { command, query, queryAny, requireRow } from "../query.ts";

/**
 * The entities of a line, joined to rows `l` with product_gid, variant_id and sku from the line: its own values, else its
 * variant's. Its variant is the one it names, else the one of its SKU, a new one before a used one. The conditions narrow the
 * variants looked up by id and by SKU.
 */
const variantOfLine = (amongIds: string, amongSkus: string): string => `
  left join variant v on v.shop_key = $1 and v.variant_id = l.variant_id ${amongIds}
  left join (
    select distinct on (sku) sku, variant_id, product_gid, used, counterpart_sku, unit_cost_minor from variant
     where shop_key = $1 and sku is not null ${amongSkus} order by sku, used, variant_id
  ) s on v.variant_id is null and s.sku = l.sku`;

/** The resolved columns, in the order product_gid, sku, used, counterpart_sku, unit_cost_minor, variant_id. */
const RESOLVED = `coalesce(l.product_gid, v.product_gid, s.product_gid), coalesce(l.sku, v.sku),
  coalesce(v.used, s.used, false), case when coalesce(v.used, s.used) then coalesce(v.counterpart_sku, s.counterpart_sku) end,
  coalesce(v.unit_cost_minor, s.unit_cost_minor), coalesce(v.variant_id, s.variant_id)`;

/** Removes every fact of a workspace. */
export const removeAllFacts = command<[shopKey: number], Connection>(
  "remove_all_facts",
  `with event as (delete from return_event where shop_key = $1),
              request as (delete from return_request where shop_key = $1),
              share as (delete from label_share where shop_key = $1),
              name as (delete from order_reference where shop_key = $1),
              tracking as (delete from return_tracking where shop_key = $1),
              difference as (delete from booking_difference where shop_key = $1),
              amount as (delete from amount_refund where shop_key = $1)
         delete from order_line where shop_key = $1`,
);

/** The names in a line: its product, its variant, its SKU. */
export type LineNames = { productGid: string | null; variantId: string | null; sku: string | null };

/** The entities of a line, according to the catalogue. */
export type ResolvedRow = {
  product_gid: string | null;
  sku: string | null;
  used: boolean;
  counterpart_sku: string | null;
  unit_cost_minor: number | null;
  variant_id: string | null;
};

/** The entities of lines with these names, in their order. Primary key of variant, variant_by_sku. */
export const resolveNames = query<ResolvedRow, [shopKey: number, names: readonly LineNames[]], Connection>(
  "resolve_names",
  `select r.product_gid, r.sku, r.used, r.counterpart_sku, r.unit_cost_minor, r.variant_id
           from (select l.place, ${RESOLVED}
                   from unnest($2::text[], $3::text[], $4::text[]) with ordinality
                        l (product_gid, variant_id, sku, place) ${variantOfLine("and v.variant_id = any($3)", "and sku = any($4)")}
                ) r (place, product_gid, sku, used, counterpart_sku, unit_cost_minor, variant_id)
          order by r.place`,
  (shopKey, names) => [
    shopKey,
    names.map(({ productGid }) => productGid),
    names.map(({ variantId }) => variantId),
    names.map(({ sku }) => sku),
  ],
);

/** A label by its source and its id. */
export type LabelKey = { source: string; label_id: string };

/** Whether the workspace has any label. Primary key of return_label. */
export const hasLabels = queryAny<[shopKey: number], Connection>(
  "has_labels",
  "select 1 as is_there from return_label l where l.shop_key = $1 limit 1",
);

/** The labels that name or have a part of some orders. Primary keys of the facts; return_label's indexes. */
export const listLabelsOfOrders = query<LabelKey, [shopKey: number, orderIds: readonly string[]], Connection>(
  "list_labels_of_orders",
  `select l.source, l.label_id from return_label l where l.shop_key = $1 and l.order_id = any($2)
         union
         select l.source, l.label_id from return_request r
           join return_label l on l.shop_key = $1 and l.return_id = r.return_id
          where r.shop_key = $1 and r.order_id = any($2)
         union
         select h.source, h.label_id from label_share h where h.shop_key = $1 and h.order_id = any($2)
         union
         select l.source, l.label_id from return_tracking t
           join return_label l on l.shop_key = $1 and l.tracking_number = t.tracking_number
          where t.shop_key = $1 and t.order_id = any($2)
         union
         select l.source, l.label_id from order_reference n
           join return_label l on l.shop_key = $1 and l.source_order_name = n.order_name
          where n.shop_key = $1 and n.order_id = any($2)`,
);

/** Months (first days, YYYY-MM-DD), products and SKUs of lines, each once. */
export type LinePlaces = { months: string[]; products: string[]; skus: string[] };

/** Removes the facts of some orders; returns where their lines were. Ranges of the primary keys. */
export const removeFacts = requireRow<LinePlaces, [shopKey: number, orderIds: readonly string[]], Connection>(
  "remove_facts",
  `with event as (delete from return_event where shop_key = $1 and order_id = any($2)),
              request as (delete from return_request where shop_key = $1 and order_id = any($2)),
              name as (delete from order_reference where shop_key = $1 and order_id = any($2)),
              tracking as (delete from return_tracking where shop_key = $1 and order_id = any($2)),
              difference as (delete from booking_difference where shop_key = $1 and order_id = any($2)),
              amount as (delete from amount_refund where shop_key = $1 and order_id = any($2)),
              line as (
                delete from order_line where shop_key = $1 and order_id = any($2)
                returning cohort_month, product_gid, sku
              )
         select array(select distinct cohort_month::text from line) as months,
                array(select distinct product_gid from line where product_gid is not null) as products,
                array(select distinct sku from line where sku is not null) as skus`,
);

/**
 * Resolves the lines of some variants and SKUs again; returns where those that come out different were and are now. Reads
 * all lines of the workspace.
 */
export const resolveLinesAgain = requireRow<
  LinePlaces,
  [shopKey: number, variantIds: readonly string[], skus: readonly string[]],
  Connection
>(
  "resolve_lines_again",
  `with line as materialized (
           select l.order_id, l.line_id, l.line_product_gid as product_gid, l.line_variant_id as variant_id,
                  l.line_sku as sku, l.product_gid as old_product_gid, l.sku as old_sku
             from order_line l
            where l.shop_key = $1 and (l.line_variant_id = any($2) or l.line_sku = any($3))
         ), resolved (order_id, line_id, old_product_gid, old_sku, product_gid, sku, used, counterpart_sku,
                       unit_cost_minor, variant_id) as (
           select l.order_id, l.line_id, l.old_product_gid, l.old_sku, ${RESOLVED} from line l ${variantOfLine("", "")}
         ), changed as (
           update order_line o
              set product_gid = r.product_gid, sku = r.sku, used = r.used, counterpart_sku = r.counterpart_sku,
                  unit_cost_minor = r.unit_cost_minor, variant_id = r.variant_id
             from resolved r
            where o.shop_key = $1 and o.order_id = r.order_id and o.line_id = r.line_id
              and (o.product_gid, o.sku, o.used, o.counterpart_sku, o.unit_cost_minor, o.variant_id)
                  is distinct from (r.product_gid, r.sku, r.used, r.counterpart_sku, r.unit_cost_minor, r.variant_id)
           returning o.cohort_month, r.old_product_gid, r.old_sku, r.product_gid, r.sku
         )
         select array(select distinct cohort_month::text from changed) as months,
                array(select old_product_gid from changed where old_product_gid is not null
                      union select product_gid from changed where product_gid is not null) as products,
                array(select old_sku from changed where old_sku is not null
                      union select sku from changed where sku is not null) as skus`,
);
