-- Works with 0015_upgrades.

-- How the returned units of an event ended (M23): those exchanged, those neither exchanged nor refunded; the others are
-- refunded. Of its refunded money that of exchanges, and the value that exchanges kept.
alter table return_event add column exchanged_units integer not null default 0;
alter table return_event add column other_units integer not null default 0;
alter table return_event add column exchange_refund_minor bigint not null default 0;
alter table return_event add column kept_minor bigint not null default 0;
create index return_event_by_day on return_event (shop_key, occurred_on);

-- Units of a line that its source books as taken back on a day, beyond those returned on it, by why (M24); below 0 = that
-- are missing. A day on which both are the same has no row. `line_id` is the document's.
create table booking_difference (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  booked_on date not null,
  step text collate "C" not null,
  units integer not null,
  primary key (shop_key, order_id, line_id, booked_on, step)
);
create index booking_difference_by_day on booking_difference (shop_key, booked_on);

-- A refund of an amount that names no line, of an order that counts (M23).
create table amount_refund (
  shop_key bigint not null,
  order_id text collate "C" not null,
  refund_id text collate "C" not null,
  refunded_on date not null,
  amount_minor bigint not null,
  primary key (shop_key, order_id, refund_id)
);
create index amount_refund_by_day on amount_refund (shop_key, refunded_on) include (amount_minor);

-- Whether the facts are of a version that did not write all of these: they are projected from the documents again.
alter table workspace add column needs_projection boolean not null default false;
update workspace set needs_projection = true;
