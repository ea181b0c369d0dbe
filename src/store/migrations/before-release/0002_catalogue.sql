-- Similarity in the search of entities.
create extension if not exists pg_trgm;

-- What the source says a product is; from_lines marks one known only from order lines.
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

create table variant (
  shop_key bigint not null references workspace on delete cascade,
  variant_id text collate "C" not null,
  product_gid text collate "C" not null,
  sku text collate "C",
  title text,
  used boolean not null default false,
  counterpart_sku text collate "C",
  unit_cost_minor bigint,
  primary key (shop_key, variant_id)
);
create index variant_by_sku on variant (shop_key, sku);

-- One row for every SKU a variant or an order line ever named: a projection of variant, product and order lines.
create table sku (
  shop_key bigint not null references workspace on delete cascade,
  sku text collate "C" not null,
  product_gid text collate "C",
  product_title text,
  vendor text collate "C",
  used boolean not null default false,
  counterpart_sku text collate "C",
  unit_cost_minor bigint,
  from_lines boolean not null default false,
  primary key (shop_key, sku)
);
create index sku_by_product on sku (shop_key, product_gid);
create index sku_by_counterpart on sku (shop_key, counterpart_sku) where counterpart_sku is not null;

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
