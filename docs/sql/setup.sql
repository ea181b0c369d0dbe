-- The figures of the API, computed from its tables by DuckDB, as METRICS.md says. Run this file first, in the folder of
-- order_lines.parquet and returns.parquet, then any other of this folder. Units, rates, money, costs, reasons and months equal
-- the API's. Intervals (M6), outlooks (M18) and early warnings (M17) are left out.
--
-- What GET /api/v1/export/tables says in meta:
--   set variable as_of = date '2026-06-30';            the UTC day of data_as_of
--   set variable primary_window_days = 30;
--   set variable min_sold_units = 20;
--   set variable label_costs_included = true;
-- What is asked:
--   set variable start_month = date '2026-01-01';      first days of months, both included
--   set variable end_month = date '2026-06-01';
--   set variable window_days = 30;                     null = lifetime
--   set variable include_incomplete = false;
--   set variable period = 'year';                      of the return-rate leaderboard: month or year
-- The selection; a variable that is null or not set selects nothing:
--   sku, product_gid, family, analytics_category, vendor, include_used_variants

create or replace view order_lines as from 'order_lines.parquet';
create or replace view returns as from 'returns.parquet';

-- Rounding: to the nearest, halves away from zero, from the exact value.
create or replace macro rounded_quotient(dividend, divisor) as (2 * dividend + divisor) // (2 * divisor);

-- M6: to 6 decimals; 0 when nothing was sold.
create or replace macro rate(part, whole) as
  case when whole = 0 then 0 else rounded_quotient(1000000 * part, whole) / 1000000 end;

-- M5: as-of is later than the last day of the month + the days of the window; a lifetime is never left out.
create or replace macro is_complete(month, days) as
  days is null or coalesce(getvariable('as_of') > last_day(month) + days, false);

-- M5: the months of the request, without the incomplete ones; is_complete is null for lifetime.
create or replace view counted_months as
  select m.month::date as cohort_month,
         case when getvariable('window_days') is not null
              then is_complete(m.month::date, getvariable('window_days')) end as is_complete
    from (select unnest(generate_series(getvariable('start_month')::timestamp, getvariable('end_month')::timestamp,
                                        interval 1 month)) as month) m
   where getvariable('include_incomplete') or is_complete(m.month::date, getvariable('window_days'));

-- M14: the lines of the selection that sold something.
create or replace view selected_lines as
  select *
    from order_lines
   where sold_units > 0
     and (getvariable('sku') is null or sku = getvariable('sku')
          or getvariable('include_used_variants') and is_used and counterpart_sku = getvariable('sku'))
     and (getvariable('product_gid') is null
          or product_gid = getvariable('product_gid') and (not is_used or getvariable('include_used_variants')))
     and (getvariable('family') is null or family = getvariable('family'))
     and (getvariable('analytics_category') is null or analytics_category = getvariable('analytics_category'))
     and (getvariable('vendor') is null or vendor = getvariable('vendor'));

-- M4: what a line has inside a window; M10: its labels, where label costs are included.
create or replace macro line_figures(days) as table
  select l.cohort_month, l.sku, l.sold_units, l.unit_cost,
         coalesce(r.returned_units, 0) as returned_units, coalesce(r.refunded_units, 0) as refunded_units,
         coalesce(r.restocked_units, 0) as restocked_units, coalesce(r.refund_amount, 0) as refund_amount,
         case when getvariable('label_costs_included') then coalesce(r.label_cost, 0) else 0 end as label_cost
    from selected_lines l
    left join (
      select order_id, line_id, sum(returned_units) as returned_units, sum(refunded_units) as refunded_units,
             sum(restocked_units) as restocked_units, sum(refund_amount) as refund_amount, sum(label_cost) as label_cost
        from returns
       where days is null or lag_days <= days
       group by order_id, line_id
    ) r on r.order_id = l.order_id and r.line_id = l.line_id;
