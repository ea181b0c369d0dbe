-- Up Migration

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
