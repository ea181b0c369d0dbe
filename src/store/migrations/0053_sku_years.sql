-- Works with 0034_admission.

-- What ranks a listing, added up over the twelve months that end with last_month: a leaderboard of years reads these instead
-- of quarters. lag_days as in cohort, but with the days behind the windows that a leaderboard can be asked for alone.
create table sku_year (
  shop_key bigint not null,
  last_month date not null,
  sku text collate "C" not null,
  listing_id uuid not null,
  sold_units bigint not null,
  sold_minor bigint not null,
  valued_sold_units bigint not null,
  lag_days integer[] not null,
  returned_units bigint[] not null,
  refund_minor bigint[] not null,
  label_minor bigint[] not null,
  primary key (shop_key, last_month, sku, listing_id)
);

-- Of the workspace's row of a month: how many months of the shop the year of sku_year adds up that holds it. An earlier version
-- leaves it null, and removes months without changing the others: leaderboards do not read such a year.
alter table cohort add column year_months integer;
