-- The whole order of checks (docs/api.md, "Order of checks") for `p_requests` equal requests: one token, the same needs.
-- Unless p_waits, it never waits for a lock: it says "locked" instead. Single-table statements by primary key, which a
-- distributed database plans once.
create or replace function admit(
  p_shop_key bigint,
  p_token_id text,
  p_secret_hash bytea,
  p_scope text,             -- null: none needed
  p_entitlements text,      -- separated by commas
  p_counted boolean,        -- false: messages that are no requests of the daily quota
  p_requests integer,
  p_waits boolean,          -- true: waits for the locks of other servers
  p_now timestamptz,        -- null: the database's clock, the one clock of all servers
  out verdict text,
  out missing text,
  out organization_id text,
  out shop_id text,
  out shop_domain text,
  out currency_code text,
  out entitlements text[],
  out daily_quota integer,
  out used_requests integer,    -- of the day, before these; null: no daily quota
  out granted_requests integer, -- how many of these are within the daily quota
  out usage_day date,
  out readiness text,
  out primary_window_days integer,
  out min_sold_units integer,
  out visible_card_size integer,
  out data_version bigint,
  out data_as_of timestamptz,
  out sources jsonb
) language plpgsql as $$
declare
  at timestamptz := coalesce(p_now, clock_timestamp());
  token api_token%rowtype;
  billing text;
  plan_of_shop text;
  has_tried boolean := false;
begin
  usage_day := (at at time zone 'UTC')::date;
  granted_requests := p_requests;

  select t.* into token from api_token t where t.shop_key = p_shop_key and t.token_id = p_token_id;
  if not found or token.secret_hash <> p_secret_hash then verdict := 'unknown_token'; return; end if;

  select w.organization_id, w.shop_id, w.shop_domain, w.currency_code, w.plan_key, w.billing_status, w.readiness,
         w.primary_window_days, w.min_sold_units, w.visible_card_size, w.data_version, w.data_as_of
    into organization_id, shop_id, shop_domain, currency_code, plan_of_shop, billing, readiness,
         primary_window_days, min_sold_units, visible_card_size, data_version, data_as_of
    from workspace w where w.shop_key = p_shop_key;
  select p.entitlements, p.daily_quota into entitlements, daily_quota from plan p where p.plan_key = plan_of_shop;
  entitlements := coalesce(entitlements, '{}');
  select coalesce(jsonb_agg(jsonb_build_object(
           'source', s.source, 'kind', s.kind, 'status', s.status, 'currency_code', s.currency_code,
           'last_synced_at', s.last_synced_at) order by s.source), '[]')
    into sources from data_source s where s.shop_key = p_shop_key;
  verdict := case
    when token.revoked_at <= at then 'revoked_token'
    when token.expires_at <= at then 'expired_token'
  end;
  if verdict is not null then return; end if;
  if token.last_used_at is null or token.last_used_at < at - interval '15 minutes' then
    perform 1 from api_token t where t.shop_key = p_shop_key and t.token_id = p_token_id for no key update skip locked;
    if found then
      update api_token t set last_used_at = at where t.shop_key = p_shop_key and t.token_id = p_token_id;
    end if;
  end if;

  if billing <> 'active' then verdict := 'billing_inactive'; return; end if;
  if not string_to_array(p_entitlements, ',') <@ entitlements then
    verdict := 'entitlement_missing';
    missing := (select e from unnest(string_to_array(p_entitlements, ',')) with ordinality u(e, n)
                 where e <> all (entitlements) order by n limit 1);
    return;
  end if;
  if p_scope <> all (token.scopes) then verdict := 'scope_missing'; missing := p_scope; return; end if;
  verdict := case when p_counted and readiness <> 'ready' then 'not_ready' else 'admitted' end;
  if daily_quota is null then return; end if;
  if not p_counted or verdict = 'not_ready' then
    select u.requests into used_requests from daily_usage u where u.shop_key = p_shop_key and u.day = usage_day;
    used_requests := coalesce(used_requests, 0);
    return;
  end if;

  loop
    if p_waits then
      select u.requests into used_requests from daily_usage u
       where u.shop_key = p_shop_key and u.day = usage_day for update;
    else
      select u.requests into used_requests from daily_usage u
       where u.shop_key = p_shop_key and u.day = usage_day for update skip locked;
    end if;
    exit when found;
    -- The first of the day, or another server holds the row. The foreign key locks the workspace, too.
    if not p_waits then
      perform 1 from workspace w where w.shop_key = p_shop_key for key share skip locked;
      if not found or has_tried then verdict := 'locked'; return; end if;
    end if;
    insert into daily_usage (shop_key, day, requests) values (p_shop_key, usage_day, 0)
    on conflict (shop_key, day) do nothing;
    has_tried := true;
  end loop;
  granted_requests := greatest(0, least(p_requests, daily_quota - used_requests));
  if granted_requests > 0 then
    update daily_usage u set requests = used_requests + granted_requests
     where u.shop_key = p_shop_key and u.day = usage_day;
  end if;
end $$;

-- The same for a batch of callers of any shops, in their order: sorted by shop, so that no two batches can deadlock. All
-- are counted or none. A distributed database runs it whole on the node of p_shop_key, where the other shops should be, too.
create or replace function admit_callers(
  p_shop_key bigint,
  p_shop_keys bigint[],
  p_token_ids text[],
  p_secret_hashes bytea[],
  p_scopes text[],
  p_entitlements text[],
  p_counted boolean[],
  p_requests integer[],
  p_waits boolean,
  p_now timestamptz
) returns table (
  shop_key bigint,
  verdict text,
  missing text,
  organization_id text,
  shop_id text,
  shop_domain text,
  currency_code text,
  entitlements text[],
  daily_quota integer,
  used_requests integer,
  granted_requests integer,
  usage_day date,
  readiness text,
  primary_window_days integer,
  min_sold_units integer,
  visible_card_size integer,
  data_version bigint,
  data_as_of timestamptz,
  sources jsonb
) language plpgsql as $$
begin
  return query
    select c.shop_key, r.*
      from unnest(p_shop_keys, p_token_ids, p_secret_hashes, p_scopes, p_entitlements, p_counted, p_requests)
           c (shop_key, token_id, secret_hash, scope, entitlements, counted, requests)
     cross join lateral admit(c.shop_key, c.token_id, c.secret_hash, c.scope, c.entitlements, c.counted, c.requests,
                              p_waits, p_now) r;
end $$;
