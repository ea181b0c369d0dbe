-- What a member alone is told, newest first; the feed of everybody has alert_feed.
create index alert_own on alert (shop_key, recipient, created_at desc, alert_id desc) where recipient is not null;

-- When the person last looked at a page of a workspace, to five minutes; null = never: who was invited has not come yet.
alter table console_user add column last_seen_at timestamptz;
update console_user u
   set last_seen_at = coalesce(
         (select max(s.last_seen_at) from console_session s where s.user_id = u.user_id),
         case when u.last_shop_key is not null then u.created_at end);
