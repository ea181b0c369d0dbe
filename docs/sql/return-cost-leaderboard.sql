-- GET /api/v1/leaderboards/return-cost: M13, the whole ranking; the API shows its first `limit` rows. Excess cost is left out. A vendor
-- selects lines here; in the API it filters rows.
select row_number() over (order by f.total_cost_amount desc, f.sku) as rank, f.*
  from (
    select f.sku,
           sum(f.sold_units) as sold_units,
           sum(f.returned_units) as returned_units,
           sum(f.refunded_units) as refunded_units,
           sum(f.refund_amount) as total_refunded_amount,
           sum(f.label_cost) as total_return_label_cost,
           sum(f.refund_amount + f.label_cost) as total_cost_amount,
           case when count(f.unit_cost) > 0
                then sum(f.refund_amount + f.label_cost) - coalesce(sum(f.restocked_units * f.unit_cost), 0)
           end as estimated_margin_impact,
           case when sum(f.returned_units) = 0 then 0
                else rounded_quotient(100 * coalesce(sum(f.returned_units) filter (f.unit_cost is not null), 0), sum(f.returned_units))
           end as cogs_coverage
      from line_figures(getvariable('window_days')) f
      join counted_months m on m.cohort_month = f.cohort_month
     where f.sku is not null
     group by f.sku
  ) f
 where f.total_cost_amount > 0
 order by rank;
