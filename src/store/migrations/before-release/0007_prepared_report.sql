-- Up Migration

alter table cohort
  -- Returned units beyond the refunded ones of their line; refunded_units - returned_units + this is the opposite.
  add column returned_not_refunded_units bigint not null default 0,
  -- Returned units of lines that carry a part of a label inside the window.
  add column labeled_returned_units bigint not null default 0,
  -- Of lifetime rows only: units that came back for reason n after lag n days, each pair once and in order. A shorter
  -- window is the elements inside it.
  add column return_reasons text[] collate "C",
  add column return_lag_days integer[],
  add column return_units bigint[],
  -- Of lifetime rows only: units of return requests by their present state.
  add column request_states text[] collate "C",
  add column request_units bigint[],
  -- Of families, analytics categories and the workspace only: the days that sold something, what they sold, and what of
  -- it was returned inside the window (M15).
  add column sold_days date[],
  add column day_sold_units bigint[],
  add column day_returned_units bigint[];

-- Months are removed and compared through cohort_leaderboard.
drop index cohort_by_month;

-- What ranks a SKU, added up over calendar quarters: a leaderboard reads quarters, and months where its range begins
-- or ends inside of one.
create table sku_quarter (
  shop_key bigint not null,
  observation_window text collate "C" not null,
  quarter date not null,
  sku text collate "C" not null,
  sold_units bigint not null,
  returned_units bigint not null,
  refund_minor bigint not null,
  label_minor bigint not null,
  primary key (shop_key, observation_window, quarter, sku)
);

-- Labels in the shop's currency, not voided, that no line bears a part of (M10).
create table unmatched_label (
  shop_key bigint not null,
  source text collate "C" not null,
  label_id text collate "C" not null,
  charged_on date not null,
  amount_minor bigint not null,
  primary key (shop_key, source, label_id)
);
create index unmatched_label_by_day on unmatched_label (shop_key, charged_on) include (amount_minor);

insert into sku_quarter (shop_key, observation_window, quarter, sku, sold_units, returned_units, refund_minor, label_minor)
select shop_key, observation_window, date_trunc('quarter', cohort_month::timestamp)::date, entity_key,
       sum(sold_units), sum(returned_units), sum(refund_minor), sum(label_minor)
  from cohort where entity_kind = 'sku' group by 1, 2, 3, 4;

insert into unmatched_label (shop_key, source, label_id, charged_on, amount_minor)
select b.shop_key, b.source, b.label_id, (b.charged_at at time zone 'UTC')::date, b.amount_minor
  from return_label b
  join workspace w on w.shop_key = b.shop_key and w.currency_code = b.currency_code
 where b.voided_at is null
   and not exists (
     select from label_share s where s.shop_key = b.shop_key and s.source = b.source and s.label_id = b.label_id);

-- What only the facts tell is made by the next run of a source, or by a rebuild.
insert into dirty_cohort (shop_key, cohort_month)
select shop_key, cohort_month from cohort where entity_kind = 'workspace' and observation_window = 'lifetime'
on conflict do nothing;
