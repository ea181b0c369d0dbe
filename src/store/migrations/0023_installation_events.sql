-- Works with 0015_upgrades.

-- Actions on the installation, such as setting a plan or erasing a workspace, join those of people on their own ways in: on
-- the coordinator of a distributed database, where no lost node stops them. A server of before still writes them with
-- shop_key 0; the operator's audit shows those, too.
insert into identity_event (audit_id, happened_at, actor, action, detail, origin, before)
select a.audit_id, a.happened_at, a.actor, a.action, a.detail, a.origin, a.before
  from audit_event a where a.shop_key = 0;
delete from audit_event where shop_key = 0;
create index identity_event_by_action on identity_event (action);
