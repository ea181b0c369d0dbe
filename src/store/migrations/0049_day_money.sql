-- Works with 0015_upgrades.

-- Money by order day, for weeks and days (M26): as in cohort. Null where an earlier version rolled up the day.
alter table group_day add column sold_minor bigint;
alter table group_day add column valued_sold_units bigint;
alter table group_day add column refunded_units bigint[];
alter table group_day add column refund_minor bigint[];
alter table group_day add column label_minor bigint[];

-- Of the workspace's row of a month: its days have these columns. An earlier version leaves it null, so that the next run
-- rolls the month up again.
alter table cohort add column has_day_money boolean;

insert into dirty_cohort (shop_key, cohort_month)
select c.shop_key, c.cohort_month from cohort c where c.entity_kind = 'workspace'
on conflict do nothing;
