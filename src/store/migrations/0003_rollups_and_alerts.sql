-- A cohort month whose facts changed since it was last rolled up.
create table dirty_cohort (
  shop_key bigint not null references workspace on delete cascade,
  cohort_month date not null,
  primary key (shop_key, cohort_month)
);

-- A SKU ('' = lines without one) as it is sold under one product, in one condition, as the counterpart of one SKU: the
-- finest entity that is counted. Lines without a product keep the vendor that they name themselves.
create table listing (
  shop_key bigint not null,
  sku text collate "C" not null,
  -- A digest of the columns that follow (queries/listing.ts).
  listing_id uuid not null,
  product_gid text collate "C" not null,
  used boolean not null,
  counterpart_sku text collate "C" not null,
  line_vendor text collate "C" not null,
  primary key (shop_key, sku, listing_id)
);
create index listing_by_product on listing (shop_key, product_gid);
create index listing_by_counterpart on listing (shop_key, counterpart_sku) where counterpart_sku <> '';
create index listing_by_line_vendor on listing (shop_key, line_vendor) where line_vendor <> '';

-- One row per entity and cohort month: what was sold, and its return curve. lag_days are the days after the order on which
-- something came back, ascending; a measure's element at the same place is its sum up to that day (M3, M4). A window
-- of n days is the element at width_bucket(n, lag_days), 0 where there is none. entity_kind is sku (by listing, key ''
-- = lines without one), product (new condition only), product_used, family, analytics_category, vendor or workspace (key '').
-- Rolled up by month in bulk, so it has no foreign key: checking one takes a third of the time of the insert. A month is
-- written in the order of the key, and read by month or by entity through that one index.
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
  -- Returned units of lines that bear a share of a label.
  labeled_returned_units bigint[],
  -- return_units[i] units came back for reason return_reasons[i] after return_lag_days[i] days; each pair once, in order.
  return_reasons text[] collate "C",
  return_lag_days integer[],
  return_units bigint[],
  primary key (shop_key, entity_kind, cohort_month, entity_key, listing_id)
);

-- What ranks a listing, added up over calendar quarters: a leaderboard reads quarters, and months where its range begins
-- or ends inside of one. The curve as in cohort.
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

-- A day on which a family, analytics category, vendor or the workspace sold something, for sale events (M15) and outlooks
-- (M18). The curve as in cohort; a line comes back once, when the first of its units does.
create table group_day (
  shop_key bigint not null,
  entity_kind text collate "C" not null,
  entity_key text collate "C" not null,
  sold_on date not null,
  sold_units bigint not null,
  sold_lines bigint not null,
  lag_days integer[],
  returned_units bigint[],
  returned_lines bigint[],
  primary key (shop_key, sold_on, entity_kind, entity_key)
);

-- An alert of the feed.
create table alert (
  shop_key bigint not null references workspace on delete cascade,
  alert_id text collate "C" not null,
  -- Names the event, the same in every run: an event is never stored twice.
  event_key text collate "C" not null,
  -- null = a broadcast to the whole workspace; the API serves nothing else.
  recipient text,
  category text not null,
  severity text not null check (severity in ('info', 'warning', 'critical')),
  title text not null,
  body text,
  link_url text,
  link_label text,
  metadata jsonb,
  created_at timestamptz not null,
  primary key (shop_key, alert_id),
  unique (shop_key, event_key)
);
create index alert_feed on alert (shop_key, created_at desc, alert_id desc) where recipient is null;

-- An entity that the workspace watches.
create table watchlist_entry (
  shop_key bigint not null references workspace on delete cascade,
  entity_kind text not null check (entity_kind in ('sku', 'product', 'family', 'analytics_category')),
  entity_key text collate "C" not null,
  added_at timestamptz not null default now(),
  primary key (shop_key, entity_kind, entity_key)
);

-- The newest episode of early warnings of an entity (M17): it ends when 45 as-of days pass without one.
create table warning_episode (
  shop_key bigint not null references workspace on delete cascade,
  entity_kind text collate "C" not null,
  entity_key text collate "C" not null,
  started_on date not null,
  latest_on date not null,
  -- false: named as part of another entity's warning, or explained by a narrower one.
  is_announced boolean not null,
  primary key (shop_key, entity_kind, entity_key)
);
