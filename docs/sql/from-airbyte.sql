-- The Shopify streams of Airbyte, orders and order_refunds, as files of the import format (docs/import-format.md). Runs on DuckDB. Then
-- write each view to a file of its name, as from-fivetran.sql says, and run ./returns import.
--   PostgreSQL:  instead of the macro, create function json_items(jsonb) returns setof jsonb language sql
--                as 'select jsonb_array_elements($1)';
--   BigQuery:    instead of json_items(x), from … cross join unnest(json_query_array(x)); instead of x ->> 'y', json_value(x, '$.y')
-- Returns that were not refunded yet are not in these streams. They come with ./returns connect shopify. The row of an order that was
-- deleted has no lines any more: an order that was imported before stays.

create or replace macro json_items(list) as unnest(cast(list as json[]));

-- M20: the value of a line after all discounts, without tax. Each unit that was ordered is in it: refunds of the type CANCEL take
-- theirs away. M1: a tip, which is the line of its value without product, SKU and shipping, sells as little as a gift card.
create or replace view import_order_lines as
with line as (
  select id as order_id, coalesce(processed_at, created_at) as ordered_at, test, cancelled_at, taxes_included, total_tip_received,
         json_items(line_items) as item
    from orders
), discount as (
  select line_id, sum(cast(part ->> 'amount' as decimal(18, 4))) as amount
    from (select item ->> 'id' as line_id, json_items(item -> 'discount_allocations') as part from line) parts
   group by line_id
), tax as (
  select line_id, sum(cast(part ->> 'price' as decimal(18, 4))) as amount
    from (select item ->> 'id' as line_id, json_items(item -> 'tax_lines') as part from line) parts
   group by line_id
)
select line.order_id,
       item ->> 'id' as line_id,
       line.ordered_at,
       item ->> 'product_id' as product_id,
       item ->> 'variant_id' as variant_id,
       item ->> 'sku' as sku, item ->> 'title' as title, item ->> 'vendor' as vendor,
       cast(item ->> 'quantity' as bigint) as units,
       cast(item ->> 'price' as decimal(18, 4)) * cast(item ->> 'quantity' as bigint)
         - coalesce(discount.amount, 0)
         - case when line.taxes_included then coalesce(tax.amount, 0) else 0 end as sold_amount,
       line.test, line.cancelled_at as canceled_at,
       coalesce(cast(item ->> 'gift_card' as boolean), false)
         or ((item ->> 'product_id') is null and coalesce(item ->> 'sku', '') = ''
             and not coalesce(cast(item ->> 'requires_shipping' as boolean), false) and line.total_tip_received > 0
             and cast(item ->> 'price' as decimal(18, 4)) * cast(item ->> 'quantity' as bigint)
                 = cast(line.total_tip_received as decimal(18, 4))) as gift_card
  from line
  left join discount on discount.line_id = (item ->> 'id')
  left join tax on tax.line_id = (item ->> 'id');

-- A refund may have two rows of one line, so that the row's own id is the key. Money is without tax (M9).
create or replace view import_refunds as
select item ->> 'id' as refund_id,
       refund.order_id,
       item ->> 'line_item_id' as line_id,
       refund.refunded_at,
       cast(item ->> 'quantity' as bigint) as units,
       cast(item ->> 'subtotal' as decimal(18, 4))
         - case when refund.taxes_included then coalesce(cast(item ->> 'total_tax' as decimal(18, 4)), 0) else 0 end as subtotal,
       upper(item ->> 'restock_type') as restock_type
  from (select r.order_id, coalesce(cast(r.processed_at as timestamptz), r.created_at) as refunded_at, o.taxes_included,
               json_items(r.refund_line_items) as item
          from order_refunds r
          join orders o on o.id = r.order_id
         where o.line_items is not null) refund;
