-- Works with 0034_admission.

-- A run that succeeded and changed nothing that is served. The next of its kind takes its place, and it is counted.
alter table sync_run add column is_quiet boolean not null default false;

-- Runs of one day, in UTC, that changed nothing and gave way to later ones of their kind.
create table quiet_runs (
  shop_key bigint not null references workspace on delete cascade,
  source text collate "C" not null,
  kind text collate "C" not null,
  day date not null,
  runs bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (shop_key, source, kind, day)
);
