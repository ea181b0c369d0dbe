-- Up Migration

-- What a member alone is told, newest first; the feed of everybody has alert_feed.
create index alert_own on alert (shop_key, recipient, created_at desc, alert_id desc) where recipient is not null;
