-- Up Migration

-- A rebuild changes numbers of a row and none of its keys. With room left on its page the new version stays there, and
-- neither the two indexes nor a second page are written: half of the log, and a fifth less time for a month of which much
-- has changed. Rows that are there already move with their next changes.
alter table cohort set (fillfactor = 85);
