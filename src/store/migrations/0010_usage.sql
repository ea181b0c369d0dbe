-- What requests of one UTC day asked for and how they ended, counted by each server and written every few seconds. Exact
-- are the totals of daily_usage: a server that is killed loses what it had not written.
create table usage_detail (
  shop_key bigint not null references workspace on delete cascade,
  day date not null,
  token_id text collate "C" not null,
  endpoint text collate "C" not null,
  surface text collate "C" not null check (surface in ('rest', 'mcp')),
  -- ok, or the error's code
  outcome text collate "C" not null,
  requests integer not null check (requests > 0),
  -- Of these, the ones that daily_usage has, too.
  quota_requests integer not null check (quota_requests between 0 and requests),
  primary key (shop_key, day, token_id, endpoint, surface, outcome)
);
-- For clearing old days of all shops.
create index usage_detail_day on usage_detail (day);

-- The token that this one took the place of.
alter table api_token add column replaces text collate "C";
-- The form that asked for it: the same form makes one token, however often it is sent.
alter table api_token add column request_key uuid;
create unique index api_token_request on api_token (shop_key, request_key);
