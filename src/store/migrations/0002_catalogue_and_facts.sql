-- Similarity in the search of entities.
create extension if not exists pg_trgm;
-- shop_key beside the trigrams: a search reads the rows of its own shop, however many other workspaces hold.
create extension if not exists btree_gin;

-- A product as the source states it; from_lines marks one known only from order lines.
create table product (
  shop_key bigint not null references workspace on delete cascade,
  product_gid text collate "C" not null,
  title text not null,
  handle text,
  vendor text collate "C",
  family text collate "C",
  analytics_category text collate "C",
  image_url text,
  image_alt text,
  from_lines boolean not null default false,
  primary key (shop_key, product_gid)
);
create index product_by_vendor on product (shop_key, vendor);

-- A variant as the source states it.
create table variant (
  shop_key bigint not null references workspace on delete cascade,
  variant_id text collate "C" not null,
  product_gid text collate "C" not null,
  sku text collate "C",
  title text,
  used boolean not null default false,
  -- Of a used variant: the SKU in new condition (M14).
  counterpart_sku text collate "C",
  unit_cost_minor bigint,
  primary key (shop_key, variant_id)
);
create index variant_by_sku on variant (shop_key, sku);
create index variant_by_product on variant (shop_key, product_gid);
create index variant_by_counterpart on variant (shop_key, counterpart_sku) where counterpart_sku is not null;

-- One row for every SKU a variant or an order line ever named: a projection of variant, product and order lines.
create table sku (
  shop_key bigint not null references workspace on delete cascade,
  sku text collate "C" not null,
  product_gid text collate "C",
  product_title text,
  vendor text collate "C",
  used boolean not null default false,
  unit_cost_minor bigint,
  from_lines boolean not null default false,
  primary key (shop_key, sku)
);
create index sku_by_product on sku (shop_key, product_gid);

-- The rows of /entities in their order: a projection of sku and product.
create table entity (
  shop_key bigint not null references workspace on delete cascade,
  -- 1 sku, 2 product, 3 product group
  type_rank smallint not null,
  label text collate "C" not null,
  entity_key text collate "C" not null,
  -- '' for SKUs and products; tells a family from a category of the same name
  product_group_type text collate "C" not null default '',
  subtitle text,
  product_gid text,
  sku text,
  product_title text,
  vendor text collate "C",
  -- Label, SKU, product title and vendor, case- and accent-folded (lib/fold.ts), separated by newlines.
  search_text text not null,
  primary key (shop_key, type_rank, label, entity_key, product_group_type)
);
-- The search of entities. New rows wait in the index's pending list: entering each one's forty trigrams at once takes an
-- import ten times as long, and reading the list costs a search some milliseconds.
create index entity_by_search on entity using gin (shop_key, search_text gin_trgm_ops);

-- One order as its sources state it, in the canonical form. The tables of facts below are projections of these documents
-- and of return_label.
create table order_document (
  shop_key bigint not null references workspace on delete cascade,
  order_id text collate "C" not null,
  document jsonb not null,
  primary key (shop_key, order_id)
);

-- An order whose customer asked to be forgotten: its name and tracking numbers are not stored again.
create table redacted_order (
  shop_key bigint not null references workspace on delete cascade,
  order_id text collate "C" not null,
  primary key (shop_key, order_id)
);

-- A sale that the shop announced (M15).
create table sale_event (
  shop_key bigint not null references workspace on delete cascade,
  slug text collate "C" not null,
  label text not null,
  starts_on date not null,
  ends_on date not null check (ends_on >= starts_on),
  -- null = the whole workspace
  skus text[] check (cardinality(skus) > 0),
  primary key (shop_key, slug)
);

-- One return label of a label source (M10).
create table return_label (
  shop_key bigint not null references workspace on delete cascade,
  source text collate "C" not null,
  label_id text collate "C" not null,
  -- What the source states.
  source_order_id text collate "C",
  source_return_id text collate "C",
  source_order_name text collate "C",
  tracking_number text,
  -- The order and the return that the label was matched to; null = none.
  order_id text collate "C",
  return_id text collate "C",
  charged_at timestamptz not null,
  -- Minor units of the label's own currency.
  amount_minor bigint not null,
  currency_code text not null,
  voided_at timestamptz,
  primary key (shop_key, source, label_id)
);
create index return_label_by_order on return_label (shop_key, order_id);
create index return_label_by_return on return_label (shop_key, return_id);
create index return_label_by_tracking on return_label (shop_key, tracking_number) where tracking_number is not null;
create index return_label_by_order_name on return_label (shop_key, source_order_name) where source_order_name is not null;

-- What label sources call an order: its name.
create table order_reference (
  shop_key bigint not null,
  order_id text collate "C" not null,
  order_name text collate "C" not null,
  primary key (shop_key, order_id)
);
create index order_reference_by_name on order_reference (shop_key, order_name);

-- What label sources call a return: a tracking number.
create table return_tracking (
  shop_key bigint not null,
  order_id text collate "C" not null,
  return_id text collate "C" not null,
  tracking_number text collate "C" not null,
  primary key (shop_key, order_id, return_id, tracking_number)
);
create index return_tracking_by_number on return_tracking (shop_key, tracking_number);

-- One line of an order, whether it sold something or not (M1). Days are UTC; cohort_month is the first day of its month.
create table order_line (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  ordered_on date not null,
  cohort_month date not null,
  sold_units integer not null check (sold_units >= 0),
  -- What the line itself states.
  line_product_gid text collate "C",
  line_variant_id text collate "C",
  line_sku text collate "C",
  -- What the catalogue shows for products and SKUs that no catalogue row describes.
  line_title text,
  line_vendor text,
  -- What the line states, else its variant.
  product_gid text collate "C",
  sku text collate "C",
  used boolean not null,
  -- Of a used line: the counterpart in new condition that its variant names (M14).
  counterpart_sku text collate "C",
  unit_cost_minor bigint,
  primary key (shop_key, order_id, line_id)
);
create index order_line_by_month on order_line (shop_key, cohort_month);
create index order_line_by_sku on order_line (shop_key, sku, cohort_month);
create index order_line_by_product on order_line (shop_key, product_gid, cohort_month);
create index order_line_by_counterpart on order_line (shop_key, counterpart_sku, cohort_month)
  where counterpart_sku is not null;

-- Units and money of a line that came back on one day for one reason (M2, M3, M8, M9). cohort_month is the line's, in this
-- table and the next two: a month's facts are found in each table by themselves.
create table return_event (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  event_number integer not null,
  cohort_month date not null,
  lag_days integer not null check (lag_days >= 0),
  occurred_on date not null,
  -- An absent reason is a key that begins with a blank (src/metrics/returned-units.ts): no stated one does. null when the
  -- row holds no returned units.
  reason text collate "C",
  returned_units integer not null,
  refunded_units integer not null,
  restocked_units integer not null,
  refund_minor bigint not null,
  primary key (shop_key, order_id, line_id, event_number)
);
create index return_event_by_month on return_event (shop_key, cohort_month);

-- The present state of one return request of a line (lifecycle coverage; M10's units).
create table return_request (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  return_id text collate "C" not null,
  cohort_month date not null,
  status text not null check (status in ('REQUESTED', 'OPEN', 'CLOSED', 'DECLINED', 'CANCELED')),
  units integer not null,
  primary key (shop_key, order_id, line_id, return_id)
);
create index return_request_by_return on return_request (shop_key, return_id);
create index return_request_by_month on return_request (shop_key, cohort_month);

-- The share of one label's cost that one line bears (M10).
create table label_share (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  source text collate "C" not null,
  label_id text collate "C" not null,
  cohort_month date not null,
  lag_days integer not null check (lag_days >= 0),
  label_minor bigint not null,
  primary key (shop_key, order_id, line_id, source, label_id)
);
create index label_share_by_label on label_share (shop_key, source, label_id);
create index label_share_by_month on label_share (shop_key, cohort_month);

-- A label in the shop's currency, not voided, of which no line bears a share (M10).
create table unmatched_label (
  shop_key bigint not null,
  source text collate "C" not null,
  label_id text collate "C" not null,
  charged_on date not null,
  amount_minor bigint not null,
  primary key (shop_key, source, label_id)
);
create index unmatched_label_by_day on unmatched_label (shop_key, charged_on) include (amount_minor);
