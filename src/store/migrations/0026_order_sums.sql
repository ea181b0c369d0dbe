-- Works with 0015_upgrades.

-- The squares of what each order has of the entity, added up: by which its orders are known to be large (M6). A month that
-- an earlier version rolls up has none until the next run. Double precision: squares of units exceed bigint.
alter table cohort add column squared_sold_units double precision;
alter table group_day add column squared_sold_units double precision;
alter table group_day add column orders bigint;

-- Further sums over the orders of a month, by which units of one order are known to come back together (M6). Of the
-- workspace and of analytics categories, whose part of an order is an order of theirs; null for other kinds.
alter table cohort add column orders bigint;
-- Days after the order on which units came back, ascending; an element at the same place is a sum up to that day.
alter table cohort add column order_lag_days integer[];
alter table cohort add column returned_orders bigint[];
alter table cohort add column sold_returned_units double precision[];
alter table cohort add column squared_returned_units double precision[];

create index product_by_family on product (shop_key, family);

insert into dirty_cohort (shop_key, cohort_month)
select c.shop_key, c.cohort_month from cohort c where c.entity_kind = 'workspace'
on conflict do nothing;
