-- Works with 0034_admission.
-- Outside of transactions.

-- Each kind of work looks up what is due of its own. Workers of the version before use run_queue_by_time.
create index concurrently run_queue_sources on run_queue (due_at) where kind in ('store', 'label_cost', 'upload');
create index concurrently run_queue_pushes on run_queue (due_at) where kind = 'push';
create index concurrently run_queue_shops on run_queue (due_at) where kind = 'shop';

-- Their looks also have their connections polled by the new columns. What an old worker deletes, upkeep adds each hour.
insert into run_queue (shop_key, source, kind, due_at)
values ($1::bigint, 'shop', 'shop', now() + $1::bigint % 900 * interval '1 second') on conflict (shop_key, source) do nothing;
