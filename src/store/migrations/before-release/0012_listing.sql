-- The SKU that a used line's variant names as its new counterpart (M14); null for lines in new condition.
alter table order_line add column counterpart_sku text collate "C";
create index order_line_by_counterpart on order_line (shop_key, counterpart_sku, cohort_month)
  where counterpart_sku is not null;

update order_line l
   set counterpart_sku = coalesce(
         (select v.counterpart_sku from variant v
           where v.shop_key = l.shop_key and v.variant_id = l.line_variant_id),
         (select s.counterpart_sku from variant s
           where s.shop_key = l.shop_key and s.sku = l.line_sku
             and not exists (select from variant v where v.shop_key = l.shop_key and v.variant_id = l.line_variant_id)
           order by s.used, s.variant_id limit 1))
 where l.used;

-- A SKU ('' = lines without one) as it is sold under one product, in one condition, as the counterpart of one SKU: the
-- finest entity that is counted. Lines without a product keep the vendor that they name themselves.
create table listing (
  shop_key bigint not null,
  sku text collate "C" not null,
  -- Made of the columns that follow (queries/listing.ts).
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

create index variant_by_product on variant (shop_key, product_gid);
create index variant_by_counterpart on variant (shop_key, counterpart_sku) where counterpart_sku is not null;
create index product_by_vendor on product (shop_key, vendor);
