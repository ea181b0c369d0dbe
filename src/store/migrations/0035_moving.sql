-- Works with 0015_upgrades.

-- The installation that the workspace moves to, as host:port/database; null = it stays. Nothing of it is served or changed here.
alter table workspace add column moving_to text;
-- Since when it is served there; null = it is not.
alter table workspace add column moved_at timestamptz;

-- Admission reads such a workspace as not ready, in the look-up that it makes anyway: the function as it is, but for that.
do $$
declare
  before text := pg_get_functiondef((select p.oid from pg_proc p where p.proname = 'admit_callers'
                                        and p.pronamespace = 'public'::regnamespace));
  since text := replace(before, 'case when w.erase_after is null then w.readiness else ''erasing'' end',
                        'case when w.moving_to is not null then ''moving'' when w.erase_after is null then w.readiness else ''erasing'' end');
begin
  if since = before then raise exception 'admit_callers does not read the readiness of a workspace as expected'; end if;
  execute since;
end $$;
