-- Works with 0001_schema.

-- The sold units of the month of all listings of the entity, by which a month's leaderboard finds the SKUs that sell enough to
-- rank. Rows of earlier versions keep the default, which no threshold exceeds.
alter table cohort add column entity_sold_units bigint not null default 9007199254740991;
