-- Works with 0015_upgrades.

-- A connection keeps the plan of each statement, on a distributed database for each shard. A plan that was made while the
-- table was small would read all of it for every caller: each look-up is by a primary key.
alter function admit_callers set enable_seqscan = off;
