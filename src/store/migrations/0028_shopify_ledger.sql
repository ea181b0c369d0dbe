-- Works with 0015_upgrades.

-- Orders that an earlier version fetched and has not applied lack their sales ledger: they are fetched again.
insert into pending_record (shop_key, source, kind, record_id)
select o.shop_key, o.source, 'order', o.record_id
  from (select distinct r.shop_key, r.source, r.record_id from sync_record r
         where r.source = 'shopify' and r.part = 'whole_order' and r.record <> 'null') o
    on conflict do nothing;
delete from sync_record where source = 'shopify' and part = 'whole_order' and record <> 'null';
