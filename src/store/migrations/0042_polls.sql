-- Works with 0034_admission.

-- A shop itself is in the queue, too: a worker evaluates its alerts and does its upkeep.
alter table run_queue drop constraint run_queue_kind_check;
alter table run_queue add constraint run_queue_kind_check check (kind in ('store', 'label_cost', 'upload', 'push', 'shop'));

-- When the clock has the worker read what is new, and orders with open returns again; null = at the next look.
alter table data_source add column poll_at timestamptz;
alter table data_source add column reread_at timestamptz;
