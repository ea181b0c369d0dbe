-- GET /api/v1/summary: one row. M1, M2, M6; the interval and the outlook are left out.
select coalesce(sum(f.sold_units), 0) as sold_units,
       coalesce(sum(f.returned_units), 0) as returned_units,
       rate(coalesce(sum(f.returned_units), 0), coalesce(sum(f.sold_units), 0)) as return_rate,
       (select count(*) from counted_months) as months_included
  from line_figures(getvariable('window_days')) f
  join counted_months m on m.cohort_month = f.cohort_month;
