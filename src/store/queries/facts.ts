import type { Connection } from "../database.ts";
import { command, inOrder } from "../query.ts";

/**
 * What a line is of, joined to rows `l` with product_gid, variant_id and sku as the line has them: its own values, else
 * its variant's. Its variant is the one it names, else the one of its SKU, a new one before a used one.
 */
export const VARIANT_OF_LINE = `
  left join variant v on v.shop_key = $1 and v.variant_id = l.variant_id
  left join (
    select distinct on (sku) sku, product_gid, used, counterpart_sku, unit_cost_minor from variant
     where shop_key = $1 and sku is not null order by sku, used, variant_id
  ) s on v.variant_id is null and s.sku = l.sku`;

/** The resolved columns, in the order product_gid, sku, used, counterpart_sku, unit_cost_minor. */
export const RESOLVED = `coalesce(l.product_gid, v.product_gid, s.product_gid), coalesce(l.sku, v.sku),
  coalesce(v.used, s.used, false), case when coalesce(v.used, s.used) then coalesce(v.counterpart_sku, s.counterpart_sku) end,
  coalesce(v.unit_cost_minor, s.unit_cost_minor)`;

/** Removes every fact of a shop. */
export const removeAllFacts = command<[shopKey: number], Connection>(
  "remove_all_facts",
  `with event as (delete from return_event where shop_key = $1),
              request as (delete from return_request where shop_key = $1),
              share as (delete from label_share where shop_key = $1),
              name as (delete from order_reference where shop_key = $1),
              tracking as (delete from return_tracking where shop_key = $1)
         delete from order_line where shop_key = $1`,
);

/** Marks the months, products and SKUs of the rows of a CTE `line`, as the last steps of a statement. */
const MARK_LINES = `
         product as (
           insert into touched_product (product_gid)
           select distinct product_gid from line where product_gid is not null on conflict do nothing
         ), sku as (
           insert into touched_sku (sku) select distinct sku from line where sku is not null on conflict do nothing
         )
         insert into dirty_cohort (shop_key, cohort_month)
         select distinct $1::bigint, cohort_month from line on conflict do nothing`;

const touchLabels = command<[shopKey: number], Connection>(
  "touch_labels_of_orders",
  `insert into touched_label (source, label_id)
         select l.source, l.label_id from return_label l join changed_order c on c.order_id = l.order_id
          where l.shop_key = $1
         union
         select l.source, l.label_id from return_request r
           join changed_order c on c.order_id = r.order_id
           join return_label l on l.shop_key = $1 and l.return_id = r.return_id
          where r.shop_key = $1
         union
         select h.source, h.label_id from label_share h join changed_order c on c.order_id = h.order_id
          where h.shop_key = $1
         union
         select l.source, l.label_id from return_tracking t
           join changed_order c on c.order_id = t.order_id
           join return_label l on l.shop_key = $1 and l.tracking_number = t.tracking_number
          where t.shop_key = $1
         union
         select l.source, l.label_id from order_reference n
           join changed_order c on c.order_id = n.order_id
           join return_label l on l.shop_key = $1 and l.source_order_name = n.order_name
          where n.shop_key = $1
         on conflict do nothing`,
);

const removeFacts = command<[shopKey: number], Connection>(
  "remove_facts",
  `with event as (
           delete from return_event e using changed_order c
            where e.shop_key = $1 and e.order_id = c.order_id and c.existed
         ), request as (
           delete from return_request r using changed_order c
            where r.shop_key = $1 and r.order_id = c.order_id and c.existed
         ), name as (
           delete from order_reference n using changed_order c
            where n.shop_key = $1 and n.order_id = c.order_id and c.existed
         ), tracking as (
           delete from return_tracking t using changed_order c
            where t.shop_key = $1 and t.order_id = c.order_id and c.existed
         ), line as (
           delete from order_line l using changed_order c
            where l.shop_key = $1 and l.order_id = c.order_id and c.existed
           returning l.cohort_month, l.product_gid, l.sku
         ), ${MARK_LINES}`,
);

const insertFacts = command<[shopKey: number], Connection>(
  "insert_facts",
  `with event as (
           insert into return_event (shop_key, order_id, line_id, event_number, cohort_month, lag_days, occurred_on, reason,
                                     returned_units, refunded_units, restocked_units, refund_minor)
           select $1, order_id, line_id, event_number, cohort_month, lag_days, occurred_on, reason,
                  returned_units, refunded_units, restocked_units, refund_minor
             from fact_event
         ), request as (
           insert into return_request (shop_key, order_id, line_id, return_id, cohort_month, status, units)
           select $1, order_id, line_id, return_id, cohort_month, status, units from fact_request
         ), name as (
           insert into order_reference (shop_key, order_id, order_name)
           select $1, order_id, order_name from fact_order_name
         ), tracking as (
           insert into return_tracking (shop_key, order_id, return_id, tracking_number)
           select $1, order_id, return_id, tracking_number from fact_tracking
         ), line as (
           insert into order_line (shop_key, order_id, line_id, ordered_on, cohort_month, sold_units, line_product_gid,
                                   line_variant_id, line_sku, line_title, line_vendor, product_gid, sku, used,
                                   counterpart_sku, unit_cost_minor)
           select $1, l.order_id, l.line_id, l.ordered_on, l.cohort_month, l.sold_units, l.product_gid,
                  l.variant_id, l.sku, l.title, l.vendor, ${RESOLVED}
             from fact_line l ${VARIANT_OF_LINE}
           returning cohort_month, product_gid, sku
         ), ${MARK_LINES}`,
);

/**
 * Puts the projected facts in their place, lines resolved with the catalogue, and marks the months, products, SKUs and
 * labels that hang on them: of orders that have no facts yet. Primary keys; return_label's indexes.
 */
export const addFacts = inOrder(insertFacts, touchLabels);

/** The same where some of the orders have facts, which these replace. Ranges of the primary keys. */
export const replaceFacts = inOrder(touchLabels, removeFacts, addFacts);

/**
 * Resolves the lines of touched variants and SKUs again and marks months, products and SKUs of those that come out
 * different. Reads all lines of the shop.
 */
export const resolveLinesAgain = command<[shopKey: number], Connection>(
  "resolve_lines_again",
  `with line as materialized (
           select l.order_id, l.line_id, l.line_product_gid as product_gid, l.line_variant_id as variant_id,
                  l.line_sku as sku, l.product_gid as old_product_gid, l.sku as old_sku
             from order_line l
            where l.shop_key = $1
              and (l.line_variant_id in (select variant_id from touched_variant)
                   or l.line_sku in (select sku from touched_sku))
         ), resolved (order_id, line_id, old_product_gid, old_sku, product_gid, sku, used, counterpart_sku,
                       unit_cost_minor) as (
           select l.order_id, l.line_id, l.old_product_gid, l.old_sku, ${RESOLVED} from line l ${VARIANT_OF_LINE}
         ), changed as (
           update order_line o
              set product_gid = r.product_gid, sku = r.sku, used = r.used, counterpart_sku = r.counterpart_sku,
                  unit_cost_minor = r.unit_cost_minor
             from resolved r
            where o.shop_key = $1 and o.order_id = r.order_id and o.line_id = r.line_id
              and (o.product_gid, o.sku, o.used, o.counterpart_sku, o.unit_cost_minor)
                  is distinct from (r.product_gid, r.sku, r.used, r.counterpart_sku, r.unit_cost_minor)
           returning o.cohort_month, r.old_product_gid, r.old_sku, r.product_gid, r.sku
         ), product as (
           insert into touched_product (product_gid)
           select product_gid from (select old_product_gid from changed union select product_gid from changed) p (product_gid)
            where product_gid is not null
           on conflict do nothing
         ), sku as (
           insert into touched_sku (sku)
           select sku from (select old_sku from changed union select sku from changed) s (sku) where sku is not null
           on conflict do nothing
         )
         insert into dirty_cohort (shop_key, cohort_month)
         select distinct $1::bigint, cohort_month from changed on conflict do nothing`,
);
