-- A month is written in the order of the key, and read by month or by entity through one index instead of two.
drop index cohort_leaderboard;
alter table cohort drop constraint cohort_pkey;
alter table cohort add primary key (shop_key, entity_kind, cohort_month, entity_key, listing_id);
drop index group_day_by_day;
alter table group_day drop constraint group_day_pkey;
alter table group_day add primary key (shop_key, sold_on, entity_kind, entity_key);

-- A line keeps the counterpart it was sold with, and a variant its own: nothing reads the SKU's.
drop index sku_by_counterpart;
alter table sku drop column counterpart_sku;
