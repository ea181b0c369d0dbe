-- Works with 0034_admission.
-- Outside of transactions.

-- The newest of all workspaces, for the operator's lists.
create index concurrently sync_run_by_time on sync_run (started_at, run_id);
create index concurrently audit_event_by_time on audit_event (happened_at, audit_id);
-- Without it a page of one workspace's events would read the index of all.
create index concurrently audit_event_of_shop on audit_event (shop_key, happened_at, audit_id);
create index concurrently workspace_by_domain on workspace (shop_domain);

-- What metrics and doctor count over all workspaces.
create index concurrently sync_run_troubled on sync_run (started_at) where status in ('failed', 'interrupted');
create index concurrently sync_run_unbalanced on sync_run (started_at) where counts ? 'unbalanced_lines';
