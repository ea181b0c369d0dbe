-- When the workspace is erased; null = it is not to be. Until then its owner may take that back, and nothing of it is served.
alter table workspace add column erase_after timestamptz;

-- Admission reads such a workspace as not ready, in the look-up that it makes anyway: `admit` as it is, but for that.
do $$
declare
  before text := pg_get_functiondef((select p.oid from pg_proc p where p.proname = 'admit'));
  since text := replace(before, 'w.billing_status, w.readiness,',
                        'w.billing_status, case when w.erase_after is null then w.readiness else ''erasing'' end,');
begin
  if since = before then raise exception 'admit does not read the readiness of a workspace as expected'; end if;
  execute since;
end $$;
