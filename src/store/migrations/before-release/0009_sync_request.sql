-- Runs that somebody asked for and that have not succeeded yet: what a worker has to do. A request stays until its run
-- has ended, so that nothing is lost with a worker; being asked again meanwhile only raises `asked`.
create table sync_request (
  shop_key bigint not null references workspace on delete cascade,
  source text collate "C" not null,
  kind text not null check (kind in ('backfill', 'incremental', 'open_returns', 'refresh')),
  requested_by text not null check (requested_by in ('connect', 'schedule', 'webhook', 'operator')),
  requested_at timestamptz not null default clock_timestamp(),
  -- How often it was asked for: a run that has ended answers only what was asked before it began.
  asked bigint not null default 1,
  -- Of the next run: one more for each that was cut off or failed.
  attempt integer not null default 1,
  -- Failed runs in a row: each doubles the wait for the next one.
  failures integer not null default 0,
  run_after timestamptz not null default clock_timestamp(),
  primary key (shop_key, source, kind)
);
create index sync_request_by_time on sync_request (run_after);

create index sync_run_running on sync_run (shop_key, source) where status = 'running';
