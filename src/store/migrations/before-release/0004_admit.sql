-- Up Migration

-- The whole order of checks in one call (docs/api.md, "Order of checks"): the first that fails is the verdict, and the
-- request is counted only when all before the quota have passed. A function of shop_key first, so that a
-- distributed database runs it whole on the shop's node. The row lock of daily_usage makes the count exact.
create function admit(
  p_shop_key bigint,
  p_token_id text,
  p_secret_hash bytea,
  p_scope text,             -- null: none needed
  p_entitlements text[],
  p_counted boolean,        -- false: a message that is no request of the daily quota
  p_now timestamptz         -- null: the database's clock, the one clock of all servers
) returns table (
  verdict text,
  missing text,
  organization_id text,
  shop_id text,
  shop_domain text,
  currency_code text,
  entitlements text[],
  daily_quota integer,
  used_requests integer,
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
begin
  usage_day := (at at time zone 'UTC')::date;

  select t.* into token from api_token t where t.shop_key = p_shop_key and t.token_id = p_token_id;
  if not found or token.secret_hash <> p_secret_hash then verdict := 'unknown_token'; return next; return; end if;
  if token.revoked_at <= at then verdict := 'revoked_token'; return next; return; end if;
  if token.expires_at <= at then verdict := 'expired_token'; return next; return; end if;

  if token.last_used_at is null or token.last_used_at < at - interval '15 minutes' then
    update api_token t set last_used_at = at where t.shop_key = p_shop_key and t.token_id = p_token_id;
  end if;

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

  if billing <> 'active' then verdict := 'billing_inactive'; return next; return; end if;
  missing := (select e from unnest(p_entitlements) with ordinality u(e, n) where e <> all (entitlements) order by n limit 1);
  if missing is not null then verdict := 'entitlement_missing'; return next; return; end if;
  if p_scope <> all (token.scopes) then
    verdict := 'scope_missing'; missing := p_scope; return next; return;
  end if;

  if readiness <> 'ready' and p_counted then
    verdict := 'not_ready';
  elsif daily_quota is not null and p_counted then
    if daily_quota > 0 then
      insert into daily_usage as u (shop_key, day, requests) values (p_shop_key, usage_day, 1)
      on conflict (shop_key, day) do update set requests = u.requests + 1 where u.requests < admit.daily_quota
      returning u.requests into used_requests;
    end if;
    verdict := case when used_requests is null then 'over_quota' else 'admitted' end;
  else
    verdict := 'admitted';
  end if;
  if daily_quota is not null and used_requests is null then
    used_requests := coalesce((select u.requests from daily_usage u
                                where u.shop_key = p_shop_key and u.day = usage_day), 0);
  end if;
  return next;
end $$;
