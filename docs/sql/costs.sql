-- costs of GET /api/v1/report: M9, M10, M11, M13. Labels that match no order are in no table, and left out here.
select coalesce(sum(f.refund_amount), 0) as refunded_amount,
       coalesce(sum(f.label_cost), 0) as return_label_cost,
       coalesce(sum(f.refund_amount + f.label_cost), 0) as returns_cost,
       case when count(f.unit_cost) > 0
            then sum(f.refund_amount + f.label_cost) - coalesce(sum(f.restocked_units * f.unit_cost), 0)
       end as estimated_margin_impact,
       case when coalesce(sum(f.returned_units), 0) = 0 then 0
            else rounded_quotient(100 * coalesce(sum(f.returned_units) filter (f.unit_cost is not null), 0), sum(f.returned_units))
       end as cogs_coverage
  from line_figures(getvariable('window_days')) f
  join counted_months m on m.cohort_month = f.cohort_month;
