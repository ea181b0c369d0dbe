-- What upkeep looks for each hour, over all workspaces.
create index sync_run_by_kind on sync_run (kind, started_at);
create index webhook_delivery_by_time on webhook_delivery (received_at);
