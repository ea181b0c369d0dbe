-- Works with 0015_upgrades.

-- A variant's own picture, and that of the variant which a SKU stands for; null = the product's.
alter table variant add column image_url text;
alter table sku add column image_url text;
