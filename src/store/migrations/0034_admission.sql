-- Works with 0015_upgrades.

-- The checks of a request up to its daily quota, numbered as docs/api.md, "Order of checks", has them: the function of
-- 0006_admission, 0014_erasure, 0017_admit_batch and 0024_admission_plans in one piece. It answers as it did.
--
-- A batch of callers of any shops, sorted by shop, so that no two batches can deadlock. A caller is one token with equal
-- needs, `p_requests` of them. All are counted or none. Unless p_waits, it never waits for a lock: it says "locked" instead.
-- Single-table statements by primary key, which a distributed database plans once; it runs the call whole on the node of
-- p_shop_key, where the other shops should be, too. A plan that was made while a table was small would read all of it for
-- every caller, so none scans a table.
create or replace function admit_callers(
  p_shop_key bigint,
  p_shop_keys bigint[],
  p_token_ids text[],
  p_secret_hashes bytea[],
  p_scopes text[],          -- null: none needed
  p_entitlements text[],    -- separated by commas
  p_counted boolean[],      -- false: messages that are no requests of the daily quota
  p_requests integer[],
  p_waits boolean,          -- true: waits for the locks of other servers
  p_now timestamptz         -- null: the database's clock, the one clock of all servers
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
  used_requests integer,    -- of the day, before these; null: no daily quota
  granted_requests integer, -- how many of these are within the daily quota
  usage_day date,
  readiness text,
  primary_window_days integer,
  min_sold_units integer,
  visible_card_size integer,
  data_version bigint,
  data_as_of timestamptz,
  sources jsonb
) language plpgsql set enable_seqscan = off as $$
declare
  -- Of the caller; a distributed database plans once for a variable, but not for the element of an array.
  shop bigint;
  asked_token text;
  asked_requests integer;
  at timestamptz;
  token api_token%rowtype;
  billing text;
  plan_of_shop text;
  read_plan text;           -- Most callers of a batch share a plan, which is read once.
  read_entitlements text[];
  read_quota integer;
  needed text[];
  has_tried boolean;
begin
  for number in 1 .. cardinality(p_shop_keys) loop
    at := coalesce(p_now, clock_timestamp());
    shop_key := p_shop_keys[number];
    shop := shop_key;
    asked_token := p_token_ids[number];
    asked_requests := p_requests[number];
    usage_day := (at at time zone 'UTC')::date;
    granted_requests := asked_requests;
    missing := null;
    used_requests := null;

    <<checks>>
    begin
      -- 1. Token. One that is not known learns nothing of the workspace.
      select t.* into token from api_token t where t.shop_key = shop and t.token_id = asked_token;
      if not found or token.secret_hash <> p_secret_hashes[number] then
        select null, null, null, null, null, null, null, null, null, null, null, null, null
          into organization_id, shop_id, shop_domain, currency_code, entitlements, daily_quota, readiness,
               primary_window_days, min_sold_units, visible_card_size, data_version, data_as_of, sources;
        verdict := 'unknown_token';
        exit checks;
      end if;
      select w.organization_id, w.shop_id, w.shop_domain, w.currency_code, w.plan_key, w.billing_status,
             case when w.erase_after is null then w.readiness else 'erasing' end,
             w.primary_window_days, w.min_sold_units, w.visible_card_size, w.data_version, w.data_as_of
        into organization_id, shop_id, shop_domain, currency_code, plan_of_shop, billing, readiness,
             primary_window_days, min_sold_units, visible_card_size, data_version, data_as_of
        from workspace w where w.shop_key = shop;
      if plan_of_shop is distinct from read_plan then
        select p.plan_key, p.entitlements, p.daily_quota into read_plan, read_entitlements, read_quota
          from plan p where p.plan_key = plan_of_shop;
      end if;
      entitlements := coalesce(read_entitlements, '{}');
      daily_quota := read_quota;
      select coalesce(jsonb_agg(jsonb_build_object(
               'source', s.source, 'kind', s.kind, 'status', s.status, 'currency_code', s.currency_code,
               'last_synced_at', s.last_synced_at) order by s.source), '[]')
        into sources from data_source s where s.shop_key = shop;
      verdict := case
        when token.revoked_at <= at then 'revoked_token'
        when token.expires_at <= at then 'expired_token'
      end;
      exit checks when verdict is not null;
      if token.last_used_at is null or token.last_used_at < at - interval '15 minutes' then
        perform 1 from api_token t
          where t.shop_key = shop and t.token_id = asked_token for no key update skip locked;
        if found then
          update api_token t set last_used_at = at where t.shop_key = shop and t.token_id = asked_token;
        end if;
      end if;

      -- 2. Billing.
      if billing <> 'active' then verdict := 'billing_inactive'; exit checks; end if;

      -- 3. Entitlement.
      needed := string_to_array(p_entitlements[number], ',');
      if not needed <@ entitlements then
        verdict := 'entitlement_missing';
        missing := (select e from unnest(needed) with ordinality u(e, n) where e <> all (entitlements) order by n limit 1);
        exit checks;
      end if;

      -- 4. Scope.
      if p_scopes[number] <> all (token.scopes) then
        verdict := 'scope_missing';
        missing := p_scopes[number];
        exit checks;
      end if;

      -- 5. Readiness. What is not counted, such as a list of tools, needs no data.
      verdict := case when p_counted[number] and readiness <> 'ready' then 'not_ready' else 'admitted' end;

      -- 6. Daily quota.
      exit checks when daily_quota is null;
      if verdict = 'not_ready' or not p_counted[number] then
        select u.requests into used_requests from daily_usage u where u.shop_key = shop and u.day = usage_day;
        used_requests := coalesce(used_requests, 0);
        exit checks;
      end if;
      has_tried := false;
      loop
        if p_waits then
          select u.requests into used_requests from daily_usage u
           where u.shop_key = shop and u.day = usage_day for update;
        else
          select u.requests into used_requests from daily_usage u
           where u.shop_key = shop and u.day = usage_day for update skip locked;
        end if;
        exit when found;
        -- The first of the day, or another server holds the row. The foreign key locks the workspace, too.
        if not p_waits then
          perform 1 from workspace w where w.shop_key = shop for key share skip locked;
          if not found or has_tried then verdict := 'locked'; exit checks; end if;
        end if;
        insert into daily_usage (shop_key, day, requests) values (shop, usage_day, 0) on conflict do nothing;
        has_tried := true;
      end loop;
      granted_requests := greatest(0, least(asked_requests, daily_quota - used_requests));
      if granted_requests > 0 then
        update daily_usage u set requests = used_requests + granted_requests
         where u.shop_key = shop and u.day = usage_day;
      end if;
    end checks;
    return next;
  end loop;
end $$;
