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

-- The as-of day and data version that early warnings were last looked for at.
alter table workspace add column warned_on date;
alter table workspace add column warned_version bigint;

-- Order lines beside units, for outlooks (M18): a line comes back once, when the first of its units does.
delete from group_day;
alter table group_day add column sold_lines bigint not null;
alter table group_day add column returned_lines bigint[];
insert into dirty_cohort (shop_key, cohort_month)
select shop_key, cohort_month from cohort where entity_kind = 'workspace'
on conflict do nothing;
