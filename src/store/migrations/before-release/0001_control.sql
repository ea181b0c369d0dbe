-- Every table of a workspace starts its primary key with shop_key: tenant isolation, index locality and the
-- distribution column are one thing. Only shop_directory and plan are shared by all workspaces.

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

-- The one place that knows all shops: gives out shop keys and keeps domains unique.
create table shop_directory (
  shop_domain text collate "C" primary key,
  shop_key bigint generated always as identity unique
);

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
  -- M5: the last successful sync of the store source, or the import's stated as-of.
  data_as_of timestamptz,
  created_at timestamptz not null default now()
);

create table api_token (
  shop_key bigint not null references workspace on delete cascade,
  token_id text collate "C" not null,
  name text not null,
  -- HMAC-SHA-256 of the secret under the server's pepper; the secret itself is shown once and never kept.
  secret_hash bytea not null,
  scopes text[] not null check (cardinality(scopes) > 0),
  created_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  primary key (shop_key, token_id)
);

create table daily_usage (
  shop_key bigint not null references workspace on delete cascade,
  day date not null,
  requests integer not null check (requests >= 0),
  primary key (shop_key, day)
);

create table data_source (
  shop_key bigint not null references workspace on delete cascade,
  source text collate "C" not null,
  kind text not null check (kind in ('store', 'label_cost')),
  status text check (status in ('ok', 'syncing', 'failed', 'disconnected')),
  -- Label sources only: the currency its costs are in; null until the first label.
  currency_code text,
  last_synced_at timestamptz,
  last_error text,
  created_at timestamptz not null default now(),
  primary key (shop_key, source)
);

create table alert (
  shop_key bigint not null references workspace on delete cascade,
  alert_id text collate "C" not null,
  -- What happened, in a form that a rerun repeats exactly: the same event is never stored twice.
  event_key text collate "C" not null,
  -- null = a broadcast to the whole workspace; the API serves nothing else.
  recipient text,
  category text not null,
  severity text not null check (severity in ('info', 'warning', 'critical')),
  title text not null,
  body text,
  link_url text,
  link_label text,
  metadata jsonb,
  created_at timestamptz not null,
  primary key (shop_key, alert_id),
  unique (shop_key, event_key)
);
create index alert_feed on alert (shop_key, created_at desc, alert_id desc) where recipient is null;

create table watchlist_entry (
  shop_key bigint not null references workspace on delete cascade,
  entity_kind text not null check (entity_kind in ('sku', 'product', 'family', 'analytics_category')),
  entity_key text collate "C" not null,
  added_at timestamptz not null default now(),
  primary key (shop_key, entity_kind, entity_key)
);

create table sale_event (
  shop_key bigint not null references workspace on delete cascade,
  slug text collate "C" not null,
  label text not null,
  starts_on date not null,
  ends_on date not null check (ends_on >= starts_on),
  -- null = the whole workspace
  skus text[] check (cardinality(skus) > 0),
  primary key (shop_key, slug)
);

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
