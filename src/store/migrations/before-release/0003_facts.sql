-- What the sources said: one canonical document per order. Everything below can be rebuilt from these rows.
create table order_document (
  shop_key bigint not null references workspace on delete cascade,
  order_id text collate "C" not null,
  document jsonb not null,
  primary key (shop_key, order_id)
);

create table return_label (
  shop_key bigint not null references workspace on delete cascade,
  source text collate "C" not null,
  label_id text collate "C" not null,
  order_id text collate "C",
  return_id text collate "C",
  tracking_number text,
  charged_at timestamptz not null,
  -- Minor units of the label's own currency.
  amount_minor bigint not null,
  currency_code text not null,
  voided_at timestamptz,
  primary key (shop_key, source, label_id)
);
create index return_label_by_order on return_label (shop_key, order_id);
create index return_label_by_return on return_label (shop_key, return_id);

-- One line of an order that sold something or not (M1); dates are UTC days, cohort_month its first day.
create table order_line (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  ordered_on date not null,
  cohort_month date not null,
  sold_units integer not null check (sold_units >= 0),
  -- As the line itself said.
  line_product_gid text collate "C",
  line_variant_id text collate "C",
  line_sku text collate "C",
  -- What the catalogue shows for products and SKUs that no catalogue row describes.
  line_title text,
  line_vendor text,
  -- Resolved with the catalogue: the line's own word, else its variant's.
  product_gid text collate "C",
  sku text collate "C",
  used boolean not null,
  unit_cost_minor bigint,
  primary key (shop_key, order_id, line_id)
);
create index order_line_by_month on order_line (shop_key, cohort_month);
create index order_line_by_sku on order_line (shop_key, sku, cohort_month);
create index order_line_by_product on order_line (shop_key, product_gid, cohort_month);

-- Units and money that came back on one day for one reason (M2, M3, M8, M9).
create table return_event (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  event_number integer not null,
  lag_days integer not null check (lag_days >= 0),
  occurred_on date not null,
  -- null when the row holds no returned units
  reason text collate "C",
  returned_units integer not null,
  refunded_units integer not null,
  restocked_units integer not null,
  refund_minor bigint not null,
  primary key (shop_key, order_id, line_id, event_number)
);

-- The present state of each return request of a line (lifecycle coverage; M10's units).
create table return_request (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  return_id text collate "C" not null,
  status text not null check (status in ('REQUESTED', 'OPEN', 'CLOSED', 'DECLINED', 'CANCELED')),
  units integer not null,
  primary key (shop_key, order_id, line_id, return_id)
);
create index return_request_by_return on return_request (shop_key, return_id);

-- One line's part of one label (M10).
create table label_share (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  source text collate "C" not null,
  label_id text collate "C" not null,
  lag_days integer not null check (lag_days >= 0),
  label_minor bigint not null,
  primary key (shop_key, order_id, line_id, source, label_id)
);
create index label_share_by_label on label_share (shop_key, source, label_id);

-- Cohort months whose facts changed since their cohort rows were made.
create table dirty_cohort (
  shop_key bigint not null references workspace on delete cascade,
  cohort_month date not null,
  primary key (shop_key, cohort_month)
);
