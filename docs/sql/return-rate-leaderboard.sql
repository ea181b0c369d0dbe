-- GET /api/v1/leaderboards/return-rate: M12, the whole ranking; the API shows its first `limit` rows. Months are the newest that
-- is complete for the primary window, or the twelve that end with it. Intervals and excess cost are left out. A vendor selects lines
-- here; in the API it filters rows.
with ranked_months as (
  select date_trunc('month', getvariable('as_of') - getvariable('primary_window_days')) - interval 1 month as last_month
)
select row_number() over ranking as rank, f.sku, f.sold_units, f.returned_units, rate(f.returned_units, f.sold_units) as return_rate
  from (
    select f.sku, sum(f.sold_units) as sold_units, sum(f.returned_units) as returned_units
      from line_figures(getvariable('primary_window_days')) f, ranked_months m
     where f.sku is not null and f.cohort_month <= m.last_month
       and f.cohort_month > m.last_month - (case getvariable('period') when 'month' then interval 1 month else interval 12 months end)
     group by f.sku
  ) f
 where f.sold_units >= getvariable('min_sold_units')
window ranking as (order by f.returned_units / f.sold_units desc, f.returned_units desc, f.sold_units desc, f.sku)
 order by rank;
