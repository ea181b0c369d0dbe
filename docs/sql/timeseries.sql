-- GET /api/v1/timeseries: a row for each month that counts (M5), zeros included. Intervals and outlooks are left out.
select m.cohort_month,
       coalesce(sum(f.sold_units), 0) as sold_units,
       coalesce(sum(f.returned_units), 0) as returned_units,
       rate(coalesce(sum(f.returned_units), 0), coalesce(sum(f.sold_units), 0)) as return_rate
  from counted_months m
  left join line_figures(getvariable('window_days')) f on f.cohort_month = m.cohort_month
 group by m.cohort_month
 order by m.cohort_month;
