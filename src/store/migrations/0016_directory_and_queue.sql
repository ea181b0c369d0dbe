-- Works with 0014_erasure.

-- Which shops are, or were, connected to an account of a source, such as demo.myshopify.com: webhooks name the account.
-- settings of data_source are the truth; upkeep puts back what is missing here.
create table shop_account (
  shop_key bigint not null,
  source text collate "C" not null,
  account text collate "C" not null,
  primary key (shop_key, source)
);
create index shop_account_by_account on shop_account (source, account);
insert into shop_account (shop_key, source, account)
select s.shop_key, s.source, s.settings ->> 'shop' from data_source s
 where s.is_connection and s.settings ->> 'shop' is not null;

-- When a worker looks at a source of a shop next. Whether there is something to do, the shop's own rows say: sync_request,
-- sync_run and import_upload are the truth. It lies where no node's loss stops it.
create table run_queue (
  shop_key bigint not null,
  -- csv = the uploads of the shop; push and its id = an endpoint of alerts
  source text collate "C" not null,
  kind text not null check (kind in ('store', 'label_cost', 'upload', 'push')),
  -- infinity = not before it is asked for
  due_at timestamptz not null,
  -- Tasks of the schedule that the shop was not asked for yet.
  scheduled text[] collate "C" not null default '{}',
  -- How often it was asked for: a look settles only what was asked before it began.
  asked bigint not null default 1,
  primary key (shop_key, source)
);
create index run_queue_by_time on run_queue (due_at);
insert into run_queue (shop_key, source, kind, due_at)
select s.shop_key, s.source, s.kind, now() from data_source s where s.is_connection;
insert into run_queue (shop_key, source, kind, due_at)
select u.shop_key, 'csv', 'upload', '-infinity' from import_upload u where u.status in ('waiting', 'importing')
on conflict (shop_key, source) do nothing;

-- Nothing looks for rows of all shops any more: upkeep goes by shop.
drop index data_source_by_shop;
drop index sync_request_by_time;
drop index sync_run_by_kind;
create index sync_run_by_kind on sync_run (shop_key, kind, started_at);
drop index webhook_delivery_by_time;
create index webhook_delivery_by_time on webhook_delivery (shop_key, received_at);
drop index import_upload_due;
drop index import_upload_by_expiry;
drop index usage_detail_day;
