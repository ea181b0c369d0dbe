-- Up Migration

-- The whole order of checks (docs/api.md, "Order of checks") for requests of one shop that arrived together; a single
-- request is a batch of one. Requests with the same token and needs are one asker: the first check that fails is its
-- verdict. What passed every check before the quota is counted in one row update, whose row lock makes the count
-- exact: `granted_requests` of them pass, the first to arrive. A function of shop_key first, so that a distributed
-- database runs it whole on the shop's node.
create function admit_many(
  p_shop_key bigint,
  p_token_ids text[],
  p_secret_hashes bytea[],
  p_scopes text[],          -- null: none needed
  p_entitlements text[],    -- of one asker, separated by commas
  p_counted boolean[],      -- false: messages that are no requests of the daily quota
  p_requests integer[],     -- how many requests each asker makes
  p_now timestamptz         -- null: the database's clock, the one clock of all servers
) returns table (
  verdicts text[],
  missing text[],
  organization_id text,
  shop_id text,
  shop_domain text,
  currency_code text,
  entitlements text[],
  daily_quota integer,
  used_requests integer,    -- of the day, before these
  granted_requests integer, -- 0 when nothing is counted
  usage_day date,
  readiness text,
  primary_window_days integer,
  min_sold_units integer,
  visible_card_size integer,
  data_version bigint,
  data_as_of timestamptz,
  sources jsonb
) language plpgsql as $$
declare
  at timestamptz := coalesce(p_now, clock_timestamp());
  token api_token%rowtype;
  billing text;
  needed text[];
  counted integer := 0;
  i integer;
begin
  usage_day := (at at time zone 'UTC')::date;
  granted_requests := 0;
  verdicts := array_fill(null::text, array[cardinality(p_token_ids)]);
  missing := verdicts;

  select w.organization_id, w.shop_id, w.shop_domain, w.currency_code, w.billing_status, w.readiness,
         w.primary_window_days, w.min_sold_units, w.visible_card_size, w.data_version, w.data_as_of,
         coalesce(p.entitlements, '{}'), p.daily_quota,
         (select coalesce(jsonb_agg(jsonb_build_object(
                   'source', s.source, 'kind', s.kind, 'status', s.status, 'currency_code', s.currency_code,
                   'last_synced_at', s.last_synced_at) order by s.source), '[]')
            from data_source s where s.shop_key = p_shop_key)
    into organization_id, shop_id, shop_domain, currency_code, billing, readiness,
         primary_window_days, min_sold_units, visible_card_size, data_version, data_as_of,
         entitlements, daily_quota, sources
    from workspace w left join plan p on p.plan_key = w.plan_key
   where w.shop_key = p_shop_key;

  -- By token, so that two batches that note a last use never wait for each other in a circle.
  for i in select u.n from unnest(p_token_ids) with ordinality u(token_id, n) order by u.token_id collate "C" loop
    select t.* into token from api_token t where t.shop_key = p_shop_key and t.token_id = p_token_ids[i];
    if not found or token.secret_hash <> p_secret_hashes[i] then verdicts[i] := 'unknown_token'; continue; end if;
    if token.revoked_at <= at then verdicts[i] := 'revoked_token'; continue; end if;
    if token.expires_at <= at then verdicts[i] := 'expired_token'; continue; end if;
    if token.last_used_at is null or token.last_used_at < at - interval '15 minutes' then
      update api_token t set last_used_at = at where t.shop_key = p_shop_key and t.token_id = p_token_ids[i];
    end if;

    if billing <> 'active' then verdicts[i] := 'billing_inactive'; continue; end if;
    needed := string_to_array(p_entitlements[i], ',');
    if not needed <@ entitlements then
      verdicts[i] := 'entitlement_missing';
      missing[i] := (select e from unnest(needed) with ordinality u(e, n) where e <> all (entitlements) order by n limit 1);
      continue;
    end if;
    if p_scopes[i] <> all (token.scopes) then
      verdicts[i] := 'scope_missing'; missing[i] := p_scopes[i]; continue;
    end if;
    if p_counted[i] and readiness <> 'ready' then verdicts[i] := 'not_ready'; continue; end if;
    verdicts[i] := 'admitted';
    if p_counted[i] then counted := counted + p_requests[i]; end if;
  end loop;

  if counted > 0 and counted <= daily_quota then
    insert into daily_usage as u (shop_key, day, requests) values (p_shop_key, usage_day, counted)
    on conflict (shop_key, day) do update set requests = u.requests + counted
     where u.requests + counted <= admit_many.daily_quota
    returning u.requests - counted into used_requests;
    if found then granted_requests := counted; end if;
  end if;
  if daily_quota is not null and used_requests is null then
    select u.requests into used_requests from daily_usage u where u.shop_key = p_shop_key and u.day = usage_day;
    used_requests := coalesce(used_requests, 0);
  end if;
  -- Not all of them fit: what is left is read again and taken under the row's lock. No row is locked for nothing.
  if granted_requests < counted and used_requests < daily_quota then
    insert into daily_usage (shop_key, day, requests) values (p_shop_key, usage_day, 0)
    on conflict (shop_key, day) do nothing;
    select u.requests into used_requests from daily_usage u
     where u.shop_key = p_shop_key and u.day = usage_day for update;
    granted_requests := greatest(0, least(counted, daily_quota - used_requests));
    update daily_usage u set requests = u.requests + granted_requests
     where u.shop_key = p_shop_key and u.day = usage_day;
  end if;
  return next;
end $$;

drop function admit(bigint, text, bytea, text, text[], boolean, timestamptz);
