-- What the clock starts. A task is due at first_at and each period after it. done_until is the last time it was due
-- that a worker has taken care of; of several that were missed, the task makes up for the last one only.
create table schedule (
  task text collate "C" primary key,
  first_at timestamptz not null,
  period interval not null,
  done_until timestamptz not null default now()
);
insert into schedule (task, first_at, period) values
  ('stores', '2000-01-01 00:00Z', '15 minutes'),
  ('labels', '2000-01-01 00:10Z', '1 hour'),
  ('alerts', '2000-01-01 00:40Z', '1 hour'),
  ('upkeep', '2000-01-01 00:50Z', '1 hour'),
  ('open_returns', '2000-01-01 03:20Z', '1 day');

-- The queue of earlier versions; its jobs only named requests that are rows here. It stays where another application
-- has queues in it too, or where it belongs to another role.
do $$
declare
  is_ours boolean := false;
begin
  if to_regclass('pgboss.queue') is not null then
    execute $query$
      select bool_and(name in ('sync-run', 'sync-task') or name like '\_\_pgboss\_\_%') from pgboss.queue
    $query$ into is_ours;
  end if;
  if is_ours then
    drop schema pgboss cascade;
  end if;
exception when insufficient_privilege then
  raise notice 'The schema pgboss is not used any more: its owner can drop it.';
end
$$;
