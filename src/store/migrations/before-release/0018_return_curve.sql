-- The month of the line that a fact hangs on: a month's facts are found in each table by themselves.
alter table return_event add column cohort_month date;
update return_event e set cohort_month = l.cohort_month
  from order_line l where l.shop_key = e.shop_key and l.order_id = e.order_id and l.line_id = e.line_id;
alter table return_event alter column cohort_month set not null;
create index return_event_by_month on return_event (shop_key, cohort_month);

alter table label_share add column cohort_month date;
update label_share s set cohort_month = l.cohort_month
  from order_line l where l.shop_key = s.shop_key and l.order_id = s.order_id and l.line_id = s.line_id;
alter table label_share alter column cohort_month set not null;
create index label_share_by_month on label_share (shop_key, cohort_month);

alter table return_request add column cohort_month date;
update return_request r set cohort_month = l.cohort_month
  from order_line l where l.shop_key = r.shop_key and l.order_id = r.order_id and l.line_id = r.line_id;
alter table return_request alter column cohort_month set not null;
create index return_request_by_month on return_request (shop_key, cohort_month);

insert into dirty_cohort (shop_key, cohort_month)
select distinct shop_key, cohort_month from order_line
on conflict do nothing;

-- One row per entity and cohort month: what was sold, and its return curve. lag_days are the days after the order on which
-- something came back, ascending; a measure's element at the same place is its sum up to that day (M3, M4). A window
-- of n days is the element at width_bucket(n, lag_days), 0 where there is none. entity_kind is sku (by listing, key ''
-- = lines without one), product (new condition only), product_used, family, analytics_category, vendor or workspace (key '').
-- Rolled up by month in bulk, so it has no foreign key: checking one takes a third of the time of the insert.
drop table if exists cohort;
create table cohort (
  shop_key bigint not null,
  entity_kind text collate "C" not null,
  entity_key text collate "C" not null,
  cohort_month date not null,
  -- Zeros for all kinds but sku.
  listing_id uuid not null,
  sold_units bigint not null,
  -- Sold units whose unit cost is known (M13).
  costed_sold_units bigint not null,
  -- Units of return requests by their present state, whatever the window.
  requested_units bigint not null,
  open_units bigint not null,
  closed_units bigint not null,
  declined_units bigint not null,
  canceled_units bigint not null,
  lag_days integer[],
  returned_units bigint[],
  refunded_units bigint[],
  restocked_units bigint[],
  -- Unit cost of the restocked units whose cost is known (M13).
  restocked_cost_minor bigint[],
  costed_returned_units bigint[],
  refund_minor bigint[],
  label_minor bigint[],
  -- Returned units beyond the refunded ones of their line; refunded_units - returned_units + this is the opposite.
  returned_not_refunded_units bigint[],
  -- Returned units of lines that carry a part of a label.
  labeled_returned_units bigint[],
  -- return_units[i] units came back for reason return_reasons[i] after return_lag_days[i] days; each pair once, in order.
  return_reasons text[] collate "C",
  return_lag_days integer[],
  return_units bigint[],
  primary key (shop_key, entity_kind, entity_key, cohort_month, listing_id)
);
create index cohort_leaderboard on cohort (shop_key, entity_kind, cohort_month);

-- What ranks a listing, added up over calendar quarters: a leaderboard reads quarters, and months where its range begins
-- or ends inside of one. The curve as in cohort.
drop table if exists sku_quarter;
create table sku_quarter (
  shop_key bigint not null,
  quarter date not null,
  sku text collate "C" not null,
  listing_id uuid not null,
  sold_units bigint not null,
  lag_days integer[],
  returned_units bigint[],
  refund_minor bigint[],
  label_minor bigint[],
  primary key (shop_key, quarter, sku, listing_id)
);

-- The days of families, analytics categories, vendors and the workspace that sold something, for sale events (M15). The
-- curve as in cohort.
create table group_day (
  shop_key bigint not null,
  entity_kind text collate "C" not null,
  entity_key text collate "C" not null,
  sold_on date not null,
  sold_units bigint not null,
  lag_days integer[],
  returned_units bigint[],
  primary key (shop_key, entity_kind, entity_key, sold_on)
);
create index group_day_by_day on group_day (shop_key, sold_on);
