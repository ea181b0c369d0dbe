-- Works with 0014_erasure.

-- The last migration that a version must know at least to work with this one; null = none of before does.
alter table schema_migration add column works_with text;

-- One row, which a distributed database keeps on its coordinator: what a statement over it calls is called there. So locks
-- and shop keys come from one place, whichever node a server is connected to.
create table coordinator (
  is_only_row boolean primary key default true check (is_only_row)
);
insert into coordinator default values;

-- What a person did to their own ways in, such as signing in; other actions are in audit_event. On the coordinator of a
-- distributed database, so that no lost node keeps people of other nodes from signing in.
create table identity_event (
  audit_id uuid primary key default gen_random_uuid(),
  happened_at timestamptz not null default now(),
  actor text not null,
  action text not null,
  detail jsonb not null,
  origin text,
  before jsonb
);
create index identity_event_time on identity_event (happened_at);
