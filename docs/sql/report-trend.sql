-- trend of GET /api/v1/report: M2, M6, M9, M10, M11. Intervals, outlooks and sold value are left out.
select m.cohort_month,
       coalesce(sum(f.sold_units), 0) as sold_units,
       coalesce(sum(f.returned_units), 0) as returned_units,
       rate(coalesce(sum(f.returned_units), 0), coalesce(sum(f.sold_units), 0)) as return_rate,
       m.is_complete,
       coalesce(sum(f.refunded_units), 0) as refunded_units,
       coalesce(sum(f.refund_amount), 0) as refunded_amount,
       coalesce(sum(f.label_cost), 0) as return_label_cost,
       coalesce(sum(f.refund_amount + f.label_cost), 0) as returns_cost
  from counted_months m
  left join line_figures(getvariable('window_days')) f on f.cohort_month = m.cohort_month
 group by m.cohort_month, m.is_complete
 order by m.cohort_month;
