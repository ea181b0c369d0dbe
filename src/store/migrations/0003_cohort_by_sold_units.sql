-- Works with 0001_schema.
-- Outside of transactions.

create index concurrently cohort_by_sold_units on cohort (shop_key, cohort_month, entity_sold_units) where entity_kind = 'sku';
