-- The Shopify tables of Fivetran as files of the import format (docs/import-format.md). Runs on DuckDB and PostgreSQL as it is; on
-- BigQuery, write `order` in backticks. Then write each view to a file of its name and run ./returns import:
--   DuckDB:      copy (select * from import_order_lines) to 'order_lines.parquet' (format parquet);
--   PostgreSQL:  \copy (select * from import_order_lines) to 'order_lines.csv' with (format csv, header)
--   BigQuery:    export data options (uri = 'gs://…/order_lines-*.parquet', format = 'PARQUET') as select * from import_order_lines;
--                with several files, join them: the import takes one a table
-- Returns that were not refunded yet are not in these tables. They come with ./returns connect shopify.

-- M20: the value of a line after all discounts, without tax. Each unit that was ordered is in it: refunds of the type CANCEL take
-- theirs away. M1: a tip, which is the line of its value without product, SKU and shipping, sells as little as a gift card.
create or replace view import_order_lines as
select cast(l.order_id as bigint) as order_id,
       cast(l.id as bigint) as line_id,
       coalesce(o.processed_at, o.created_at) as ordered_at,
       cast(l.product_id as bigint) as product_id,
       cast(l.variant_id as bigint) as variant_id,
       l.sku, l.title, l.vendor,
       cast(l.quantity as bigint) as units,
       cast(l.price as decimal(18, 4)) * cast(l.quantity as bigint)
         - coalesce((select sum(cast(d.amount as decimal(18, 4))) from discount_allocation d where d.order_line_id = l.id), 0)
         - case when o.taxes_included
                then coalesce((select sum(cast(t.price as decimal(18, 4))) from tax_line t where t.order_line_id = l.id), 0)
                else 0 end as sold_amount,
       o.test, o.cancelled_at as canceled_at,
       coalesce(l.gift_card, false)
         or (l.product_id is null and coalesce(l.sku, '') = '' and not coalesce(l.requires_shipping, false) and o.total_tip_received > 0
             and cast(l.price as decimal(18, 4)) * cast(l.quantity as bigint) = cast(o.total_tip_received as decimal(18, 4))) as gift_card,
       coalesce(o._fivetran_deleted, false) as deleted
  from order_line l
  join "order" o on o.id = l.order_id;

-- A refund may have two rows of one line, so that the row's own id is the key. Money is without tax (M9).
create or replace view import_refunds as
select cast(lr.id as bigint) as refund_id,
       cast(l.order_id as bigint) as order_id,
       cast(lr.order_line_id as bigint) as line_id,
       coalesce(r.processed_at, r.created_at) as refunded_at,
       cast(lr.quantity as bigint) as units,
       cast(lr.subtotal as decimal(18, 4))
         - case when o.taxes_included then coalesce(cast(lr.total_tax as decimal(18, 4)), 0) else 0 end as subtotal,
       upper(lr.restock_type) as restock_type
  from order_line_refund lr
  join refund r on r.id = lr.refund_id
  join order_line l on l.id = lr.order_line_id
  join "order" o on o.id = l.order_id
 where not coalesce(o._fivetran_deleted, false);
