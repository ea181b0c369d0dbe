-- Labels in the shop's currency, not voided, that no line bears a part of (M10).
create table unmatched_label (
  shop_key bigint not null,
  source text collate "C" not null,
  label_id text collate "C" not null,
  charged_on date not null,
  amount_minor bigint not null,
  primary key (shop_key, source, label_id)
);
create index unmatched_label_by_day on unmatched_label (shop_key, charged_on) include (amount_minor);

insert into unmatched_label (shop_key, source, label_id, charged_on, amount_minor)
select b.shop_key, b.source, b.label_id, (b.charged_at at time zone 'UTC')::date, b.amount_minor
  from return_label b
  join workspace w on w.shop_key = b.shop_key and w.currency_code = b.currency_code
 where b.voided_at is null
   and not exists (
     select from label_share s where s.shop_key = b.shop_key and s.source = b.source and s.label_id = b.label_id);
