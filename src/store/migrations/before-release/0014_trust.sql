-- What a repetition of a delivery has in common with it: the digest of a body that is sent once, else its webhook id.
alter table webhook_delivery add column replay_key text collate "C";
create unique index webhook_delivery_by_replay_key on webhook_delivery (shop_key, source, replay_key);

-- Orders whose customers asked to be forgotten: their names and tracking numbers are not stored again.
create table redacted_order (
  shop_key bigint not null references workspace on delete cascade,
  order_id text collate "C" not null,
  primary key (shop_key, order_id)
);

-- Pages show these addresses: nothing but http leads to an image.
update product set image_url = null where image_url !~* '^https?://[^/[:space:]]';

-- Labels of Loop were known by their tracking numbers, which customers may ask to remove: by a digest from now on. A run
-- that was cut off begins again. A function, since a distributed table takes only immutable ones in an update.
create function tracking_digest(tracking_number text) returns text language sql immutable as $$
  select left(encode(sha256(convert_to(tracking_number, 'UTF8')), 'hex'), 16)
$$;
update label_share h
   set label_id = split_part(l.label_id, ':', 1) || ':' || tracking_digest(l.tracking_number)
  from return_label l
 where l.shop_key = h.shop_key and l.source = h.source and l.label_id = h.label_id and l.source = 'loop'
   and l.label_id = split_part(l.label_id, ':', 1) || ':' || l.tracking_number;
update unmatched_label u
   set label_id = split_part(l.label_id, ':', 1) || ':' || tracking_digest(l.tracking_number)
  from return_label l
 where l.shop_key = u.shop_key and l.source = u.source and l.label_id = u.label_id and l.source = 'loop'
   and l.label_id = split_part(l.label_id, ':', 1) || ':' || l.tracking_number;
update return_label l
   set label_id = split_part(l.label_id, ':', 1) || ':' || tracking_digest(l.tracking_number)
 where l.source = 'loop' and l.label_id = split_part(l.label_id, ':', 1) || ':' || l.tracking_number;
delete from sync_record where source = 'loop';
drop function tracking_digest(text);
