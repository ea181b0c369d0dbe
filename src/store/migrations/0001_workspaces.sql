-- Every table of a workspace starts its primary key with shop_key, which is also the distribution column: it keeps tenants
-- apart, and the rows of a shop together. The others, plan, shop_directory, installation and schedule, are shared.

-- What a plan allows a workspace to request.
create table plan (
  plan_key text collate "C" primary key,
  entitlements text[] not null,
  -- null = unlimited
  daily_quota integer check (daily_quota >= 0)
);

insert into plan (plan_key, entitlements, daily_quota) values
  ('starter', '{}', 0),
  ('growth', '{api_access}', 1000),
  ('scale', '{api_access,data_export,full_leaderboards}', 25000),
  ('enterprise', '{api_access,data_export,full_leaderboards}', null);

-- Every shop: assigns shop keys and keeps domains unique.
create table shop_directory (
  shop_domain text collate "C" primary key,
  shop_key bigint generated always as identity unique
);

-- One row: the HMAC of the secret that this database's tokens were made with.
create table installation (
  is_only_row boolean primary key default true check (is_only_row),
  secret_fingerprint bytea not null
);

-- One shop with its settings and the state of its data.
create table workspace (
  shop_key bigint primary key,
  organization_id text not null,
  shop_id text not null,
  shop_domain text collate "C" not null,
  currency_code text not null check (currency_code ~ '^[A-Z]{3}$'),
  plan_key text collate "C" not null,
  billing_status text not null default 'active' check (billing_status in ('active', 'inactive')),
  readiness text not null default 'installing'
    check (readiness in ('ready', 'installing', 'reconnecting', 'backfilling')),
  primary_window_days integer not null default 30 check (primary_window_days between 1 and 365),
  min_sold_units integer not null default 20 check (min_sold_units >= 0),
  visible_card_size integer not null default 10 check (visible_card_size >= 1),
  -- Raised by one with each change of what is served; answers depend on nothing else.
  data_version bigint not null default 0,
  -- M5: the last successful sync of the store source, or the as-of that the import states.
  data_as_of timestamptz,
  -- The as-of day and data version at which early warnings were last evaluated (M17).
  warned_on date,
  warned_version bigint,
  created_at timestamptz not null default now()
);

-- A token of the API; the part of it that is secret is stored nowhere.
create table api_token (
  shop_key bigint not null references workspace on delete cascade,
  token_id text collate "C" not null,
  name text not null,
  -- HMAC-SHA-256 of the secret under the server's pepper.
  secret_hash bytea not null,
  scopes text[] not null check (cardinality(scopes) > 0),
  created_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  primary key (shop_key, token_id)
);

-- Requests of one UTC day that count towards the daily quota.
create table daily_usage (
  shop_key bigint not null references workspace on delete cascade,
  day date not null,
  requests integer not null check (requests >= 0),
  primary key (shop_key, day)
);

-- One action on a workspace. No foreign key: what concerns none that is left has shop_key 0.
create table audit_event (
  shop_key bigint not null,
  audit_id uuid not null default gen_random_uuid(),
  happened_at timestamptz not null default now(),
  actor text not null,
  action text not null,
  detail jsonb not null,
  primary key (shop_key, audit_id)
);
create index audit_event_time on audit_event (shop_key, happened_at);
