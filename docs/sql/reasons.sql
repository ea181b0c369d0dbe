-- return_reasons of GET /api/v1/report: M8. Most units first, then by the reason's text; of equal texts the stated one first.
select r.reason,
       r.reason_kind as kind,
       sum(r.returned_units) as returned_units,
       rate(sum(r.returned_units), sum(sum(r.returned_units)) over ()) as share
  from returns r
  join selected_lines l on l.order_id = r.order_id and l.line_id = r.line_id
  join counted_months m on m.cohort_month = l.cohort_month
 where r.returned_units > 0
   and (getvariable('window_days') is null or r.lag_days <= getvariable('window_days'))
 group by r.reason, r.reason_kind
 order by sum(r.returned_units) desc, r.reason, r.reason_kind <> 'stated';
