create extension btree_gin;
create extension pg_trgm;
create table alert (
  shop_key bigint not null,
  alert_id text collate "C" not null,
  event_key text collate "C" not null,
  recipient text,
  category text not null,
  severity text not null,
  title text not null,
  body text,
  link_url text,
  link_label text,
  metadata jsonb,
  created_at timestamp with time zone not null,
  constraint alert_pkey PRIMARY KEY (shop_key, alert_id),
  constraint alert_severity_check CHECK ((severity = ANY (ARRAY['info'::text, 'warning'::text, 'critical'::text]))),
  constraint alert_shop_key_event_key_key UNIQUE (shop_key, event_key)
);
create table alert_endpoint (
  shop_key bigint not null,
  endpoint_id uuid not null,
  kind text not null,
  name text not null,
  shown_address text not null,
  sealed_secrets bytea not null,
  previous_until timestamp with time zone,
  severities text[] not null,
  categories text[],
  digest_hour smallint,
  created_at timestamp with time zone default now() not null,
  created_by text not null,
  cursor_at timestamp with time zone not null,
  cursor_id text collate "C" not null,
  due_at timestamp with time zone,
  wakes bigint default 0 not null,
  digest_until timestamp with time zone,
  failures integer default 0 not null,
  failing_since timestamp with time zone,
  last_tried_at timestamp with time zone,
  last_delivered_at timestamp with time zone,
  last_problem text,
  tested_at timestamp with time zone,
  paused_at timestamp with time zone,
  pause_reason text,
  test_asked_at timestamp with time zone,
  test_answer text,
  test_delivered boolean,
  removed_at timestamp with time zone,
  constraint alert_endpoint_pkey PRIMARY KEY (shop_key, endpoint_id),
  constraint alert_endpoint_digest_hour_check CHECK (((digest_hour >= 0) AND (digest_hour <= 23))),
  constraint alert_endpoint_kind_check CHECK ((kind = ANY (ARRAY['webhook'::text, 'slack'::text, 'email'::text]))),
  constraint alert_endpoint_pause_reason_check CHECK ((pause_reason = ANY (ARRAY['person'::text, 'failing'::text, 'gone'::text, 'refused'::text])))
);
create table amount_refund (
  shop_key bigint not null,
  order_id text collate "C" not null,
  refund_id text collate "C" not null,
  refunded_on date not null,
  amount_minor bigint not null,
  constraint amount_refund_pkey PRIMARY KEY (shop_key, order_id, refund_id)
);
create table api_token (
  shop_key bigint not null,
  token_id text collate "C" not null,
  name text not null,
  secret_hash bytea not null,
  scopes text[] not null,
  created_by text not null,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  last_used_at timestamp with time zone,
  replaces text collate "C",
  request_key uuid,
  constraint api_token_pkey PRIMARY KEY (shop_key, token_id),
  constraint api_token_scopes_check CHECK ((cardinality(scopes) > 0))
);
create table audit_event (
  shop_key bigint not null,
  audit_id uuid default gen_random_uuid() not null,
  happened_at timestamp with time zone default now() not null,
  actor text not null,
  action text not null,
  detail jsonb not null,
  origin text,
  before jsonb,
  constraint audit_event_pkey PRIMARY KEY (shop_key, audit_id)
);
create table booking_difference (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  booked_on date not null,
  step text collate "C" not null,
  units integer not null,
  constraint booking_difference_pkey PRIMARY KEY (shop_key, order_id, line_id, booked_on, step)
);
create table cohort (
  shop_key bigint not null,
  entity_kind text collate "C" not null,
  entity_key text collate "C" not null,
  cohort_month date not null,
  listing_id uuid not null,
  sold_units bigint not null,
  costed_sold_units bigint not null,
  requested_units bigint not null,
  open_units bigint not null,
  closed_units bigint not null,
  declined_units bigint not null,
  canceled_units bigint not null,
  lag_days integer[],
  returned_units bigint[],
  refunded_units bigint[],
  restocked_units bigint[],
  restocked_cost_minor bigint[],
  costed_returned_units bigint[],
  refund_minor bigint[],
  label_minor bigint[],
  returned_not_refunded_units bigint[],
  labeled_returned_units bigint[],
  return_reasons text[] collate "C",
  return_lag_days integer[],
  return_units bigint[],
  squared_sold_units double precision,
  orders bigint,
  order_lag_days integer[],
  returned_orders bigint[],
  sold_returned_units double precision[],
  squared_returned_units double precision[],
  sold_minor bigint default 0 not null,
  valued_sold_units bigint default 0 not null,
  has_day_money boolean,
  year_months integer,
  constraint cohort_pkey PRIMARY KEY (shop_key, entity_kind, cohort_month, entity_key, listing_id)
);
create table console_challenge (
  challenge_hash bytea not null,
  purpose text not null,
  user_id uuid,
  expires_at timestamp with time zone not null,
  constraint console_challenge_pkey PRIMARY KEY (challenge_hash),
  constraint console_challenge_challenge_hash_check CHECK ((length(challenge_hash) = 32)),
  constraint console_challenge_purpose_check CHECK ((purpose = ANY (ARRAY['enrol'::text, 'sign_in'::text, 'prove'::text])))
);
create table console_link (
  link_hash bytea not null,
  user_id uuid not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  purpose text not null,
  rights text,
  made_by uuid,
  leads_to bigint,
  email text,
  constraint console_link_pkey PRIMARY KEY (link_hash),
  constraint console_link_link_hash_check CHECK ((length(link_hash) = 32)),
  constraint console_link_purpose CHECK ((purpose = ANY (ARRAY['enter'::text, 'invite'::text, 'recover'::text])))
);
create table console_passkey (
  credential_id bytea not null,
  user_id uuid not null,
  rp_id text not null,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null,
  name text not null,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  constraint console_passkey_pkey PRIMARY KEY (credential_id),
  constraint console_passkey_counter_check CHECK ((counter >= 0)),
  constraint console_passkey_credential_id_check CHECK (((length(credential_id) >= 1) AND (length(credential_id) <= 1023))),
  constraint console_passkey_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100)))
);
create table console_session (
  session_hash bytea not null,
  user_id uuid not null,
  created_at timestamp with time zone not null,
  last_seen_at timestamp with time zone not null,
  idle_until timestamp with time zone not null,
  ends_at timestamp with time zone not null,
  proved_at timestamp with time zone not null,
  id_token text,
  is_operator boolean default false not null,
  constraint console_session_pkey PRIMARY KEY (session_hash),
  constraint console_session_check CHECK ((idle_until <= ends_at)),
  constraint console_session_session_hash_check CHECK ((length(session_hash) = 32))
);
create table console_user (
  user_id uuid default gen_random_uuid() not null,
  name text not null,
  is_operator boolean default false not null,
  created_at timestamp with time zone default now() not null,
  disabled_at timestamp with time zone,
  last_shop_key bigint,
  last_seen_at timestamp with time zone,
  constraint console_user_pkey PRIMARY KEY (user_id),
  constraint console_user_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100)))
);
create table coordinator (
  is_only_row boolean default true not null,
  constraint coordinator_pkey PRIMARY KEY (is_only_row),
  constraint coordinator_is_only_row_check CHECK (is_only_row)
);
create table daily_usage (
  shop_key bigint not null,
  day date not null,
  requests integer not null,
  constraint daily_usage_pkey PRIMARY KEY (shop_key, day),
  constraint daily_usage_requests_check CHECK ((requests >= 0))
);
create table data_source (
  shop_key bigint not null,
  source text collate "C" not null,
  kind text not null,
  is_connection boolean default false not null,
  status text,
  currency_code text,
  last_synced_at timestamp with time zone,
  last_error text,
  sealed_credentials bytea,
  settings jsonb default '{}'::jsonb not null,
  cursor jsonb,
  created_at timestamp with time zone default now() not null,
  poll_at timestamp with time zone,
  reread_at timestamp with time zone,
  constraint data_source_pkey PRIMARY KEY (shop_key, source),
  constraint data_source_kind_check CHECK ((kind = ANY (ARRAY['store'::text, 'label_cost'::text]))),
  constraint data_source_status_check CHECK ((status = ANY (ARRAY['ok'::text, 'syncing'::text, 'failed'::text, 'disconnected'::text])))
);
create table dirty_cohort (
  shop_key bigint not null,
  cohort_month date not null,
  constraint dirty_cohort_pkey PRIMARY KEY (shop_key, cohort_month)
);
create table entity (
  shop_key bigint not null,
  type_rank smallint not null,
  label text collate "C" not null,
  entity_key text collate "C" not null,
  product_group_type text collate "C" default ''::text not null,
  subtitle text,
  product_gid text,
  sku text,
  product_title text,
  vendor text collate "C",
  search_text text not null,
  constraint entity_pkey PRIMARY KEY (shop_key, type_rank, label, entity_key, product_group_type)
);
create table group_day (
  shop_key bigint not null,
  entity_kind text collate "C" not null,
  entity_key text collate "C" not null,
  sold_on date not null,
  sold_units bigint not null,
  sold_lines bigint not null,
  lag_days integer[],
  returned_units bigint[],
  returned_lines bigint[],
  squared_sold_units double precision,
  orders bigint,
  sold_minor bigint,
  valued_sold_units bigint,
  refunded_units bigint[],
  refund_minor bigint[],
  label_minor bigint[],
  constraint group_day_pkey PRIMARY KEY (shop_key, sold_on, entity_kind, entity_key)
);
create table identity_event (
  audit_id uuid default gen_random_uuid() not null,
  happened_at timestamp with time zone default now() not null,
  actor text not null,
  action text not null,
  detail jsonb not null,
  origin text,
  before jsonb,
  constraint identity_event_pkey PRIMARY KEY (audit_id)
);
create table import_part (
  shop_key bigint not null,
  upload_id uuid not null,
  file_name text collate "C" not null,
  part_number integer not null,
  sha256 bytea not null,
  bytes bytea not null,
  constraint import_part_pkey PRIMARY KEY (shop_key, upload_id, file_name, part_number),
  constraint import_part_sha256_check CHECK ((length(sha256) = 32))
);
create table import_upload (
  shop_key bigint not null,
  upload_id uuid not null,
  status text not null,
  created_by text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  files jsonb not null,
  as_of timestamp with time zone not null,
  requested_by text,
  requested_origin text,
  skip_invalid boolean default false not null,
  attempt integer default 0 not null,
  started_at timestamp with time zone,
  stage text,
  done bigint default 0 not null,
  total bigint,
  result jsonb,
  error text,
  finished_at timestamp with time zone,
  constraint import_upload_pkey PRIMARY KEY (shop_key, upload_id),
  constraint import_upload_status_check CHECK ((status = ANY (ARRAY['sending'::text, 'waiting'::text, 'importing'::text, 'refused'::text, 'imported'::text, 'canceled'::text, 'expired'::text])))
);
create table installation (
  is_only_row boolean default true not null,
  secret_fingerprint bytea not null,
  backed_up_at timestamp with time zone,
  constraint installation_pkey PRIMARY KEY (is_only_row),
  constraint installation_is_only_row_check CHECK (is_only_row)
);
create table installation_secret (
  version integer not null,
  fingerprint bytea not null,
  sealed_keys bytea,
  created_at timestamp with time zone default now() not null,
  retired_at timestamp with time zone,
  is_only_row boolean default true not null,
  constraint installation_secret_pkey PRIMARY KEY (version),
  constraint installation_secret_check CHECK (((sealed_keys IS NULL) = (retired_at IS NOT NULL))),
  constraint installation_secret_fingerprint_key UNIQUE (fingerprint),
  constraint installation_secret_version_check CHECK ((version > 0))
);
create table label_share (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  source text collate "C" not null,
  label_id text collate "C" not null,
  cohort_month date not null,
  lag_days integer not null,
  label_minor bigint not null,
  constraint label_share_pkey PRIMARY KEY (shop_key, order_id, line_id, source, label_id),
  constraint label_share_lag_days_check CHECK ((lag_days >= 0))
);
create table listing (
  shop_key bigint not null,
  sku text collate "C" not null,
  listing_id uuid not null,
  product_gid text collate "C" not null,
  used boolean not null,
  counterpart_sku text collate "C" not null,
  line_vendor text collate "C" not null,
  variant_id text collate "C" default ''::text not null,
  constraint listing_pkey PRIMARY KEY (shop_key, sku, listing_id)
);
create table oauth_grant (
  shop_key bigint not null,
  token_id text collate "C" not null,
  client_hash bytea not null,
  redirect_uri text not null,
  code_hash bytea not null,
  code_challenge text not null,
  code_expires_at timestamp with time zone not null,
  code_used_at timestamp with time zone,
  family_hash bytea,
  refresh_hash bytea,
  refresh_expires_at timestamp with time zone,
  constraint oauth_grant_pkey PRIMARY KEY (shop_key, token_id)
);
create table order_document (
  shop_key bigint not null,
  order_id text collate "C" not null,
  document jsonb not null,
  constraint order_document_pkey PRIMARY KEY (shop_key, order_id)
);
create table order_line (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  ordered_on date not null,
  cohort_month date not null,
  sold_units integer not null,
  line_product_gid text collate "C",
  line_variant_id text collate "C",
  line_sku text collate "C",
  line_title text,
  line_vendor text,
  product_gid text collate "C",
  sku text collate "C",
  used boolean not null,
  counterpart_sku text collate "C",
  unit_cost_minor bigint,
  left_out text collate "C",
  sold_minor bigint,
  variant_id text collate "C",
  constraint order_line_pkey PRIMARY KEY (shop_key, order_id, line_id),
  constraint order_line_sold_units_check CHECK ((sold_units >= 0))
);
create table order_reference (
  shop_key bigint not null,
  order_id text collate "C" not null,
  order_name text collate "C" not null,
  constraint order_reference_pkey PRIMARY KEY (shop_key, order_id)
);
create table pending_record (
  shop_key bigint not null,
  source text collate "C" not null,
  kind text collate "C" not null,
  record_id text collate "C" not null,
  requested_at timestamp with time zone default clock_timestamp() not null,
  constraint pending_record_pkey PRIMARY KEY (shop_key, source, kind, record_id)
);
create table plan (
  plan_key text collate "C" not null,
  entitlements text[] not null,
  daily_quota integer,
  constraint plan_pkey PRIMARY KEY (plan_key),
  constraint plan_daily_quota_check CHECK ((daily_quota >= 0))
);
create table plan_request (
  shop_key bigint not null,
  plan_key text collate "C" not null,
  reason text not null,
  asked_by text not null,
  asked_at timestamp with time zone not null,
  constraint plan_request_pkey PRIMARY KEY (shop_key)
);
create table product (
  shop_key bigint not null,
  product_gid text collate "C" not null,
  title text not null,
  handle text,
  vendor text collate "C",
  family text collate "C",
  analytics_category text collate "C",
  image_url text,
  image_alt text,
  from_lines boolean default false not null,
  constraint product_pkey PRIMARY KEY (shop_key, product_gid)
);
create table provider_account (
  issuer text collate "C" not null,
  subject text collate "C" not null,
  user_id uuid not null,
  email text,
  linked_at timestamp with time zone not null,
  last_used_at timestamp with time zone not null,
  constraint provider_account_pkey PRIMARY KEY (issuer, subject)
);
create table quiet_runs (
  shop_key bigint not null,
  source text collate "C" not null,
  kind text collate "C" not null,
  day date not null,
  runs bigint not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  constraint quiet_runs_pkey PRIMARY KEY (shop_key, source, kind, day)
);
create table redacted_order (
  shop_key bigint not null,
  order_id text collate "C" not null,
  constraint redacted_order_pkey PRIMARY KEY (shop_key, order_id)
);
create table removed_member (
  shop_key bigint not null,
  user_id uuid not null,
  role text not null,
  removed_at timestamp with time zone not null,
  constraint removed_member_pkey PRIMARY KEY (shop_key, user_id),
  constraint removed_member_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'admin'::text, 'owner'::text])))
);
create table return_event (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  event_number integer not null,
  cohort_month date not null,
  lag_days integer not null,
  occurred_on date not null,
  reason text collate "C",
  returned_units integer not null,
  refunded_units integer not null,
  restocked_units integer not null,
  refund_minor bigint not null,
  exchanged_units integer default 0 not null,
  other_units integer default 0 not null,
  exchange_refund_minor bigint default 0 not null,
  kept_minor bigint default 0 not null,
  constraint return_event_pkey PRIMARY KEY (shop_key, order_id, line_id, event_number),
  constraint return_event_lag_days_check CHECK ((lag_days >= 0))
);
create table return_label (
  shop_key bigint not null,
  source text collate "C" not null,
  label_id text collate "C" not null,
  source_order_id text collate "C",
  source_return_id text collate "C",
  source_order_name text collate "C",
  tracking_number text,
  order_id text collate "C",
  return_id text collate "C",
  charged_at timestamp with time zone not null,
  amount_minor bigint not null,
  currency_code text not null,
  voided_at timestamp with time zone,
  constraint return_label_pkey PRIMARY KEY (shop_key, source, label_id)
);
create table return_request (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  return_id text collate "C" not null,
  cohort_month date not null,
  status text not null,
  units integer not null,
  constraint return_request_pkey PRIMARY KEY (shop_key, order_id, line_id, return_id),
  constraint return_request_status_check CHECK ((status = ANY (ARRAY['REQUESTED'::text, 'OPEN'::text, 'CLOSED'::text, 'DECLINED'::text, 'CANCELED'::text])))
);
create table return_tracking (
  shop_key bigint not null,
  order_id text collate "C" not null,
  return_id text collate "C" not null,
  tracking_number text collate "C" not null,
  constraint return_tracking_pkey PRIMARY KEY (shop_key, order_id, return_id, tracking_number)
);
create table run_queue (
  shop_key bigint not null,
  source text collate "C" not null,
  kind text not null,
  due_at timestamp with time zone not null,
  scheduled text[] collate "C" default '{}'::text[] not null,
  asked bigint default 1 not null,
  constraint run_queue_pkey PRIMARY KEY (shop_key, source),
  constraint run_queue_kind_check CHECK ((kind = ANY (ARRAY['store'::text, 'label_cost'::text, 'upload'::text, 'push'::text, 'shop'::text])))
);
create table sale_event (
  shop_key bigint not null,
  slug text collate "C" not null,
  label text not null,
  starts_on date not null,
  ends_on date not null,
  skus text[],
  constraint sale_event_pkey PRIMARY KEY (shop_key, slug),
  constraint sale_event_check CHECK ((ends_on >= starts_on)),
  constraint sale_event_skus_check CHECK ((cardinality(skus) > 0))
);
create table schedule (
  task text collate "C" not null,
  first_at timestamp with time zone not null,
  period interval not null,
  done_until timestamp with time zone default now() not null,
  constraint schedule_pkey PRIMARY KEY (task)
);
create table schema_migration (
  id serial not null,
  name character varying(255) not null,
  run_on timestamp without time zone not null,
  works_with text,
  constraint schema_migration_pkey PRIMARY KEY (id)
);
create table shop_account (
  shop_key bigint not null,
  source text collate "C" not null,
  account text collate "C" not null,
  constraint shop_account_pkey PRIMARY KEY (shop_key, source)
);
create table shop_directory (
  shop_domain text collate "C" not null,
  shop_key bigint generated always as identity not null,
  display_name text,
  constraint shop_directory_pkey PRIMARY KEY (shop_domain),
  constraint shop_directory_display_name_check CHECK (((display_name <> ''::text) AND (length(display_name) <= 60))),
  constraint shop_directory_shop_key_key UNIQUE (shop_key)
);
create table sku (
  shop_key bigint not null,
  sku text collate "C" not null,
  product_gid text collate "C",
  product_title text,
  vendor text collate "C",
  used boolean default false not null,
  unit_cost_minor bigint,
  from_lines boolean default false not null,
  image_url text,
  constraint sku_pkey PRIMARY KEY (shop_key, sku)
);
create table sku_quarter (
  shop_key bigint not null,
  quarter date not null,
  sku text collate "C" not null,
  listing_id uuid not null,
  sold_units bigint not null,
  lag_days integer[],
  returned_units bigint[],
  refund_minor bigint[],
  label_minor bigint[],
  sold_minor bigint default 0 not null,
  valued_sold_units bigint default 0 not null,
  constraint sku_quarter_pkey PRIMARY KEY (shop_key, quarter, sku, listing_id)
);
create table sku_year (
  shop_key bigint not null,
  last_month date not null,
  sku text collate "C" not null,
  listing_id uuid not null,
  sold_units bigint not null,
  sold_minor bigint not null,
  valued_sold_units bigint not null,
  lag_days integer[] not null,
  returned_units bigint[] not null,
  refund_minor bigint[] not null,
  label_minor bigint[] not null,
  constraint sku_year_pkey PRIMARY KEY (shop_key, last_month, sku, listing_id)
);
create table sync_record (
  shop_key bigint not null,
  source text collate "C" not null,
  part text collate "C" not null,
  record_number bigint generated by default as identity not null,
  record_id text collate "C",
  parent_id text collate "C",
  record text not null,
  constraint sync_record_pkey PRIMARY KEY (shop_key, source, part, record_number)
);
create table sync_request (
  shop_key bigint not null,
  source text collate "C" not null,
  kind text not null,
  requested_by text not null,
  requested_at timestamp with time zone default clock_timestamp() not null,
  asked bigint default 1 not null,
  attempt integer default 1 not null,
  failures integer default 0 not null,
  run_after timestamp with time zone default clock_timestamp() not null,
  constraint sync_request_pkey PRIMARY KEY (shop_key, source, kind),
  constraint sync_request_kind_check CHECK ((kind = ANY (ARRAY['backfill'::text, 'incremental'::text, 'open_returns'::text, 'refresh'::text]))),
  constraint sync_request_requested_by_check CHECK ((requested_by = ANY (ARRAY['connect'::text, 'schedule'::text, 'webhook'::text, 'operator'::text])))
);
create table sync_run (
  shop_key bigint not null,
  run_id uuid not null,
  source text collate "C" not null,
  kind text not null,
  requested_by text not null,
  status text default 'running'::text not null,
  attempt integer default 1 not null,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  stage text,
  done bigint default 0 not null,
  total bigint,
  counts jsonb default '{}'::jsonb not null,
  notes text[] default '{}'::text[] not null,
  error text,
  is_quiet boolean default false not null,
  constraint sync_run_pkey PRIMARY KEY (shop_key, run_id),
  constraint sync_run_kind_check CHECK ((kind = ANY (ARRAY['backfill'::text, 'incremental'::text, 'open_returns'::text, 'refresh'::text]))),
  constraint sync_run_requested_by_check CHECK ((requested_by = ANY (ARRAY['connect'::text, 'schedule'::text, 'webhook'::text, 'operator'::text]))),
  constraint sync_run_status_check CHECK ((status = ANY (ARRAY['running'::text, 'succeeded'::text, 'failed'::text, 'interrupted'::text])))
);
create table unmatched_label (
  shop_key bigint not null,
  source text collate "C" not null,
  label_id text collate "C" not null,
  charged_on date not null,
  amount_minor bigint not null,
  constraint unmatched_label_pkey PRIMARY KEY (shop_key, source, label_id)
);
create table usage_detail (
  shop_key bigint not null,
  day date not null,
  token_id text collate "C" not null,
  endpoint text collate "C" not null,
  surface text collate "C" not null,
  outcome text collate "C" not null,
  requests integer not null,
  quota_requests integer not null,
  constraint usage_detail_pkey PRIMARY KEY (shop_key, day, token_id, endpoint, surface, outcome),
  constraint usage_detail_check CHECK (((quota_requests >= 0) AND (quota_requests <= requests))),
  constraint usage_detail_requests_check CHECK ((requests > 0)),
  constraint usage_detail_surface_check CHECK ((surface = ANY (ARRAY['rest'::text, 'mcp'::text])))
);
create table variant (
  shop_key bigint not null,
  variant_id text collate "C" not null,
  product_gid text collate "C" not null,
  sku text collate "C",
  title text,
  used boolean default false not null,
  counterpart_sku text collate "C",
  unit_cost_minor bigint,
  options jsonb default '[]'::jsonb not null,
  image_url text,
  constraint variant_pkey PRIMARY KEY (shop_key, variant_id)
);
create table warning_episode (
  shop_key bigint not null,
  entity_kind text collate "C" not null,
  entity_key text collate "C" not null,
  started_on date not null,
  latest_on date not null,
  is_announced boolean not null,
  episode_id text collate "C",
  has_warned boolean default false not null,
  constraint warning_episode_pkey PRIMARY KEY (shop_key, entity_kind, entity_key)
);
create table watchlist_entry (
  shop_key bigint not null,
  entity_kind text not null,
  entity_key text collate "C" not null,
  added_at timestamp with time zone default now() not null,
  constraint watchlist_entry_pkey PRIMARY KEY (shop_key, entity_kind, entity_key),
  constraint watchlist_entry_entity_kind_check CHECK ((entity_kind = ANY (ARRAY['sku'::text, 'product'::text, 'family'::text, 'analytics_category'::text])))
);
create table webhook_delivery (
  shop_key bigint not null,
  source text collate "C" not null,
  webhook_id text collate "C" not null,
  replay_key text collate "C",
  topic text not null,
  received_at timestamp with time zone default clock_timestamp() not null,
  constraint webhook_delivery_pkey PRIMARY KEY (shop_key, source, webhook_id)
);
create table weekly_digest (
  shop_key bigint not null,
  user_id uuid not null,
  address text not null,
  time_zone text not null,
  asked_at timestamp with time zone not null,
  due_at timestamp with time zone,
  failures integer default 0 not null,
  last_sent_at timestamp with time zone,
  last_problem text,
  constraint weekly_digest_pkey PRIMARY KEY (shop_key, user_id)
);
create table workspace (
  shop_key bigint not null,
  organization_id text not null,
  shop_id text not null,
  shop_domain text collate "C" not null,
  currency_code text not null,
  plan_key text collate "C" not null,
  billing_status text default 'active'::text not null,
  readiness text default 'installing'::text not null,
  primary_window_days integer default 30 not null,
  min_sold_units integer default 20 not null,
  visible_card_size integer default 10 not null,
  data_version bigint default 0 not null,
  data_as_of timestamp with time zone,
  warned_on date,
  warned_version bigint,
  created_at timestamp with time zone default now() not null,
  is_setup_open boolean default false not null,
  erase_after timestamp with time zone,
  order_rules jsonb default '{}'::jsonb not null,
  order_rules_applied jsonb default '{}'::jsonb,
  needs_projection boolean default false not null,
  moving_to text,
  moved_at timestamp with time zone,
  reason_groups jsonb default '{}'::jsonb not null,
  purchase jsonb,
  billing_ends_at timestamp with time zone,
  constraint workspace_pkey PRIMARY KEY (shop_key),
  constraint workspace_billing_status_check CHECK ((billing_status = ANY (ARRAY['active'::text, 'inactive'::text]))),
  constraint workspace_currency_code_check CHECK ((currency_code ~ '^[A-Z]{3}$'::text)),
  constraint workspace_min_sold_units_check CHECK ((min_sold_units >= 0)),
  constraint workspace_primary_window_days_check CHECK (((primary_window_days >= 1) AND (primary_window_days <= 365))),
  constraint workspace_readiness_check CHECK ((readiness = ANY (ARRAY['ready'::text, 'installing'::text, 'reconnecting'::text, 'backfilling'::text]))),
  constraint workspace_visible_card_size_check CHECK ((visible_card_size >= 1))
);
create table workspace_member (
  shop_key bigint not null,
  user_id uuid not null,
  role text not null,
  created_at timestamp with time zone default now() not null,
  constraint workspace_member_pkey PRIMARY KEY (shop_key, user_id),
  constraint workspace_member_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'admin'::text, 'owner'::text])))
);
insert into alert (shop_key, alert_id, event_key, recipient, category, severity, title, body, link_url, link_label, metadata, created_at) values
('1', 'alert-00', 'event-0', NULL, 'return_rate_watchlist', 'warning', 'Alert 0', 'What happened.', 'https://app.example/alerts', 'Open', '{"sku": "JACKET-M"}', '2026-06-01 08:00:00.123456+00'),
('1', 'alert-01', 'event-1', NULL, 'backfill_completed', 'warning', 'Alert 1', 'What happened.', 'https://app.example/alerts', 'Open', '{"sku": "JACKET-M"}', '2026-06-01 08:00:00.123456+00'),
('1', 'alert-02', 'event-2', NULL, 'return_rate_watchlist', 'warning', 'Alert 2', 'What happened.', 'https://app.example/alerts', 'Open', '{"sku": "JACKET-M"}', '2026-06-01 08:00:00.123456+00'),
('1', 'alert-03', 'event-3', 'user-1', 'backfill_completed', 'warning', 'Alert 3', 'What happened.', 'https://app.example/alerts', 'Open', '{"sku": "JACKET-M"}', '2026-06-02 08:00:00.123456+00'),
('1', 'alert-04', 'event-4', NULL, 'return_rate_watchlist', 'warning', 'Alert 4', 'What happened.', 'https://app.example/alerts', 'Open', '{"sku": "JACKET-M"}', '2026-06-02 08:00:00.123456+00'),
('1', 'alert-05', 'event-5', NULL, 'backfill_completed', 'warning', 'Alert 5', 'What happened.', 'https://app.example/alerts', 'Open', '{"sku": "JACKET-M"}', '2026-06-02 08:00:00.123456+00'),
('1', 'alert-06', 'event-6', NULL, 'return_rate_watchlist', 'warning', 'Alert 6', 'What happened.', 'https://app.example/alerts', 'Open', '{"sku": "JACKET-M"}', '2026-06-03 08:00:00.123456+00'),
('1', 'alert-07', 'event-7', 'user-1', 'backfill_completed', 'warning', 'Alert 7', 'What happened.', 'https://app.example/alerts', 'Open', '{"sku": "JACKET-M"}', '2026-06-03 08:00:00.123456+00'),
('1', 'alert-08', 'event-8', NULL, 'return_rate_watchlist', 'warning', 'Alert 8', 'What happened.', 'https://app.example/alerts', 'Open', '{"sku": "JACKET-M"}', '2026-06-03 08:00:00.123456+00'),
('1', 'alert-09', 'event-9', NULL, 'backfill_completed', 'warning', 'Alert 9', 'What happened.', 'https://app.example/alerts', 'Open', '{"sku": "JACKET-M"}', '2026-06-04 08:00:00.123456+00'),
('1', 'alert-10', 'event-10', NULL, 'return_rate_watchlist', 'warning', 'Alert 10', 'What happened.', 'https://app.example/alerts', 'Open', '{"sku": "JACKET-M"}', '2026-06-04 08:00:00.123456+00'),
('1', 'alert-11', 'event-11', 'user-1', 'backfill_completed', 'warning', 'Alert 11', 'What happened.', 'https://app.example/alerts', 'Open', '{"sku": "JACKET-M"}', '2026-06-04 08:00:00.123456+00'),
('2', '01a2171a-ae87-7b87-961e-9de40588bf63', 'backfill:csv:1', NULL, 'backfill_completed', 'info', 'Import completed', '3 orders were new or changed.', NULL, NULL, '{"orders": 3, "source": "csv"}', '2026-11-26 09:05:54.312425+00');
insert into alert_endpoint (shop_key, endpoint_id, kind, name, shown_address, sealed_secrets, previous_until, severities, categories, digest_hour, created_at, created_by, cursor_at, cursor_id, due_at, wakes, digest_until, failures, failing_since, last_tried_at, last_delivered_at, last_problem, tested_at, paused_at, pause_reason, test_asked_at, test_answer, test_delivered, removed_at) values
('1', 'effb6ff6-1133-447d-9c55-0f5bfb0dff00', 'webhook', 'an endpoint', 'https://receiver.example', E'\\x00', NULL, '{critical}', NULL, NULL, '2026-07-01 05:00:00+00', 'operator', '2099-01-01 00:00:00+00', '', NULL, '0', NULL, '0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
insert into amount_refund (shop_key, order_id, refund_id, refunded_on, amount_minor) values
('1', 'order 2026-01 HAT-1', 'refund of order 2026-01 HAT-1', '2026-01-17', '1234'),
('1', 'order 2026-01 JACKET-M', 'refund of order 2026-01 JACKET-M', '2026-01-17', '1234'),
('1', 'order 2026-01 JACKET-M-USED', 'refund of order 2026-01 JACKET-M-USED', '2026-01-17', '1234'),
('1', 'order 2026-01 JACKET-S', 'refund of order 2026-01 JACKET-S', '2026-01-17', '1234'),
('1', 'order 2026-01 SHIRT-M', 'refund of order 2026-01 SHIRT-M', '2026-01-17', '1234'),
('1', 'order 2026-01 SHIRT-S', 'refund of order 2026-01 SHIRT-S', '2026-01-17', '1234'),
('1', 'order 2026-02 HAT-1', 'refund of order 2026-02 HAT-1', '2026-02-17', '1234'),
('1', 'order 2026-02 JACKET-M', 'refund of order 2026-02 JACKET-M', '2026-02-17', '1234'),
('1', 'order 2026-02 JACKET-M-USED', 'refund of order 2026-02 JACKET-M-USED', '2026-02-17', '1234'),
('1', 'order 2026-02 JACKET-S', 'refund of order 2026-02 JACKET-S', '2026-02-17', '1234'),
('1', 'order 2026-02 SHIRT-M', 'refund of order 2026-02 SHIRT-M', '2026-02-17', '1234'),
('1', 'order 2026-02 SHIRT-S', 'refund of order 2026-02 SHIRT-S', '2026-02-17', '1234'),
('1', 'order 2026-03 HAT-1', 'refund of order 2026-03 HAT-1', '2026-03-17', '1234'),
('1', 'order 2026-03 JACKET-M', 'refund of order 2026-03 JACKET-M', '2026-03-17', '1234'),
('1', 'order 2026-03 JACKET-M-USED', 'refund of order 2026-03 JACKET-M-USED', '2026-03-17', '1234'),
('1', 'order 2026-03 JACKET-S', 'refund of order 2026-03 JACKET-S', '2026-03-17', '1234'),
('1', 'order 2026-03 SHIRT-M', 'refund of order 2026-03 SHIRT-M', '2026-03-17', '1234'),
('1', 'order 2026-03 SHIRT-S', 'refund of order 2026-03 SHIRT-S', '2026-03-17', '1234');
insert into api_token (shop_key, token_id, name, secret_hash, scopes, created_by, created_at, expires_at, revoked_at, last_used_at, replaces, request_key) values
('1', '00000000001Ul1Xz', 'reporting', E'\\x46f994869122170859846aba0d8a81d6b533be2f770df4c4581b44c7a829c2f2', '{read:dashboard,read:reports,read:exports,read:alerts}', 'owner', '2026-11-26 09:05:53.567626+00', NULL, NULL, '2026-11-26 09:05:54.381352+00', NULL, NULL),
('1', '00000000001vqsSs', 'an app', E'\\x8336af652e9c9e2b39dae3a5f84e362efaf2297fbfb0886ee118d08ee8e84ed5', '{read:dashboard,read:reports,read:exports,read:alerts}', 'owner', '2026-11-26 09:05:53.982937+00', '2026-07-01 05:00:00+00', NULL, NULL, NULL, NULL),
('2', '00000000002zyyiR', 'reporting', E'\\x0009e8c6c4d966697a2aa79e7165529ded2a9688cd3d67cc00b29486a9d9795b', '{read:dashboard,read:reports,read:exports,read:alerts}', 'owner', '2026-11-26 09:05:53.989486+00', NULL, NULL, '2026-11-26 09:05:54.920399+00', NULL, NULL);
insert into audit_event (shop_key, audit_id, happened_at, actor, action, detail, origin, before) values
('1', 'e3079c19-a40d-47c9-9d89-e8101bc5a14f', '2026-11-26 09:05:53.956063+00', 'owner', 'import', '{}', NULL, NULL),
('2', 'bd449a29-1875-4024-bfc8-1736c9c1767b', '2026-11-26 09:05:54.024807+00', 'operator', 'import', '{"as_of": "2026-06-01T00:00:00.000Z", "orders": 3, "source": "csv", "refunds": 1, "returns": 2, "products": 2, "variants": 3, "order_lines": 5, "sale_events": 0, "data_version": 1, "deleted_rows": 0, "return_labels": 1, "changed_orders": 3, "unchanged_orders": 0}', 'root', NULL);
insert into booking_difference (shop_key, order_id, line_id, booked_on, step, units) values
('1', 'order 2026-01 HAT-1', 'line 1', '2026-01-17', 'order_edits', '1'),
('1', 'order 2026-01 JACKET-M', 'line 1', '2026-01-17', 'order_edits', '1'),
('1', 'order 2026-01 JACKET-M-USED', 'line 1', '2026-01-17', 'order_edits', '1'),
('1', 'order 2026-01 JACKET-S', 'line 1', '2026-01-17', 'order_edits', '1'),
('1', 'order 2026-01 SHIRT-M', 'line 1', '2026-01-17', 'order_edits', '1'),
('1', 'order 2026-01 SHIRT-S', 'line 1', '2026-01-17', 'order_edits', '1'),
('1', 'order 2026-02 HAT-1', 'line 1', '2026-02-17', 'order_edits', '1'),
('1', 'order 2026-02 JACKET-M', 'line 1', '2026-02-17', 'order_edits', '1'),
('1', 'order 2026-02 JACKET-M-USED', 'line 1', '2026-02-17', 'order_edits', '1'),
('1', 'order 2026-02 JACKET-S', 'line 1', '2026-02-17', 'order_edits', '1'),
('1', 'order 2026-02 SHIRT-M', 'line 1', '2026-02-17', 'order_edits', '1'),
('1', 'order 2026-02 SHIRT-S', 'line 1', '2026-02-17', 'order_edits', '1'),
('1', 'order 2026-03 HAT-1', 'line 1', '2026-03-17', 'order_edits', '1'),
('1', 'order 2026-03 JACKET-M', 'line 1', '2026-03-17', 'order_edits', '1'),
('1', 'order 2026-03 JACKET-M-USED', 'line 1', '2026-03-17', 'order_edits', '1'),
('1', 'order 2026-03 JACKET-S', 'line 1', '2026-03-17', 'order_edits', '1'),
('1', 'order 2026-03 SHIRT-M', 'line 1', '2026-03-17', 'order_edits', '1'),
('1', 'order 2026-03 SHIRT-S', 'line 1', '2026-03-17', 'order_edits', '1'),
('2', 'o1', 'l2', '2026-02-01', 'other_days', '-1'),
('2', 'o2', 'l1', '2026-02-20', 'other_days', '-1');
insert into cohort (shop_key, entity_kind, entity_key, cohort_month, listing_id, sold_units, costed_sold_units, requested_units, open_units, closed_units, declined_units, canceled_units, lag_days, returned_units, refunded_units, restocked_units, restocked_cost_minor, costed_returned_units, refund_minor, label_minor, returned_not_refunded_units, labeled_returned_units, return_reasons, return_lag_days, return_units, squared_sold_units, orders, order_lag_days, returned_orders, sold_returned_units, squared_returned_units, sold_minor, valued_sold_units, has_day_money, year_months) values
('1', 'analytics_category', 'Hats', '2026-01-01', '00000000-0000-0000-0000-000000000000', '20', '20', '0', '0', '1', '0', '0', '{12}', '{1}', '{1}', '{1}', '{700}', '{1}', '{1999}', '{450}', '{0}', '{1}', '{SIZE_TOO_SMALL}', '{12}', '{1}', '400', '1', '{12}', '{1}', '{20}', '{1}', '0', '0', NULL, NULL),
('1', 'analytics_category', 'Hats', '2026-02-01', '00000000-0000-0000-0000-000000000000', '21', '21', '0', '0', '2', '0', '0', '{12}', '{2}', '{2}', '{2}', '{1400}', '{2}', '{3998}', '{450}', '{0}', '{2}', '{SIZE_TOO_SMALL}', '{12}', '{2}', '441', '1', '{12}', '{1}', '{42}', '{4}', '0', '0', NULL, NULL),
('1', 'analytics_category', 'Hats', '2026-03-01', '00000000-0000-0000-0000-000000000000', '22', '22', '0', '0', '3', '0', '0', '{12}', '{3}', '{3}', '{3}', '{2100}', '{3}', '{5997}', '{450}', '{0}', '{3}', '{SIZE_TOO_SMALL}', '{12}', '{3}', '484', '1', '{12}', '{1}', '{66}', '{9}', '0', '0', NULL, NULL),
('1', 'analytics_category', 'Jackets', '2026-01-01', '00000000-0000-0000-0000-000000000000', '78', '78', '0', '0', '9', '0', '0', '{12}', '{9}', '{9}', '{9}', '{6300}', '{9}', '{17991}', '{1350}', '{0}', '{9}', '{SIZE_TOO_SMALL}', '{12}', '{9}', '2046', '3', '{12}', '{3}', '{240}', '{29}', '0', '0', NULL, NULL),
('1', 'analytics_category', 'Jackets', '2026-02-01', '00000000-0000-0000-0000-000000000000', '81', '81', '0', '0', '12', '0', '0', '{12}', '{12}', '{12}', '{12}', '{8400}', '{12}', '{23988}', '{1350}', '{0}', '{12}', '{SIZE_TOO_SMALL}', '{12}', '{12}', '2205', '3', '{12}', '{3}', '{330}', '{50}', '0', '0', NULL, NULL),
('1', 'analytics_category', 'Jackets', '2026-03-01', '00000000-0000-0000-0000-000000000000', '84', '84', '0', '0', '10', '0', '0', '{12}', '{10}', '{10}', '{10}', '{7000}', '{10}', '{19990}', '{1350}', '{0}', '{10}', '{SIZE_TOO_SMALL}', '{12}', '{10}', '2370', '3', '{12}', '{3}', '{271}', '{42}', '0', '0', NULL, NULL),
('1', 'analytics_category', 'Shirts', '2026-01-01', '00000000-0000-0000-0000-000000000000', '67', '67', '0', '0', '6', '0', '0', '{12}', '{6}', '{6}', '{6}', '{4200}', '{6}', '{11994}', '{900}', '{0}', '{6}', '{SIZE_TOO_SMALL}', '{12}', '{6}', '2249', '2', '{12}', '{2}', '{195}', '{26}', '0', '0', NULL, NULL),
('1', 'analytics_category', 'Shirts', '2026-02-01', '00000000-0000-0000-0000-000000000000', '69', '69', '0', '0', '3', '0', '0', '{12}', '{3}', '{3}', '{3}', '{2100}', '{3}', '{5997}', '{900}', '{0}', '{3}', '{SIZE_TOO_SMALL}', '{12}', '{3}', '2385', '2', '{12}', '{2}', '{105}', '{5}', '0', '0', NULL, NULL),
('1', 'analytics_category', 'Shirts', '2026-03-01', '00000000-0000-0000-0000-000000000000', '71', '71', '0', '0', '5', '0', '0', '{12}', '{5}', '{5}', '{5}', '{3500}', '{5}', '{9995}', '{900}', '{0}', '{5}', '{SIZE_TOO_SMALL}', '{12}', '{5}', '2525', '2', '{12}', '{2}', '{179}', '{13}', '0', '0', NULL, NULL),
('1', 'family', 'Outerwear', '2026-01-01', '00000000-0000-0000-0000-000000000000', '78', '78', '0', '0', '9', '0', '0', '{12}', '{9}', '{9}', '{9}', '{6300}', '{9}', '{17991}', '{1350}', '{0}', '{9}', '{SIZE_TOO_SMALL}', '{12}', '{9}', '2046', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'family', 'Outerwear', '2026-02-01', '00000000-0000-0000-0000-000000000000', '81', '81', '0', '0', '12', '0', '0', '{12}', '{12}', '{12}', '{12}', '{8400}', '{12}', '{23988}', '{1350}', '{0}', '{12}', '{SIZE_TOO_SMALL}', '{12}', '{12}', '2205', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'family', 'Outerwear', '2026-03-01', '00000000-0000-0000-0000-000000000000', '84', '84', '0', '0', '10', '0', '0', '{12}', '{10}', '{10}', '{10}', '{7000}', '{10}', '{19990}', '{1350}', '{0}', '{10}', '{SIZE_TOO_SMALL}', '{12}', '{10}', '2370', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'family', 'Tops', '2026-01-01', '00000000-0000-0000-0000-000000000000', '87', '87', '0', '0', '7', '0', '0', '{12}', '{7}', '{7}', '{7}', '{4900}', '{7}', '{13993}', '{1350}', '{0}', '{7}', '{SIZE_TOO_SMALL}', '{12}', '{7}', '2649', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'family', 'Tops', '2026-02-01', '00000000-0000-0000-0000-000000000000', '90', '90', '0', '0', '5', '0', '0', '{12}', '{5}', '{5}', '{5}', '{3500}', '{5}', '{9995}', '{1350}', '{0}', '{5}', '{SIZE_TOO_SMALL}', '{12}', '{5}', '2826', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'family', 'Tops', '2026-03-01', '00000000-0000-0000-0000-000000000000', '93', '93', '0', '0', '8', '0', '0', '{12}', '{8}', '{8}', '{8}', '{5600}', '{8}', '{15992}', '{1350}', '{0}', '{8}', '{SIZE_TOO_SMALL}', '{12}', '{8}', '3009', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'product', 'gid://shopify/Product/1', '2026-01-01', '00000000-0000-0000-0000-000000000000', '52', '52', '0', '0', '6', '0', '0', '{12}', '{6}', '{6}', '{6}', '{4200}', '{6}', '{11994}', '{900}', '{0}', '{6}', '{SIZE_TOO_SMALL}', '{12}', '{6}', '1370', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'product', 'gid://shopify/Product/1', '2026-02-01', '00000000-0000-0000-0000-000000000000', '54', '54', '0', '0', '8', '0', '0', '{12}', '{8}', '{8}', '{8}', '{5600}', '{8}', '{15992}', '{900}', '{0}', '{8}', '{SIZE_TOO_SMALL}', '{12}', '{8}', '1476', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'product', 'gid://shopify/Product/1', '2026-03-01', '00000000-0000-0000-0000-000000000000', '56', '56', '0', '0', '5', '0', '0', '{12}', '{5}', '{5}', '{5}', '{3500}', '{5}', '{9995}', '{900}', '{0}', '{5}', '{SIZE_TOO_SMALL}', '{12}', '{5}', '1586', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'product', 'gid://shopify/Product/2', '2026-01-01', '00000000-0000-0000-0000-000000000000', '67', '67', '0', '0', '6', '0', '0', '{12}', '{6}', '{6}', '{6}', '{4200}', '{6}', '{11994}', '{900}', '{0}', '{6}', '{SIZE_TOO_SMALL}', '{12}', '{6}', '2249', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'product', 'gid://shopify/Product/2', '2026-02-01', '00000000-0000-0000-0000-000000000000', '69', '69', '0', '0', '3', '0', '0', '{12}', '{3}', '{3}', '{3}', '{2100}', '{3}', '{5997}', '{900}', '{0}', '{3}', '{SIZE_TOO_SMALL}', '{12}', '{3}', '2385', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'product', 'gid://shopify/Product/2', '2026-03-01', '00000000-0000-0000-0000-000000000000', '71', '71', '0', '0', '5', '0', '0', '{12}', '{5}', '{5}', '{5}', '{3500}', '{5}', '{9995}', '{900}', '{0}', '{5}', '{SIZE_TOO_SMALL}', '{12}', '{5}', '2525', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'product', 'gid://shopify/Product/3', '2026-01-01', '00000000-0000-0000-0000-000000000000', '20', '20', '0', '0', '1', '0', '0', '{12}', '{1}', '{1}', '{1}', '{700}', '{1}', '{1999}', '{450}', '{0}', '{1}', '{SIZE_TOO_SMALL}', '{12}', '{1}', '400', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'product', 'gid://shopify/Product/3', '2026-02-01', '00000000-0000-0000-0000-000000000000', '21', '21', '0', '0', '2', '0', '0', '{12}', '{2}', '{2}', '{2}', '{1400}', '{2}', '{3998}', '{450}', '{0}', '{2}', '{SIZE_TOO_SMALL}', '{12}', '{2}', '441', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'product', 'gid://shopify/Product/3', '2026-03-01', '00000000-0000-0000-0000-000000000000', '22', '22', '0', '0', '3', '0', '0', '{12}', '{3}', '{3}', '{3}', '{2100}', '{3}', '{5997}', '{450}', '{0}', '{3}', '{SIZE_TOO_SMALL}', '{12}', '{3}', '484', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'product_used', 'gid://shopify/Product/1', '2026-01-01', '00000000-0000-0000-0000-000000000000', '26', '26', '0', '0', '3', '0', '0', '{12}', '{3}', '{3}', '{3}', '{2100}', '{3}', '{5997}', '{450}', '{0}', '{3}', '{SIZE_TOO_SMALL}', '{12}', '{3}', '676', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'product_used', 'gid://shopify/Product/1', '2026-02-01', '00000000-0000-0000-0000-000000000000', '27', '27', '0', '0', '4', '0', '0', '{12}', '{4}', '{4}', '{4}', '{2800}', '{4}', '{7996}', '{450}', '{0}', '{4}', '{SIZE_TOO_SMALL}', '{12}', '{4}', '729', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'product_used', 'gid://shopify/Product/1', '2026-03-01', '00000000-0000-0000-0000-000000000000', '28', '28', '0', '0', '5', '0', '0', '{12}', '{5}', '{5}', '{5}', '{3500}', '{5}', '{9995}', '{450}', '{0}', '{5}', '{SIZE_TOO_SMALL}', '{12}', '{5}', '784', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'HAT-1', '2026-01-01', '2ef74449-9941-2fa4-8938-2c484786c872', '20', '20', '0', '0', '1', '0', '0', '{12}', '{1}', '{1}', '{1}', '{700}', '{1}', '{1999}', '{450}', '{0}', '{1}', '{SIZE_TOO_SMALL}', '{12}', '{1}', '400', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'HAT-1', '2026-02-01', '2ef74449-9941-2fa4-8938-2c484786c872', '21', '21', '0', '0', '2', '0', '0', '{12}', '{2}', '{2}', '{2}', '{1400}', '{2}', '{3998}', '{450}', '{0}', '{2}', '{SIZE_TOO_SMALL}', '{12}', '{2}', '441', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'HAT-1', '2026-03-01', '2ef74449-9941-2fa4-8938-2c484786c872', '22', '22', '0', '0', '3', '0', '0', '{12}', '{3}', '{3}', '{3}', '{2100}', '{3}', '{5997}', '{450}', '{0}', '{3}', '{SIZE_TOO_SMALL}', '{12}', '{3}', '484', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'JACKET-M', '2026-01-01', 'a7965560-b1eb-5b39-c16f-bdf865f65a38', '23', '23', '0', '0', '2', '0', '0', '{12}', '{2}', '{2}', '{2}', '{1400}', '{2}', '{3998}', '{450}', '{0}', '{2}', '{SIZE_TOO_SMALL}', '{12}', '{2}', '529', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'JACKET-M', '2026-02-01', 'a7965560-b1eb-5b39-c16f-bdf865f65a38', '24', '24', '0', '0', '3', '0', '0', '{12}', '{3}', '{3}', '{3}', '{2100}', '{3}', '{5997}', '{450}', '{0}', '{3}', '{SIZE_TOO_SMALL}', '{12}', '{3}', '576', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'JACKET-M', '2026-03-01', 'a7965560-b1eb-5b39-c16f-bdf865f65a38', '25', '25', '0', '0', '4', '0', '0', '{12}', '{4}', '{4}', '{4}', '{2800}', '{4}', '{7996}', '{450}', '{0}', '{4}', '{SIZE_TOO_SMALL}', '{12}', '{4}', '625', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'JACKET-M-USED', '2026-01-01', 'cf769a3c-ac7e-03e5-7246-e2ca6acfd49e', '26', '26', '0', '0', '3', '0', '0', '{12}', '{3}', '{3}', '{3}', '{2100}', '{3}', '{5997}', '{450}', '{0}', '{3}', '{SIZE_TOO_SMALL}', '{12}', '{3}', '676', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'JACKET-M-USED', '2026-02-01', 'cf769a3c-ac7e-03e5-7246-e2ca6acfd49e', '27', '27', '0', '0', '4', '0', '0', '{12}', '{4}', '{4}', '{4}', '{2800}', '{4}', '{7996}', '{450}', '{0}', '{4}', '{SIZE_TOO_SMALL}', '{12}', '{4}', '729', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'JACKET-M-USED', '2026-03-01', 'cf769a3c-ac7e-03e5-7246-e2ca6acfd49e', '28', '28', '0', '0', '5', '0', '0', '{12}', '{5}', '{5}', '{5}', '{3500}', '{5}', '{9995}', '{450}', '{0}', '{5}', '{SIZE_TOO_SMALL}', '{12}', '{5}', '784', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'JACKET-S', '2026-01-01', 'a7965560-b1eb-5b39-c16f-bdf865f65a38', '29', '29', '0', '0', '4', '0', '0', '{12}', '{4}', '{4}', '{4}', '{2800}', '{4}', '{7996}', '{450}', '{0}', '{4}', '{SIZE_TOO_SMALL}', '{12}', '{4}', '841', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'JACKET-S', '2026-02-01', 'a7965560-b1eb-5b39-c16f-bdf865f65a38', '30', '30', '0', '0', '5', '0', '0', '{12}', '{5}', '{5}', '{5}', '{3500}', '{5}', '{9995}', '{450}', '{0}', '{5}', '{SIZE_TOO_SMALL}', '{12}', '{5}', '900', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'JACKET-S', '2026-03-01', 'a7965560-b1eb-5b39-c16f-bdf865f65a38', '31', '31', '0', '0', '1', '0', '0', '{12}', '{1}', '{1}', '{1}', '{700}', '{1}', '{1999}', '{450}', '{0}', '{1}', '{SIZE_TOO_SMALL}', '{12}', '{1}', '961', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'SHIRT-M', '2026-01-01', '4d031f20-a87d-9773-223a-b53447ba6234', '32', '32', '0', '0', '5', '0', '0', '{12}', '{5}', '{5}', '{5}', '{3500}', '{5}', '{9995}', '{450}', '{0}', '{5}', '{SIZE_TOO_SMALL}', '{12}', '{5}', '1024', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'SHIRT-M', '2026-02-01', '4d031f20-a87d-9773-223a-b53447ba6234', '33', '33', '0', '0', '1', '0', '0', '{12}', '{1}', '{1}', '{1}', '{700}', '{1}', '{1999}', '{450}', '{0}', '{1}', '{SIZE_TOO_SMALL}', '{12}', '{1}', '1089', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'SHIRT-M', '2026-03-01', '4d031f20-a87d-9773-223a-b53447ba6234', '34', '34', '0', '0', '2', '0', '0', '{12}', '{2}', '{2}', '{2}', '{1400}', '{2}', '{3998}', '{450}', '{0}', '{2}', '{SIZE_TOO_SMALL}', '{12}', '{2}', '1156', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'SHIRT-S', '2026-01-01', '4d031f20-a87d-9773-223a-b53447ba6234', '35', '35', '0', '0', '1', '0', '0', '{12}', '{1}', '{1}', '{1}', '{700}', '{1}', '{1999}', '{450}', '{0}', '{1}', '{SIZE_TOO_SMALL}', '{12}', '{1}', '1225', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'SHIRT-S', '2026-02-01', '4d031f20-a87d-9773-223a-b53447ba6234', '36', '36', '0', '0', '2', '0', '0', '{12}', '{2}', '{2}', '{2}', '{1400}', '{2}', '{3998}', '{450}', '{0}', '{2}', '{SIZE_TOO_SMALL}', '{12}', '{2}', '1296', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'sku', 'SHIRT-S', '2026-03-01', '4d031f20-a87d-9773-223a-b53447ba6234', '37', '37', '0', '0', '3', '0', '0', '{12}', '{3}', '{3}', '{3}', '{2100}', '{3}', '{5997}', '{450}', '{0}', '{3}', '{SIZE_TOO_SMALL}', '{12}', '{3}', '1369', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'vendor', 'Nordwind', '2026-01-01', '00000000-0000-0000-0000-000000000000', '78', '78', '0', '0', '9', '0', '0', '{12}', '{9}', '{9}', '{9}', '{6300}', '{9}', '{17991}', '{1350}', '{0}', '{9}', '{SIZE_TOO_SMALL}', '{12}', '{9}', '2046', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'vendor', 'Nordwind', '2026-02-01', '00000000-0000-0000-0000-000000000000', '81', '81', '0', '0', '12', '0', '0', '{12}', '{12}', '{12}', '{12}', '{8400}', '{12}', '{23988}', '{1350}', '{0}', '{12}', '{SIZE_TOO_SMALL}', '{12}', '{12}', '2205', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'vendor', 'Nordwind', '2026-03-01', '00000000-0000-0000-0000-000000000000', '84', '84', '0', '0', '10', '0', '0', '{12}', '{10}', '{10}', '{10}', '{7000}', '{10}', '{19990}', '{1350}', '{0}', '{10}', '{SIZE_TOO_SMALL}', '{12}', '{10}', '2370', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'vendor', 'Südstern', '2026-01-01', '00000000-0000-0000-0000-000000000000', '67', '67', '0', '0', '6', '0', '0', '{12}', '{6}', '{6}', '{6}', '{4200}', '{6}', '{11994}', '{900}', '{0}', '{6}', '{SIZE_TOO_SMALL}', '{12}', '{6}', '2249', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'vendor', 'Südstern', '2026-02-01', '00000000-0000-0000-0000-000000000000', '69', '69', '0', '0', '3', '0', '0', '{12}', '{3}', '{3}', '{3}', '{2100}', '{3}', '{5997}', '{900}', '{0}', '{3}', '{SIZE_TOO_SMALL}', '{12}', '{3}', '2385', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'vendor', 'Südstern', '2026-03-01', '00000000-0000-0000-0000-000000000000', '71', '71', '0', '0', '5', '0', '0', '{12}', '{5}', '{5}', '{5}', '{3500}', '{5}', '{9995}', '{900}', '{0}', '{5}', '{SIZE_TOO_SMALL}', '{12}', '{5}', '2525', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('1', 'workspace', '', '2026-01-01', '00000000-0000-0000-0000-000000000000', '165', '165', '0', '0', '16', '0', '0', '{12}', '{16}', '{16}', '{16}', '{11200}', '{16}', '{31984}', '{2700}', '{0}', '{16}', '{SIZE_TOO_SMALL}', '{12}', '{16}', '4695', '6', '{12}', '{6}', '{455}', '{56}', '0', '0', 'true', '1'),
('1', 'workspace', '', '2026-02-01', '00000000-0000-0000-0000-000000000000', '171', '171', '0', '0', '17', '0', '0', '{12}', '{17}', '{17}', '{17}', '{11900}', '{17}', '{33983}', '{2700}', '{0}', '{17}', '{SIZE_TOO_SMALL}', '{12}', '{17}', '5031', '6', '{12}', '{6}', '{477}', '{59}', '0', '0', 'true', '2'),
('1', 'workspace', '', '2026-03-01', '00000000-0000-0000-0000-000000000000', '177', '177', '0', '0', '18', '0', '0', '{12}', '{18}', '{18}', '{18}', '{12600}', '{18}', '{35982}', '{2700}', '{0}', '{18}', '{SIZE_TOO_SMALL}', '{12}', '{18}', '5379', '6', '{12}', '{6}', '{516}', '{64}', '0', '0', 'true', '2'),
('2', 'family', 'Tops', '2026-01-01', '00000000-0000-0000-0000-000000000000', '5', '0', '0', '0', '1', '0', '0', '{15,27}', '{1,2}', '{1,1}', '{1,1}', '{0,0}', '{0,0}', '{500,500}', '{0,0}', '{0,1}', '{0,0}', '{" refund_only",too_small}', '{15,27}', '{1,1}', '25', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('2', 'product', 'gid://import/Product/p1', '2026-01-01', '00000000-0000-0000-0000-000000000000', '3', '0', '0', '0', '0', '0', '0', '{15}', '{1}', '{1}', '{1}', '{0}', '{0}', '{500}', '{0}', '{0}', '{0}', '{" refund_only"}', '{15}', '{1}', '9', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('2', 'product', 'gid://import/Product/p2', '2026-02-01', '00000000-0000-0000-0000-000000000000', '5', '0', '0', '0', '0', '0', '0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '25', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('2', 'product_used', 'gid://import/Product/p1', '2026-01-01', '00000000-0000-0000-0000-000000000000', '2', '0', '0', '0', '1', '0', '0', '{27}', '{1}', '{0}', '{0}', '{0}', '{0}', '{0}', '{0}', '{1}', '{0}', '{too_small}', '{27}', '{1}', '4', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('2', 'product_used', 'gid://import/Product/p2', '2026-02-01', '00000000-0000-0000-0000-000000000000', '4', '0', '0', '0', '1', '0', '0', '{14,16}', '{1,1}', '{0,0}', '{0,0}', '{0,0}', '{0,0}', '{0,0}', '{0,400}', '{1,1}', '{0,1}', '{" unspecified"}', '{14}', '{1}', '16', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('2', 'sku', '', '2026-02-01', '5551ba26-dd7b-af26-77ca-742fc59b59d3', '4', '0', '0', '0', '1', '0', '0', '{14,16}', '{1,1}', '{0,0}', '{0,0}', '{0,0}', '{0,0}', '{0,0}', '{0,400}', '{1,1}', '{0,1}', '{" unspecified"}', '{14}', '{1}', '16', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('2', 'sku', 'CAP', '2026-02-01', '965004b4-7c54-7b1e-cc18-28554300ef0c', '2', '0', '0', '0', '0', '0', '0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '4', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('2', 'sku', 'HAT', '2026-01-01', '77b53fe9-6c8b-256f-4d5b-d2b0792a3141', '3', '0', '0', '0', '0', '0', '0', '{15}', '{1}', '{1}', '{1}', '{0}', '{0}', '{500}', '{0}', '{0}', '{0}', '{" refund_only"}', '{15}', '{1}', '9', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('2', 'sku', 'HAT', '2026-02-01', '43be6460-042f-8d0a-1d82-0518856e6b76', '5', '0', '0', '0', '0', '0', '0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '25', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('2', 'sku', 'HAT-U', '2026-01-01', '1e7be8dd-a293-0886-38be-b4866d8adb1f', '2', '0', '0', '0', '1', '0', '0', '{27}', '{1}', '{0}', '{0}', '{0}', '{0}', '{0}', '{0}', '{1}', '{0}', '{too_small}', '{27}', '{1}', '4', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('2', 'vendor', 'Acme', '2026-01-01', '00000000-0000-0000-0000-000000000000', '5', '0', '0', '0', '1', '0', '0', '{15,27}', '{1,2}', '{1,1}', '{1,1}', '{0,0}', '{0,0}', '{500,500}', '{0,0}', '{0,1}', '{0,0}', '{" refund_only",too_small}', '{15,27}', '{1,1}', '25', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('2', 'vendor', 'Best', '2026-02-01', '00000000-0000-0000-0000-000000000000', '9', '0', '0', '0', '1', '0', '0', '{14,16}', '{1,1}', '{0,0}', '{0,0}', '{0,0}', '{0,0}', '{0,0}', '{0,400}', '{1,1}', '{0,1}', '{" unspecified"}', '{14}', '{1}', '41', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('2', 'vendor', 'Solo', '2026-02-01', '00000000-0000-0000-0000-000000000000', '2', '0', '0', '0', '0', '0', '0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '4', NULL, NULL, NULL, NULL, NULL, '0', '0', NULL, NULL),
('2', 'workspace', '', '2026-01-01', '00000000-0000-0000-0000-000000000000', '5', '0', '0', '0', '1', '0', '0', '{15,27}', '{1,2}', '{1,1}', '{1,1}', '{0,0}', '{0,0}', '{500,500}', '{0,0}', '{0,1}', '{0,0}', '{" refund_only",too_small}', '{15,27}', '{1,1}', '25', '1', '{15,27}', '{1,1}', '{5,10}', '{1,4}', '0', '0', 'true', '2'),
('2', 'workspace', '', '2026-02-01', '00000000-0000-0000-0000-000000000000', '11', '0', '0', '0', '1', '0', '0', '{14,16}', '{1,1}', '{0,0}', '{0,0}', '{0,0}', '{0,0}', '{0,0}', '{0,400}', '{1,1}', '{0,1}', '{" unspecified"}', '{14}', '{1}', '65', '2', '{14}', '{1}', '{4}', '{1}', '0', '0', 'true', '2');
insert into console_challenge (challenge_hash, purpose, user_id, expires_at) values
(E'\\xabababababababababababababababababababababababababababababababab', 'prove', '5eb3ec76-2c37-45b9-9d96-b6f745039268', '2026-07-02 00:00:00+00');
insert into console_link (link_hash, user_id, created_at, expires_at, used_at, purpose, rights, made_by, leads_to, email) values
(E'\\xabababababababababababababababababababababababababababababababab', '5eb3ec76-2c37-45b9-9d96-b6f745039268', '2026-07-01 00:00:00+00', '2026-07-02 00:00:00+00', NULL, 'enter', '', NULL, NULL, NULL);
insert into console_passkey (credential_id, user_id, rp_id, public_key, counter, transports, name, created_at, last_used_at) values
(E'\\x01', '5eb3ec76-2c37-45b9-9d96-b6f745039268', 'localhost', E'\\x02', '3', '{internal}', 'Laptop', '2026-07-01 00:00:00+00', NULL);
insert into console_session (session_hash, user_id, created_at, last_seen_at, idle_until, ends_at, proved_at, id_token, is_operator) values
(E'\\xabababababababababababababababababababababababababababababababab', '5eb3ec76-2c37-45b9-9d96-b6f745039268', '2026-07-01 00:00:00+00', '2026-07-01 00:00:00+00', '2026-07-02 00:00:00+00', '2026-07-03 00:00:00+00', '2026-07-01 00:00:00+00', NULL, 'false');
insert into console_user (user_id, name, is_operator, created_at, disabled_at, last_shop_key, last_seen_at) values
('5eb3ec76-2c37-45b9-9d96-b6f745039268', 'owner of 1', 'false', '2026-11-26 09:05:53.971199+00', NULL, NULL, NULL);
insert into coordinator (is_only_row) values
('true');
insert into daily_usage (shop_key, day, requests) values
('1', '2026-01-01', '0');
insert into data_source (shop_key, source, kind, is_connection, status, currency_code, last_synced_at, last_error, sealed_credentials, settings, cursor, created_at, poll_at, reread_at) values
('1', 'csv', 'store', 'false', 'ok', NULL, '2026-07-01 06:00:00+00', NULL, NULL, '{}', NULL, '2026-11-26 09:05:53.558374+00', NULL, NULL),
('1', 'labels', 'label_cost', 'false', 'ok', 'EUR', '2026-07-01 05:00:00+00', NULL, NULL, '{}', NULL, '2026-11-26 09:05:53.900906+00', NULL, NULL),
('2', 'csv', 'store', 'false', 'ok', NULL, '2026-06-01 00:00:00+00', NULL, NULL, '{}', NULL, '2026-11-26 09:05:54.024807+00', NULL, NULL),
('2', 'csv_labels', 'label_cost', 'false', 'ok', 'EUR', '2026-06-01 00:00:00+00', NULL, NULL, '{}', NULL, '2026-11-26 09:05:54.024807+00', NULL, NULL);
insert into dirty_cohort (shop_key, cohort_month) values
('1', '2020-01-01');
insert into entity (shop_key, type_rank, label, entity_key, product_group_type, subtitle, product_gid, sku, product_title, vendor, search_text) values
('1', '1', 'HAT-1', 'HAT-1', '', 'Hat', 'gid://shopify/Product/3', 'HAT-1', 'Hat', NULL, 'hat-1
hat
null'),
('1', '1', 'JACKET-M', 'JACKET-M', '', 'Crème Jacket', 'gid://shopify/Product/1', 'JACKET-M', 'Crème Jacket', 'Nordwind', 'jacket-m
crème jacket
nordwind'),
('1', '1', 'JACKET-M-USED', 'JACKET-M-USED', '', 'Crème Jacket', 'gid://shopify/Product/1', 'JACKET-M-USED', 'Crème Jacket', 'Nordwind', 'jacket-m-used
crème jacket
nordwind'),
('1', '1', 'JACKET-S', 'JACKET-S', '', 'Crème Jacket', 'gid://shopify/Product/1', 'JACKET-S', 'Crème Jacket', 'Nordwind', 'jacket-s
crème jacket
nordwind'),
('1', '1', 'SHIRT-M', 'SHIRT-M', '', 'Plain Shirt', 'gid://shopify/Product/2', 'SHIRT-M', 'Plain Shirt', 'Südstern', 'shirt-m
plain shirt
südstern'),
('1', '1', 'SHIRT-S', 'SHIRT-S', '', 'Plain Shirt', 'gid://shopify/Product/2', 'SHIRT-S', 'Plain Shirt', 'Südstern', 'shirt-s
plain shirt
südstern'),
('1', '2', 'Crème Jacket', 'gid://shopify/Product/1', '', 'Nordwind', 'gid://shopify/Product/1', NULL, 'Crème Jacket', 'Nordwind', 'crème jacket
nordwind'),
('1', '2', 'Plain Shirt', 'gid://shopify/Product/2', '', 'Südstern', 'gid://shopify/Product/2', NULL, 'Plain Shirt', 'Südstern', 'plain shirt
südstern'),
('1', '2', 'Hat', 'gid://shopify/Product/3', '', NULL, 'gid://shopify/Product/3', NULL, 'Hat', NULL, 'hat
null'),
('1', '3', 'Hats', 'Hats', 'analytics_category', 'analytics_category', NULL, NULL, NULL, NULL, 'hats'),
('1', '3', 'Jackets', 'Jackets', 'analytics_category', 'analytics_category', NULL, NULL, NULL, NULL, 'jackets'),
('1', '3', 'Outerwear', 'Outerwear', 'family', 'family', NULL, NULL, NULL, NULL, 'outerwear'),
('1', '3', 'Shirts', 'Shirts', 'analytics_category', 'analytics_category', NULL, NULL, NULL, NULL, 'shirts'),
('1', '3', 'Tops', 'Tops', 'family', 'family', NULL, NULL, NULL, NULL, 'tops'),
('2', '1', 'CAP', 'CAP', '', NULL, NULL, 'CAP', NULL, 'Solo', 'cap
solo'),
('2', '1', 'HAT', 'HAT', '', 'Hat', 'gid://import/Product/p1', 'HAT', 'Hat', 'Acme', 'hat
acme'),
('2', '1', 'HAT-U', 'HAT-U', '', 'Hat', 'gid://import/Product/p1', 'HAT-U', 'Hat', 'Acme', 'hat-u
hat
acme'),
('2', '2', 'Hat', 'gid://import/Product/p1', '', 'Acme', 'gid://import/Product/p1', NULL, 'Hat', 'Acme', 'hat
acme'),
('2', '2', 'Shoe', 'gid://import/Product/p2', '', 'Best', 'gid://import/Product/p2', NULL, 'Shoe', 'Best', 'shoe
best'),
('2', '3', 'Tops', 'Tops', 'family', 'family', NULL, NULL, NULL, NULL, 'tops');
insert into group_day (shop_key, entity_kind, entity_key, sold_on, sold_units, sold_lines, lag_days, returned_units, returned_lines, squared_sold_units, orders, sold_minor, valued_sold_units, refunded_units, refund_minor, label_minor) values
('1', 'analytics_category', 'Hats', '2026-01-05', '20', '1', '{12}', '{1}', '{1}', '400', '1', '0', '0', '{1}', '{1999}', '{450}'),
('1', 'analytics_category', 'Hats', '2026-02-05', '21', '1', '{12}', '{2}', '{1}', '441', '1', '0', '0', '{2}', '{3998}', '{450}'),
('1', 'analytics_category', 'Hats', '2026-03-05', '22', '1', '{12}', '{3}', '{1}', '484', '1', '0', '0', '{3}', '{5997}', '{450}'),
('1', 'analytics_category', 'Jackets', '2026-01-05', '78', '3', '{12}', '{9}', '{3}', '2046', '3', '0', '0', '{9}', '{17991}', '{1350}'),
('1', 'analytics_category', 'Jackets', '2026-02-05', '81', '3', '{12}', '{12}', '{3}', '2205', '3', '0', '0', '{12}', '{23988}', '{1350}'),
('1', 'analytics_category', 'Jackets', '2026-03-05', '84', '3', '{12}', '{10}', '{3}', '2370', '3', '0', '0', '{10}', '{19990}', '{1350}'),
('1', 'analytics_category', 'Shirts', '2026-01-05', '67', '2', '{12}', '{6}', '{2}', '2249', '2', '0', '0', '{6}', '{11994}', '{900}'),
('1', 'analytics_category', 'Shirts', '2026-02-05', '69', '2', '{12}', '{3}', '{2}', '2385', '2', '0', '0', '{3}', '{5997}', '{900}'),
('1', 'analytics_category', 'Shirts', '2026-03-05', '71', '2', '{12}', '{5}', '{2}', '2525', '2', '0', '0', '{5}', '{9995}', '{900}'),
('1', 'family', 'Outerwear', '2026-01-05', '78', '3', '{12}', '{9}', '{3}', '2046', '3', '0', '0', '{9}', '{17991}', '{1350}'),
('1', 'family', 'Outerwear', '2026-02-05', '81', '3', '{12}', '{12}', '{3}', '2205', '3', '0', '0', '{12}', '{23988}', '{1350}'),
('1', 'family', 'Outerwear', '2026-03-05', '84', '3', '{12}', '{10}', '{3}', '2370', '3', '0', '0', '{10}', '{19990}', '{1350}'),
('1', 'family', 'Tops', '2026-01-05', '87', '3', '{12}', '{7}', '{3}', '2649', '3', '0', '0', '{7}', '{13993}', '{1350}'),
('1', 'family', 'Tops', '2026-02-05', '90', '3', '{12}', '{5}', '{3}', '2826', '3', '0', '0', '{5}', '{9995}', '{1350}'),
('1', 'family', 'Tops', '2026-03-05', '93', '3', '{12}', '{8}', '{3}', '3009', '3', '0', '0', '{8}', '{15992}', '{1350}'),
('1', 'vendor', 'Nordwind', '2026-01-05', '78', '3', '{12}', '{9}', '{3}', '2046', '3', '0', '0', '{9}', '{17991}', '{1350}'),
('1', 'vendor', 'Nordwind', '2026-02-05', '81', '3', '{12}', '{12}', '{3}', '2205', '3', '0', '0', '{12}', '{23988}', '{1350}'),
('1', 'vendor', 'Nordwind', '2026-03-05', '84', '3', '{12}', '{10}', '{3}', '2370', '3', '0', '0', '{10}', '{19990}', '{1350}'),
('1', 'vendor', 'Südstern', '2026-01-05', '67', '2', '{12}', '{6}', '{2}', '2249', '2', '0', '0', '{6}', '{11994}', '{900}'),
('1', 'vendor', 'Südstern', '2026-02-05', '69', '2', '{12}', '{3}', '{2}', '2385', '2', '0', '0', '{3}', '{5997}', '{900}'),
('1', 'vendor', 'Südstern', '2026-03-05', '71', '2', '{12}', '{5}', '{2}', '2525', '2', '0', '0', '{5}', '{9995}', '{900}'),
('1', 'workspace', '', '2026-01-05', '165', '6', '{12}', '{16}', '{6}', '4695', '6', '0', '0', '{16}', '{31984}', '{2700}'),
('1', 'workspace', '', '2026-02-05', '171', '6', '{12}', '{17}', '{6}', '5031', '6', '0', '0', '{17}', '{33983}', '{2700}'),
('1', 'workspace', '', '2026-03-05', '177', '6', '{12}', '{18}', '{6}', '5379', '6', '0', '0', '{18}', '{35982}', '{2700}'),
('2', 'family', 'Tops', '2026-01-05', '5', '2', '{15,27}', '{1,2}', '{1,2}', '25', '1', '0', '0', '{1,1}', '{500,500}', '{0,0}'),
('2', 'vendor', 'Acme', '2026-01-05', '5', '2', '{15,27}', '{1,2}', '{1,2}', '25', '1', '0', '0', '{1,1}', '{500,500}', '{0,0}'),
('2', 'vendor', 'Best', '2026-02-06', '4', '1', '{14,16}', '{1,1}', '{1,1}', '16', '1', '0', '0', '{0,0}', '{0,0}', '{0,400}'),
('2', 'vendor', 'Best', '2026-02-07', '5', '1', NULL, NULL, NULL, '25', '1', '0', '0', NULL, NULL, NULL),
('2', 'vendor', 'Solo', '2026-02-07', '2', '1', NULL, NULL, NULL, '4', '1', '0', '0', NULL, NULL, NULL),
('2', 'workspace', '', '2026-01-05', '5', '2', '{15,27}', '{1,2}', '{1,2}', '25', '1', '0', '0', '{1,1}', '{500,500}', '{0,0}'),
('2', 'workspace', '', '2026-02-06', '4', '1', '{14,16}', '{1,1}', '{1,1}', '16', '1', '0', '0', '{0,0}', '{0,0}', '{0,400}'),
('2', 'workspace', '', '2026-02-07', '7', '2', NULL, NULL, NULL, '49', '1', '0', '0', NULL, NULL, NULL);
insert into identity_event (audit_id, happened_at, actor, action, detail, origin, before) values
('b1bbf041-8905-4fe3-861e-18cf586a57a4', '2026-11-26 09:05:54.319425+00', 'operator', 'plan.set', '{"plan": "own"}', NULL, NULL);
insert into import_part (shop_key, upload_id, file_name, part_number, sha256, bytes) values
('1', '97fedcae-cffb-4a34-b804-9d0d3374f2c2', 'products.csv', '0', E'\\x0000000000000000000000000000000000000000000000000000000000000000', E'\\x6f');
insert into import_upload (shop_key, upload_id, status, created_by, created_at, expires_at, files, as_of, requested_by, requested_origin, skip_invalid, attempt, started_at, stage, done, total, result, error, finished_at) values
('1', '97fedcae-cffb-4a34-b804-9d0d3374f2c2', 'sending', 'owner', '2026-07-01 05:00:00+00', '2100-01-01 00:00:00+00', '[{"name": "products.csv", "bytes": 1}]', '2026-07-01 00:00:00+00', NULL, NULL, 'false', '0', NULL, NULL, '0', NULL, NULL, NULL, NULL);
insert into installation (is_only_row, secret_fingerprint, backed_up_at) values
('true', E'\\xcbb613351ed75d7b9c61fb0ff5a9ddd42651daf413bec7300459383c6794b163', NULL);
insert into installation_secret (version, fingerprint, sealed_keys, created_at, retired_at, is_only_row) values
('1', E'\\xcbb613351ed75d7b9c61fb0ff5a9ddd42651daf413bec7300459383c6794b163', E'\\x3b0cd89e8bd0ee5c0d14b63bea1d49cb8381045ed6d5ded7dfd12409e5268a08224224b0760ea651b2cc9ad78a0b6d66ded50d011b4f26b6b5525a169e40cf71c08d830f3cf668b28361ca8d0b88f2642414e37781e11719a2da50214d678cd3aa3e81da32c44539eefe1444d6e8e451aab19bb9c1ddf79b31438934547da9d611087829a9bcfe99dbcbc37a08a4f2ac701a33d3675a6f3984aa1bc4086a6a', '2026-11-26 09:05:50.809119+00', NULL, 'true');
insert into label_share (shop_key, order_id, line_id, source, label_id, cohort_month, lag_days, label_minor) values
('1', 'order 2026-01 HAT-1', 'line 1', 'labels', 'label of order 2026-01 HAT-1', '2026-01-01', '12', '450'),
('1', 'order 2026-01 JACKET-M', 'line 1', 'labels', 'label of order 2026-01 JACKET-M', '2026-01-01', '12', '450'),
('1', 'order 2026-01 JACKET-M-USED', 'line 1', 'labels', 'label of order 2026-01 JACKET-M-USED', '2026-01-01', '12', '450'),
('1', 'order 2026-01 JACKET-S', 'line 1', 'labels', 'label of order 2026-01 JACKET-S', '2026-01-01', '12', '450'),
('1', 'order 2026-01 SHIRT-M', 'line 1', 'labels', 'label of order 2026-01 SHIRT-M', '2026-01-01', '12', '450'),
('1', 'order 2026-01 SHIRT-S', 'line 1', 'labels', 'label of order 2026-01 SHIRT-S', '2026-01-01', '12', '450'),
('1', 'order 2026-02 HAT-1', 'line 1', 'labels', 'label of order 2026-02 HAT-1', '2026-02-01', '12', '450'),
('1', 'order 2026-02 JACKET-M', 'line 1', 'labels', 'label of order 2026-02 JACKET-M', '2026-02-01', '12', '450'),
('1', 'order 2026-02 JACKET-M-USED', 'line 1', 'labels', 'label of order 2026-02 JACKET-M-USED', '2026-02-01', '12', '450'),
('1', 'order 2026-02 JACKET-S', 'line 1', 'labels', 'label of order 2026-02 JACKET-S', '2026-02-01', '12', '450'),
('1', 'order 2026-02 SHIRT-M', 'line 1', 'labels', 'label of order 2026-02 SHIRT-M', '2026-02-01', '12', '450'),
('1', 'order 2026-02 SHIRT-S', 'line 1', 'labels', 'label of order 2026-02 SHIRT-S', '2026-02-01', '12', '450'),
('1', 'order 2026-03 HAT-1', 'line 1', 'labels', 'label of order 2026-03 HAT-1', '2026-03-01', '12', '450'),
('1', 'order 2026-03 JACKET-M', 'line 1', 'labels', 'label of order 2026-03 JACKET-M', '2026-03-01', '12', '450'),
('1', 'order 2026-03 JACKET-M-USED', 'line 1', 'labels', 'label of order 2026-03 JACKET-M-USED', '2026-03-01', '12', '450'),
('1', 'order 2026-03 JACKET-S', 'line 1', 'labels', 'label of order 2026-03 JACKET-S', '2026-03-01', '12', '450'),
('1', 'order 2026-03 SHIRT-M', 'line 1', 'labels', 'label of order 2026-03 SHIRT-M', '2026-03-01', '12', '450'),
('1', 'order 2026-03 SHIRT-S', 'line 1', 'labels', 'label of order 2026-03 SHIRT-S', '2026-03-01', '12', '450'),
('2', 'o2', 'l1', 'csv_labels', 'b1', '2026-02-01', '16', '400');
insert into listing (shop_key, sku, listing_id, product_gid, used, counterpart_sku, line_vendor, variant_id) values
('1', 'HAT-1', '2ef74449-9941-2fa4-8938-2c484786c872', 'gid://shopify/Product/3', 'false', '', '', ''),
('1', 'JACKET-M', 'a7965560-b1eb-5b39-c16f-bdf865f65a38', 'gid://shopify/Product/1', 'false', '', '', ''),
('1', 'JACKET-M-USED', 'cf769a3c-ac7e-03e5-7246-e2ca6acfd49e', 'gid://shopify/Product/1', 'true', 'JACKET-M', '', ''),
('1', 'JACKET-S', 'a7965560-b1eb-5b39-c16f-bdf865f65a38', 'gid://shopify/Product/1', 'false', '', '', ''),
('1', 'SHIRT-M', '4d031f20-a87d-9773-223a-b53447ba6234', 'gid://shopify/Product/2', 'false', '', '', ''),
('1', 'SHIRT-S', '4d031f20-a87d-9773-223a-b53447ba6234', 'gid://shopify/Product/2', 'false', '', '', ''),
('2', '', '5551ba26-dd7b-af26-77ca-742fc59b59d3', 'gid://import/Product/p2', 'true', 'HAT', '', 'v3'),
('2', 'CAP', '965004b4-7c54-7b1e-cc18-28554300ef0c', '', 'false', '', 'Solo', ''),
('2', 'HAT', '43be6460-042f-8d0a-1d82-0518856e6b76', 'gid://import/Product/p2', 'false', '', '', 'v1'),
('2', 'HAT', '77b53fe9-6c8b-256f-4d5b-d2b0792a3141', 'gid://import/Product/p1', 'false', '', '', 'v1'),
('2', 'HAT-U', '1e7be8dd-a293-0886-38be-b4866d8adb1f', 'gid://import/Product/p1', 'true', 'HAT', '', 'v2');
insert into oauth_grant (shop_key, token_id, client_hash, redirect_uri, code_hash, code_challenge, code_expires_at, code_used_at, family_hash, refresh_hash, refresh_expires_at) values
('1', '00000000001vqsSs', E'\\x0000000000000000000000000000000000000000000000000000000000000000', 'https://chat.example/callback', E'\\x0000000000000000000000000000000000000000000000000000000000000000', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '2026-07-01 05:00:00+00', NULL, NULL, NULL, NULL);
insert into order_document (shop_key, order_id, document) values
('1', 'order 2026-01 HAT-1', '{"id": "order 2026-01 HAT-1"}'),
('1', 'order 2026-01 JACKET-M', '{"id": "order 2026-01 JACKET-M"}'),
('1', 'order 2026-01 JACKET-M-USED', '{"id": "order 2026-01 JACKET-M-USED"}'),
('1', 'order 2026-01 JACKET-S', '{"id": "order 2026-01 JACKET-S"}'),
('1', 'order 2026-01 SHIRT-M', '{"id": "order 2026-01 SHIRT-M"}'),
('1', 'order 2026-01 SHIRT-S', '{"id": "order 2026-01 SHIRT-S"}'),
('1', 'order 2026-02 HAT-1', '{"id": "order 2026-02 HAT-1"}'),
('1', 'order 2026-02 JACKET-M', '{"id": "order 2026-02 JACKET-M"}'),
('1', 'order 2026-02 JACKET-M-USED', '{"id": "order 2026-02 JACKET-M-USED"}'),
('1', 'order 2026-02 JACKET-S', '{"id": "order 2026-02 JACKET-S"}'),
('1', 'order 2026-02 SHIRT-M', '{"id": "order 2026-02 SHIRT-M"}'),
('1', 'order 2026-02 SHIRT-S', '{"id": "order 2026-02 SHIRT-S"}'),
('1', 'order 2026-03 HAT-1', '{"id": "order 2026-03 HAT-1"}'),
('1', 'order 2026-03 JACKET-M', '{"id": "order 2026-03 JACKET-M"}'),
('1', 'order 2026-03 JACKET-M-USED', '{"id": "order 2026-03 JACKET-M-USED"}'),
('1', 'order 2026-03 JACKET-S', '{"id": "order 2026-03 JACKET-S"}'),
('1', 'order 2026-03 SHIRT-M', '{"id": "order 2026-03 SHIRT-M"}'),
('1', 'order 2026-03 SHIRT-S', '{"id": "order 2026-03 SHIRT-S"}'),
('2', 'o1', '{"lines": [{"units": 3, "lineId": "l1", "variantId": "v1"}, {"sku": "HAT-U", "units": 2, "lineId": "l2"}], "refunds": [{"lineId": "l1", "refundId": "f1", "refundedAt": "2026-01-20T00:00:00.000Z", "restockType": "RETURN", "subtotalMinor": 500}], "returns": [{"lineId": "l2", "reason": "too_small", "closedAt": "2026-02-01T00:00:00.000Z", "returnId": "r1"}], "orderedAt": "2026-01-05T10:00:00.000Z"}'),
('2', 'o2', '{"lines": [{"units": 4, "lineId": "l1", "variantId": "v3"}], "returns": [{"lineId": "l1", "closedAt": "2026-02-20T00:00:00.000Z", "returnId": "r2"}], "orderedAt": "2026-02-06T10:00:00.000Z"}'),
('2', 'o3', '{"lines": [{"sku": "HAT", "units": 5, "lineId": "l1", "productId": "p2"}, {"sku": "CAP", "units": 2, "lineId": "l2", "vendor": "Solo"}], "orderedAt": "2026-02-07T10:00:00.000Z"}');
insert into order_line (shop_key, order_id, line_id, ordered_on, cohort_month, sold_units, line_product_gid, line_variant_id, line_sku, line_title, line_vendor, product_gid, sku, used, counterpart_sku, unit_cost_minor, left_out, sold_minor, variant_id) values
('1', 'order 2026-01 HAT-1', 'line 1', '2026-01-05', '2026-01-01', '20', 'gid://shopify/Product/3', 'variant HAT-1', 'HAT-1', NULL, NULL, 'gid://shopify/Product/3', 'HAT-1', 'false', NULL, '700', NULL, NULL, NULL),
('1', 'order 2026-01 JACKET-M', 'line 1', '2026-01-05', '2026-01-01', '23', 'gid://shopify/Product/1', 'variant JACKET-M', 'JACKET-M', NULL, NULL, 'gid://shopify/Product/1', 'JACKET-M', 'false', NULL, '700', NULL, NULL, NULL),
('1', 'order 2026-01 JACKET-M-USED', 'line 1', '2026-01-05', '2026-01-01', '26', 'gid://shopify/Product/1', 'variant JACKET-M-USED', 'JACKET-M-USED', NULL, NULL, 'gid://shopify/Product/1', 'JACKET-M-USED', 'true', 'JACKET-M', '700', NULL, NULL, NULL),
('1', 'order 2026-01 JACKET-S', 'line 1', '2026-01-05', '2026-01-01', '29', 'gid://shopify/Product/1', 'variant JACKET-S', 'JACKET-S', NULL, NULL, 'gid://shopify/Product/1', 'JACKET-S', 'false', NULL, '700', NULL, NULL, NULL),
('1', 'order 2026-01 SHIRT-M', 'line 1', '2026-01-05', '2026-01-01', '32', 'gid://shopify/Product/2', 'variant SHIRT-M', 'SHIRT-M', NULL, NULL, 'gid://shopify/Product/2', 'SHIRT-M', 'false', NULL, '700', NULL, NULL, NULL),
('1', 'order 2026-01 SHIRT-S', 'line 1', '2026-01-05', '2026-01-01', '35', 'gid://shopify/Product/2', 'variant SHIRT-S', 'SHIRT-S', NULL, NULL, 'gid://shopify/Product/2', 'SHIRT-S', 'false', NULL, '700', NULL, NULL, NULL),
('1', 'order 2026-02 HAT-1', 'line 1', '2026-02-05', '2026-02-01', '21', 'gid://shopify/Product/3', 'variant HAT-1', 'HAT-1', NULL, NULL, 'gid://shopify/Product/3', 'HAT-1', 'false', NULL, '700', NULL, NULL, NULL),
('1', 'order 2026-02 JACKET-M', 'line 1', '2026-02-05', '2026-02-01', '24', 'gid://shopify/Product/1', 'variant JACKET-M', 'JACKET-M', NULL, NULL, 'gid://shopify/Product/1', 'JACKET-M', 'false', NULL, '700', NULL, NULL, NULL),
('1', 'order 2026-02 JACKET-M-USED', 'line 1', '2026-02-05', '2026-02-01', '27', 'gid://shopify/Product/1', 'variant JACKET-M-USED', 'JACKET-M-USED', NULL, NULL, 'gid://shopify/Product/1', 'JACKET-M-USED', 'true', 'JACKET-M', '700', NULL, NULL, NULL),
('1', 'order 2026-02 JACKET-S', 'line 1', '2026-02-05', '2026-02-01', '30', 'gid://shopify/Product/1', 'variant JACKET-S', 'JACKET-S', NULL, NULL, 'gid://shopify/Product/1', 'JACKET-S', 'false', NULL, '700', NULL, NULL, NULL),
('1', 'order 2026-02 SHIRT-M', 'line 1', '2026-02-05', '2026-02-01', '33', 'gid://shopify/Product/2', 'variant SHIRT-M', 'SHIRT-M', NULL, NULL, 'gid://shopify/Product/2', 'SHIRT-M', 'false', NULL, '700', NULL, NULL, NULL),
('1', 'order 2026-02 SHIRT-S', 'line 1', '2026-02-05', '2026-02-01', '36', 'gid://shopify/Product/2', 'variant SHIRT-S', 'SHIRT-S', NULL, NULL, 'gid://shopify/Product/2', 'SHIRT-S', 'false', NULL, '700', NULL, NULL, NULL),
('1', 'order 2026-03 HAT-1', 'line 1', '2026-03-05', '2026-03-01', '22', 'gid://shopify/Product/3', 'variant HAT-1', 'HAT-1', NULL, NULL, 'gid://shopify/Product/3', 'HAT-1', 'false', NULL, '700', NULL, NULL, NULL),
('1', 'order 2026-03 JACKET-M', 'line 1', '2026-03-05', '2026-03-01', '25', 'gid://shopify/Product/1', 'variant JACKET-M', 'JACKET-M', NULL, NULL, 'gid://shopify/Product/1', 'JACKET-M', 'false', NULL, '700', NULL, NULL, NULL),
('1', 'order 2026-03 JACKET-M-USED', 'line 1', '2026-03-05', '2026-03-01', '28', 'gid://shopify/Product/1', 'variant JACKET-M-USED', 'JACKET-M-USED', NULL, NULL, 'gid://shopify/Product/1', 'JACKET-M-USED', 'true', 'JACKET-M', '700', NULL, NULL, NULL),
('1', 'order 2026-03 JACKET-S', 'line 1', '2026-03-05', '2026-03-01', '31', 'gid://shopify/Product/1', 'variant JACKET-S', 'JACKET-S', NULL, NULL, 'gid://shopify/Product/1', 'JACKET-S', 'false', NULL, '700', NULL, NULL, NULL),
('1', 'order 2026-03 SHIRT-M', 'line 1', '2026-03-05', '2026-03-01', '34', 'gid://shopify/Product/2', 'variant SHIRT-M', 'SHIRT-M', NULL, NULL, 'gid://shopify/Product/2', 'SHIRT-M', 'false', NULL, '700', NULL, NULL, NULL),
('1', 'order 2026-03 SHIRT-S', 'line 1', '2026-03-05', '2026-03-01', '37', 'gid://shopify/Product/2', 'variant SHIRT-S', 'SHIRT-S', NULL, NULL, 'gid://shopify/Product/2', 'SHIRT-S', 'false', NULL, '700', NULL, NULL, NULL),
('2', 'o1', 'l1', '2026-01-05', '2026-01-01', '3', NULL, 'v1', NULL, NULL, NULL, 'gid://import/Product/p1', 'HAT', 'false', NULL, NULL, NULL, NULL, 'v1'),
('2', 'o1', 'l2', '2026-01-05', '2026-01-01', '2', NULL, NULL, 'HAT-U', NULL, NULL, 'gid://import/Product/p1', 'HAT-U', 'true', 'HAT', NULL, NULL, NULL, 'v2'),
('2', 'o2', 'l1', '2026-02-06', '2026-02-01', '4', NULL, 'v3', NULL, NULL, NULL, 'gid://import/Product/p2', NULL, 'true', 'HAT', NULL, NULL, NULL, 'v3'),
('2', 'o3', 'l1', '2026-02-07', '2026-02-01', '5', 'gid://import/Product/p2', NULL, 'HAT', NULL, NULL, 'gid://import/Product/p2', 'HAT', 'false', NULL, NULL, NULL, NULL, 'v1'),
('2', 'o3', 'l2', '2026-02-07', '2026-02-01', '2', NULL, NULL, 'CAP', NULL, 'Solo', NULL, 'CAP', 'false', NULL, NULL, NULL, NULL, NULL);
insert into order_reference (shop_key, order_id, order_name) values
('1', 'order 2026-01 HAT-1', 'name of order 2026-01 HAT-1'),
('1', 'order 2026-01 JACKET-M', 'name of order 2026-01 JACKET-M'),
('1', 'order 2026-01 JACKET-M-USED', 'name of order 2026-01 JACKET-M-USED'),
('1', 'order 2026-01 JACKET-S', 'name of order 2026-01 JACKET-S'),
('1', 'order 2026-01 SHIRT-M', 'name of order 2026-01 SHIRT-M'),
('1', 'order 2026-01 SHIRT-S', 'name of order 2026-01 SHIRT-S'),
('1', 'order 2026-02 HAT-1', 'name of order 2026-02 HAT-1'),
('1', 'order 2026-02 JACKET-M', 'name of order 2026-02 JACKET-M'),
('1', 'order 2026-02 JACKET-M-USED', 'name of order 2026-02 JACKET-M-USED'),
('1', 'order 2026-02 JACKET-S', 'name of order 2026-02 JACKET-S'),
('1', 'order 2026-02 SHIRT-M', 'name of order 2026-02 SHIRT-M'),
('1', 'order 2026-02 SHIRT-S', 'name of order 2026-02 SHIRT-S'),
('1', 'order 2026-03 HAT-1', 'name of order 2026-03 HAT-1'),
('1', 'order 2026-03 JACKET-M', 'name of order 2026-03 JACKET-M'),
('1', 'order 2026-03 JACKET-M-USED', 'name of order 2026-03 JACKET-M-USED'),
('1', 'order 2026-03 JACKET-S', 'name of order 2026-03 JACKET-S'),
('1', 'order 2026-03 SHIRT-M', 'name of order 2026-03 SHIRT-M'),
('1', 'order 2026-03 SHIRT-S', 'name of order 2026-03 SHIRT-S');
insert into pending_record (shop_key, source, kind, record_id, requested_at) values
('1', 'labels', 'order', 'pending order', '2026-11-26 09:05:53.926122+00');
insert into plan (plan_key, entitlements, daily_quota) values
('enterprise', '{api_access,data_export,full_leaderboards}', NULL),
('growth', '{api_access}', '1000'),
('plan-1', '{api_access,data_export,full_leaderboards}', NULL),
('plan-2', '{api_access,data_export,full_leaderboards}', NULL),
('scale', '{api_access,data_export,full_leaderboards}', '25000'),
('starter', '{}', '0');
insert into plan_request (shop_key, plan_key, reason, asked_by, asked_at) values
('1', 'scale', 'We need the CSV.', 'owner', '2026-06-30 12:00:00+00');
insert into product (shop_key, product_gid, title, handle, vendor, family, analytics_category, image_url, image_alt, from_lines) values
('1', 'gid://shopify/Product/1', 'Crème Jacket', 'crème jacket', 'Nordwind', 'Outerwear', 'Jackets', 'https://images.example/Crème Jacket.png', 'Crème Jacket', 'false'),
('1', 'gid://shopify/Product/2', 'Plain Shirt', 'plain shirt', 'Südstern', 'Tops', 'Shirts', 'https://images.example/Plain Shirt.png', 'Plain Shirt', 'false'),
('1', 'gid://shopify/Product/3', 'Hat', 'hat', NULL, 'Tops', 'Hats', 'https://images.example/Hat.png', 'Hat', 'false'),
('2', 'gid://import/Product/p1', 'Hat', NULL, 'Acme', 'Tops', NULL, NULL, NULL, 'false'),
('2', 'gid://import/Product/p2', 'Shoe', NULL, 'Best', NULL, NULL, NULL, NULL, 'false');
insert into provider_account (issuer, subject, user_id, email, linked_at, last_used_at) values
('https://login.example', 'ada', '5eb3ec76-2c37-45b9-9d96-b6f745039268', NULL, '2026-07-01 00:00:00+00', '2026-07-01 00:00:00+00');
insert into quiet_runs (shop_key, source, kind, day, runs, first_at, last_at) values
('1', 'labels', 'incremental', '2026-07-01', '3', '2026-07-01 02:00:00+00', '2026-07-01 04:00:00+00');
insert into redacted_order (shop_key, order_id) values
('1', 'redacted order');
insert into removed_member (shop_key, user_id, role, removed_at) values
('1', '5eb3ec76-2c37-45b9-9d96-b6f745039268', 'viewer', '2026-07-01 05:00:00+00');
insert into return_event (shop_key, order_id, line_id, event_number, cohort_month, lag_days, occurred_on, reason, returned_units, refunded_units, restocked_units, refund_minor, exchanged_units, other_units, exchange_refund_minor, kept_minor) values
('1', 'order 2026-01 HAT-1', 'line 1', '1', '2026-01-01', '12', '2026-01-17', 'SIZE_TOO_SMALL', '1', '1', '1', '1999', '0', '0', '0', '0'),
('1', 'order 2026-01 JACKET-M', 'line 1', '1', '2026-01-01', '12', '2026-01-17', 'SIZE_TOO_SMALL', '2', '2', '2', '3998', '0', '0', '0', '0'),
('1', 'order 2026-01 JACKET-M-USED', 'line 1', '1', '2026-01-01', '12', '2026-01-17', 'SIZE_TOO_SMALL', '3', '3', '3', '5997', '0', '0', '0', '0'),
('1', 'order 2026-01 JACKET-S', 'line 1', '1', '2026-01-01', '12', '2026-01-17', 'SIZE_TOO_SMALL', '4', '4', '4', '7996', '0', '0', '0', '0'),
('1', 'order 2026-01 SHIRT-M', 'line 1', '1', '2026-01-01', '12', '2026-01-17', 'SIZE_TOO_SMALL', '5', '5', '5', '9995', '0', '0', '0', '0'),
('1', 'order 2026-01 SHIRT-S', 'line 1', '1', '2026-01-01', '12', '2026-01-17', 'SIZE_TOO_SMALL', '1', '1', '1', '1999', '0', '0', '0', '0'),
('1', 'order 2026-02 HAT-1', 'line 1', '1', '2026-02-01', '12', '2026-02-17', 'SIZE_TOO_SMALL', '2', '2', '2', '3998', '0', '0', '0', '0'),
('1', 'order 2026-02 JACKET-M', 'line 1', '1', '2026-02-01', '12', '2026-02-17', 'SIZE_TOO_SMALL', '3', '3', '3', '5997', '0', '0', '0', '0'),
('1', 'order 2026-02 JACKET-M-USED', 'line 1', '1', '2026-02-01', '12', '2026-02-17', 'SIZE_TOO_SMALL', '4', '4', '4', '7996', '0', '0', '0', '0'),
('1', 'order 2026-02 JACKET-S', 'line 1', '1', '2026-02-01', '12', '2026-02-17', 'SIZE_TOO_SMALL', '5', '5', '5', '9995', '0', '0', '0', '0'),
('1', 'order 2026-02 SHIRT-M', 'line 1', '1', '2026-02-01', '12', '2026-02-17', 'SIZE_TOO_SMALL', '1', '1', '1', '1999', '0', '0', '0', '0'),
('1', 'order 2026-02 SHIRT-S', 'line 1', '1', '2026-02-01', '12', '2026-02-17', 'SIZE_TOO_SMALL', '2', '2', '2', '3998', '0', '0', '0', '0'),
('1', 'order 2026-03 HAT-1', 'line 1', '1', '2026-03-01', '12', '2026-03-17', 'SIZE_TOO_SMALL', '3', '3', '3', '5997', '0', '0', '0', '0'),
('1', 'order 2026-03 JACKET-M', 'line 1', '1', '2026-03-01', '12', '2026-03-17', 'SIZE_TOO_SMALL', '4', '4', '4', '7996', '0', '0', '0', '0'),
('1', 'order 2026-03 JACKET-M-USED', 'line 1', '1', '2026-03-01', '12', '2026-03-17', 'SIZE_TOO_SMALL', '5', '5', '5', '9995', '0', '0', '0', '0'),
('1', 'order 2026-03 JACKET-S', 'line 1', '1', '2026-03-01', '12', '2026-03-17', 'SIZE_TOO_SMALL', '1', '1', '1', '1999', '0', '0', '0', '0'),
('1', 'order 2026-03 SHIRT-M', 'line 1', '1', '2026-03-01', '12', '2026-03-17', 'SIZE_TOO_SMALL', '2', '2', '2', '3998', '0', '0', '0', '0'),
('1', 'order 2026-03 SHIRT-S', 'line 1', '1', '2026-03-01', '12', '2026-03-17', 'SIZE_TOO_SMALL', '3', '3', '3', '5997', '0', '0', '0', '0'),
('2', 'o1', 'l1', '0', '2026-01-01', '15', '2026-01-20', ' refund_only', '1', '1', '1', '500', '0', '0', '0', '0'),
('2', 'o1', 'l2', '1', '2026-01-01', '27', '2026-02-01', 'too_small', '1', '0', '0', '0', '0', '1', '0', '0'),
('2', 'o2', 'l1', '0', '2026-02-01', '14', '2026-02-20', ' unspecified', '1', '0', '0', '0', '0', '1', '0', '0');
insert into return_label (shop_key, source, label_id, source_order_id, source_return_id, source_order_name, tracking_number, order_id, return_id, charged_at, amount_minor, currency_code, voided_at) values
('1', 'labels', 'label of order 2026-01 HAT-1', 'order 2026-01 HAT-1', 'return of order 2026-01 HAT-1', 'name of order 2026-01 HAT-1', 'tracking of order 2026-01 HAT-1', 'order 2026-01 HAT-1', 'return of order 2026-01 HAT-1', '2026-01-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-01 JACKET-M', 'order 2026-01 JACKET-M', 'return of order 2026-01 JACKET-M', 'name of order 2026-01 JACKET-M', 'tracking of order 2026-01 JACKET-M', 'order 2026-01 JACKET-M', 'return of order 2026-01 JACKET-M', '2026-01-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-01 JACKET-M-USED', 'order 2026-01 JACKET-M-USED', 'return of order 2026-01 JACKET-M-USED', 'name of order 2026-01 JACKET-M-USED', 'tracking of order 2026-01 JACKET-M-USED', 'order 2026-01 JACKET-M-USED', 'return of order 2026-01 JACKET-M-USED', '2026-01-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-01 JACKET-S', 'order 2026-01 JACKET-S', 'return of order 2026-01 JACKET-S', 'name of order 2026-01 JACKET-S', 'tracking of order 2026-01 JACKET-S', 'order 2026-01 JACKET-S', 'return of order 2026-01 JACKET-S', '2026-01-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-01 SHIRT-M', 'order 2026-01 SHIRT-M', 'return of order 2026-01 SHIRT-M', 'name of order 2026-01 SHIRT-M', 'tracking of order 2026-01 SHIRT-M', 'order 2026-01 SHIRT-M', 'return of order 2026-01 SHIRT-M', '2026-01-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-01 SHIRT-S', 'order 2026-01 SHIRT-S', 'return of order 2026-01 SHIRT-S', 'name of order 2026-01 SHIRT-S', 'tracking of order 2026-01 SHIRT-S', 'order 2026-01 SHIRT-S', 'return of order 2026-01 SHIRT-S', '2026-01-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-02 HAT-1', 'order 2026-02 HAT-1', 'return of order 2026-02 HAT-1', 'name of order 2026-02 HAT-1', 'tracking of order 2026-02 HAT-1', 'order 2026-02 HAT-1', 'return of order 2026-02 HAT-1', '2026-02-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-02 JACKET-M', 'order 2026-02 JACKET-M', 'return of order 2026-02 JACKET-M', 'name of order 2026-02 JACKET-M', 'tracking of order 2026-02 JACKET-M', 'order 2026-02 JACKET-M', 'return of order 2026-02 JACKET-M', '2026-02-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-02 JACKET-M-USED', 'order 2026-02 JACKET-M-USED', 'return of order 2026-02 JACKET-M-USED', 'name of order 2026-02 JACKET-M-USED', 'tracking of order 2026-02 JACKET-M-USED', 'order 2026-02 JACKET-M-USED', 'return of order 2026-02 JACKET-M-USED', '2026-02-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-02 JACKET-S', 'order 2026-02 JACKET-S', 'return of order 2026-02 JACKET-S', 'name of order 2026-02 JACKET-S', 'tracking of order 2026-02 JACKET-S', 'order 2026-02 JACKET-S', 'return of order 2026-02 JACKET-S', '2026-02-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-02 SHIRT-M', 'order 2026-02 SHIRT-M', 'return of order 2026-02 SHIRT-M', 'name of order 2026-02 SHIRT-M', 'tracking of order 2026-02 SHIRT-M', 'order 2026-02 SHIRT-M', 'return of order 2026-02 SHIRT-M', '2026-02-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-02 SHIRT-S', 'order 2026-02 SHIRT-S', 'return of order 2026-02 SHIRT-S', 'name of order 2026-02 SHIRT-S', 'tracking of order 2026-02 SHIRT-S', 'order 2026-02 SHIRT-S', 'return of order 2026-02 SHIRT-S', '2026-02-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-03 HAT-1', 'order 2026-03 HAT-1', 'return of order 2026-03 HAT-1', 'name of order 2026-03 HAT-1', 'tracking of order 2026-03 HAT-1', 'order 2026-03 HAT-1', 'return of order 2026-03 HAT-1', '2026-03-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-03 JACKET-M', 'order 2026-03 JACKET-M', 'return of order 2026-03 JACKET-M', 'name of order 2026-03 JACKET-M', 'tracking of order 2026-03 JACKET-M', 'order 2026-03 JACKET-M', 'return of order 2026-03 JACKET-M', '2026-03-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-03 JACKET-M-USED', 'order 2026-03 JACKET-M-USED', 'return of order 2026-03 JACKET-M-USED', 'name of order 2026-03 JACKET-M-USED', 'tracking of order 2026-03 JACKET-M-USED', 'order 2026-03 JACKET-M-USED', 'return of order 2026-03 JACKET-M-USED', '2026-03-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-03 JACKET-S', 'order 2026-03 JACKET-S', 'return of order 2026-03 JACKET-S', 'name of order 2026-03 JACKET-S', 'tracking of order 2026-03 JACKET-S', 'order 2026-03 JACKET-S', 'return of order 2026-03 JACKET-S', '2026-03-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-03 SHIRT-M', 'order 2026-03 SHIRT-M', 'return of order 2026-03 SHIRT-M', 'name of order 2026-03 SHIRT-M', 'tracking of order 2026-03 SHIRT-M', 'order 2026-03 SHIRT-M', 'return of order 2026-03 SHIRT-M', '2026-03-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'label of order 2026-03 SHIRT-S', 'order 2026-03 SHIRT-S', 'return of order 2026-03 SHIRT-S', 'name of order 2026-03 SHIRT-S', 'tracking of order 2026-03 SHIRT-S', 'order 2026-03 SHIRT-S', 'return of order 2026-03 SHIRT-S', '2026-03-17 00:00:00+00', '450', 'EUR', NULL),
('1', 'labels', 'unmatched', NULL, NULL, NULL, NULL, NULL, NULL, '2025-06-17 00:00:00+00', '450', 'EUR', NULL),
('2', 'csv_labels', 'b1', 'o2', NULL, NULL, NULL, 'o2', NULL, '2026-02-22 00:00:00+00', '400', 'EUR', NULL);
insert into return_request (shop_key, order_id, line_id, return_id, cohort_month, status, units) values
('1', 'order 2026-01 HAT-1', 'line 1', 'return of order 2026-01 HAT-1', '2026-01-01', 'CLOSED', '1'),
('1', 'order 2026-01 JACKET-M', 'line 1', 'return of order 2026-01 JACKET-M', '2026-01-01', 'CLOSED', '2'),
('1', 'order 2026-01 JACKET-M-USED', 'line 1', 'return of order 2026-01 JACKET-M-USED', '2026-01-01', 'CLOSED', '3'),
('1', 'order 2026-01 JACKET-S', 'line 1', 'return of order 2026-01 JACKET-S', '2026-01-01', 'CLOSED', '4'),
('1', 'order 2026-01 SHIRT-M', 'line 1', 'return of order 2026-01 SHIRT-M', '2026-01-01', 'CLOSED', '5'),
('1', 'order 2026-01 SHIRT-S', 'line 1', 'return of order 2026-01 SHIRT-S', '2026-01-01', 'CLOSED', '1'),
('1', 'order 2026-02 HAT-1', 'line 1', 'return of order 2026-02 HAT-1', '2026-02-01', 'CLOSED', '2'),
('1', 'order 2026-02 JACKET-M', 'line 1', 'return of order 2026-02 JACKET-M', '2026-02-01', 'CLOSED', '3'),
('1', 'order 2026-02 JACKET-M-USED', 'line 1', 'return of order 2026-02 JACKET-M-USED', '2026-02-01', 'CLOSED', '4'),
('1', 'order 2026-02 JACKET-S', 'line 1', 'return of order 2026-02 JACKET-S', '2026-02-01', 'CLOSED', '5'),
('1', 'order 2026-02 SHIRT-M', 'line 1', 'return of order 2026-02 SHIRT-M', '2026-02-01', 'CLOSED', '1'),
('1', 'order 2026-02 SHIRT-S', 'line 1', 'return of order 2026-02 SHIRT-S', '2026-02-01', 'CLOSED', '2'),
('1', 'order 2026-03 HAT-1', 'line 1', 'return of order 2026-03 HAT-1', '2026-03-01', 'CLOSED', '3'),
('1', 'order 2026-03 JACKET-M', 'line 1', 'return of order 2026-03 JACKET-M', '2026-03-01', 'CLOSED', '4'),
('1', 'order 2026-03 JACKET-M-USED', 'line 1', 'return of order 2026-03 JACKET-M-USED', '2026-03-01', 'CLOSED', '5'),
('1', 'order 2026-03 JACKET-S', 'line 1', 'return of order 2026-03 JACKET-S', '2026-03-01', 'CLOSED', '1'),
('1', 'order 2026-03 SHIRT-M', 'line 1', 'return of order 2026-03 SHIRT-M', '2026-03-01', 'CLOSED', '2'),
('1', 'order 2026-03 SHIRT-S', 'line 1', 'return of order 2026-03 SHIRT-S', '2026-03-01', 'CLOSED', '3'),
('2', 'o1', 'l2', 'r1', '2026-01-01', 'CLOSED', '1'),
('2', 'o2', 'l1', 'r2', '2026-02-01', 'CLOSED', '1');
insert into return_tracking (shop_key, order_id, return_id, tracking_number) values
('1', 'order 2026-01 HAT-1', 'return of order 2026-01 HAT-1', 'tracking of order 2026-01 HAT-1'),
('1', 'order 2026-01 JACKET-M', 'return of order 2026-01 JACKET-M', 'tracking of order 2026-01 JACKET-M'),
('1', 'order 2026-01 JACKET-M-USED', 'return of order 2026-01 JACKET-M-USED', 'tracking of order 2026-01 JACKET-M-USED'),
('1', 'order 2026-01 JACKET-S', 'return of order 2026-01 JACKET-S', 'tracking of order 2026-01 JACKET-S'),
('1', 'order 2026-01 SHIRT-M', 'return of order 2026-01 SHIRT-M', 'tracking of order 2026-01 SHIRT-M'),
('1', 'order 2026-01 SHIRT-S', 'return of order 2026-01 SHIRT-S', 'tracking of order 2026-01 SHIRT-S'),
('1', 'order 2026-02 HAT-1', 'return of order 2026-02 HAT-1', 'tracking of order 2026-02 HAT-1'),
('1', 'order 2026-02 JACKET-M', 'return of order 2026-02 JACKET-M', 'tracking of order 2026-02 JACKET-M'),
('1', 'order 2026-02 JACKET-M-USED', 'return of order 2026-02 JACKET-M-USED', 'tracking of order 2026-02 JACKET-M-USED'),
('1', 'order 2026-02 JACKET-S', 'return of order 2026-02 JACKET-S', 'tracking of order 2026-02 JACKET-S'),
('1', 'order 2026-02 SHIRT-M', 'return of order 2026-02 SHIRT-M', 'tracking of order 2026-02 SHIRT-M'),
('1', 'order 2026-02 SHIRT-S', 'return of order 2026-02 SHIRT-S', 'tracking of order 2026-02 SHIRT-S'),
('1', 'order 2026-03 HAT-1', 'return of order 2026-03 HAT-1', 'tracking of order 2026-03 HAT-1'),
('1', 'order 2026-03 JACKET-M', 'return of order 2026-03 JACKET-M', 'tracking of order 2026-03 JACKET-M'),
('1', 'order 2026-03 JACKET-M-USED', 'return of order 2026-03 JACKET-M-USED', 'tracking of order 2026-03 JACKET-M-USED'),
('1', 'order 2026-03 JACKET-S', 'return of order 2026-03 JACKET-S', 'tracking of order 2026-03 JACKET-S'),
('1', 'order 2026-03 SHIRT-M', 'return of order 2026-03 SHIRT-M', 'tracking of order 2026-03 SHIRT-M'),
('1', 'order 2026-03 SHIRT-S', 'return of order 2026-03 SHIRT-S', 'tracking of order 2026-03 SHIRT-S');
insert into run_queue (shop_key, source, kind, due_at, scheduled, asked) values
('1', 'labels', 'label_cost', '2099-01-01 00:00:00+00', '{}', '1');
insert into sale_event (shop_key, slug, label, starts_on, ends_on, skus) values
('1', 'hats', 'Hat week', '2025-09-01', '2025-09-07', '{HAT-1}'),
('1', 'summer', 'Summer sale', '2025-06-01', '2025-06-10', NULL);
insert into schedule (task, first_at, period, done_until) values
('alerts', '2000-01-01 00:40:00+00', '01:00:00', '2026-11-26 09:05:47.377751+00'),
('labels', '2000-01-01 00:10:00+00', '01:00:00', '2026-11-26 09:05:47.377751+00'),
('open_returns', '2000-01-01 03:20:00+00', '1 day', '2026-11-26 09:05:47.377751+00'),
('stores', '2000-01-01 00:00:00+00', '00:15:00', '2026-11-26 09:05:47.377751+00'),
('upkeep', '2000-01-01 00:50:00+00', '01:00:00', '2026-11-26 09:05:47.377751+00');
insert into schema_migration (id, name, run_on, works_with) values
('1', '0001_workspaces', '2026-11-26 09:05:46.375674', NULL),
('2', '0002_catalogue_and_facts', '2026-11-26 09:05:46.580325', NULL),
('3', '0003_rollups_and_alerts', '2026-11-26 09:05:47.117925', NULL),
('4', '0004_sync', '2026-11-26 09:05:47.377751', NULL),
('5', '0005_people', '2026-11-26 09:05:47.659004', NULL),
('6', '0006_admission', '2026-11-26 09:05:47.819609', NULL),
('7', '0007_actions', '2026-11-26 09:05:47.882358', NULL),
('8', '0008_passkeys', '2026-11-26 09:05:47.941946', NULL),
('9', '0009_members', '2026-11-26 09:05:48.064041', NULL),
('10', '0010_usage', '2026-11-26 09:05:48.117355', NULL),
('11', '0011_plan_request', '2026-11-26 09:05:48.248934', NULL),
('12', '0012_sources', '2026-11-26 09:05:48.332548', NULL),
('13', '0013_uploads', '2026-11-26 09:05:48.374269', NULL),
('14', '0014_erasure', '2026-11-26 09:05:48.510897', NULL),
('15', '0015_upgrades', '2026-11-26 09:05:48.61455', '0014_erasure'),
('16', '0016_directory_and_queue', '2026-11-26 09:05:48.77496', '0014_erasure'),
('17', '0017_admit_batch', '2026-11-26 09:05:48.930876', '0014_erasure'),
('18', '0018_backup', '2026-11-26 09:05:48.971151', '0014_erasure'),
('19', '0019_alert_endpoints', '2026-11-26 09:05:49.025257', '0014_erasure'),
('20', '0020_root_secrets', '2026-11-26 09:05:49.098281', '0014_erasure'),
('21', '0022_roles', '2026-11-26 09:05:49.195295', '0014_erasure'),
('22', '0023_installation_events', '2026-11-26 09:05:49.23633', '0015_upgrades'),
('23', '0024_admission_plans', '2026-11-26 09:05:49.269983', '0015_upgrades'),
('24', '0025_names_and_links', '2026-11-26 09:05:49.292102', NULL),
('25', '0026_order_sums', '2026-11-26 09:05:49.315351', '0015_upgrades'),
('26', '0027_warning_parts', '2026-11-26 09:05:49.358147', '0015_upgrades'),
('27', '0028_shopify_ledger', '2026-11-26 09:05:49.394142', '0015_upgrades'),
('28', '0029_endpoint_test', '2026-11-26 09:05:49.423859', '0014_erasure'),
('29', '0030_variant_options', '2026-11-26 09:05:49.447152', '0015_upgrades'),
('30', '0031_order_rules', '2026-11-26 09:05:49.478508', '0015_upgrades'),
('31', '0032_bookings', '2026-11-26 09:05:49.555484', '0015_upgrades'),
('32', '0034_admission', '2026-11-26 09:05:49.661693', '0015_upgrades'),
('33', '0035_moving', '2026-11-26 09:05:49.687946', '0015_upgrades'),
('34', '0036_sold_value', '2026-11-26 09:05:49.729737', '0015_upgrades'),
('35', '0037_alert_states', '2026-11-26 09:05:49.766595', '0015_upgrades'),
('36', '0038_display_names', '2026-11-26 09:05:49.817645', '0015_upgrades'),
('37', '0039_lists', '2026-11-26 09:05:49.891374', '0034_admission'),
('38', '0040_run_history', '2026-11-26 09:05:49.892318', '0034_admission'),
('39', '0041_quiet_index', '2026-11-26 09:05:49.95234', '0034_admission'),
('40', '0042_polls', '2026-11-26 09:05:49.954837', '0034_admission'),
('41', '0043_shop_queue', '2026-11-26 09:05:49.988473', '0034_admission'),
('42', '0045_weekly_digest', '2026-11-26 09:05:49.989296', '0034_admission'),
('43', '0047_removals', '2026-11-26 09:05:50.027744', '0034_admission'),
('44', '0048_options', '2026-11-26 09:05:50.111967', '0034_admission'),
('45', '0049_day_money', '2026-11-26 09:05:50.130731', '0015_upgrades'),
('46', '0050_variant_pictures', '2026-11-26 09:05:50.175986', '0015_upgrades'),
('47', '0053_sku_years', '2026-11-26 09:05:50.199061', '0034_admission'),
('48', '0057_oauth', '2026-11-26 09:05:50.233545', '0034_admission'),
('49', '0059_single_sign_on', '2026-11-26 09:05:50.262905', '0034_admission'),
('50', '0061_purchases', '2026-11-26 09:05:50.32456', '0034_admission');
insert into shop_account (shop_key, source, account) values
('1', 'labels', 'an account');
insert into shop_directory (shop_domain, shop_key, display_name) overriding system value values
('shop-1.example', '1', NULL),
('shop-2.example', '2', NULL);
insert into sku (shop_key, sku, product_gid, product_title, vendor, used, unit_cost_minor, from_lines, image_url) values
('1', 'HAT-1', 'gid://shopify/Product/3', 'Hat', NULL, 'false', '700', 'false', NULL),
('1', 'JACKET-M', 'gid://shopify/Product/1', 'Crème Jacket', 'Nordwind', 'false', '700', 'false', NULL),
('1', 'JACKET-M-USED', 'gid://shopify/Product/1', 'Crème Jacket', 'Nordwind', 'true', '700', 'false', NULL),
('1', 'JACKET-S', 'gid://shopify/Product/1', 'Crème Jacket', 'Nordwind', 'false', '700', 'false', NULL),
('1', 'SHIRT-M', 'gid://shopify/Product/2', 'Plain Shirt', 'Südstern', 'false', '700', 'false', NULL),
('1', 'SHIRT-S', 'gid://shopify/Product/2', 'Plain Shirt', 'Südstern', 'false', '700', 'false', NULL),
('2', 'CAP', NULL, NULL, 'Solo', 'false', NULL, 'true', NULL),
('2', 'HAT', 'gid://import/Product/p1', 'Hat', 'Acme', 'false', NULL, 'false', NULL),
('2', 'HAT-U', 'gid://import/Product/p1', 'Hat', 'Acme', 'true', NULL, 'false', NULL);
insert into sku_quarter (shop_key, quarter, sku, listing_id, sold_units, lag_days, returned_units, refund_minor, label_minor, sold_minor, valued_sold_units) values
('1', '2026-01-01', 'HAT-1', '2ef74449-9941-2fa4-8938-2c484786c872', '63', '{12}', '{6}', '{11994}', '{1350}', '0', '0'),
('1', '2026-01-01', 'JACKET-M', 'a7965560-b1eb-5b39-c16f-bdf865f65a38', '72', '{12}', '{9}', '{17991}', '{1350}', '0', '0'),
('1', '2026-01-01', 'JACKET-M-USED', 'cf769a3c-ac7e-03e5-7246-e2ca6acfd49e', '81', '{12}', '{12}', '{23988}', '{1350}', '0', '0'),
('1', '2026-01-01', 'JACKET-S', 'a7965560-b1eb-5b39-c16f-bdf865f65a38', '90', '{12}', '{10}', '{19990}', '{1350}', '0', '0'),
('1', '2026-01-01', 'SHIRT-M', '4d031f20-a87d-9773-223a-b53447ba6234', '99', '{12}', '{8}', '{15992}', '{1350}', '0', '0'),
('1', '2026-01-01', 'SHIRT-S', '4d031f20-a87d-9773-223a-b53447ba6234', '108', '{12}', '{6}', '{11994}', '{1350}', '0', '0'),
('2', '2026-01-01', '', '5551ba26-dd7b-af26-77ca-742fc59b59d3', '4', '{14,16}', '{1,1}', '{0,0}', '{0,400}', '0', '0'),
('2', '2026-01-01', 'CAP', '965004b4-7c54-7b1e-cc18-28554300ef0c', '2', NULL, NULL, NULL, NULL, '0', '0'),
('2', '2026-01-01', 'HAT', '43be6460-042f-8d0a-1d82-0518856e6b76', '5', NULL, NULL, NULL, NULL, '0', '0'),
('2', '2026-01-01', 'HAT', '77b53fe9-6c8b-256f-4d5b-d2b0792a3141', '3', '{15}', '{1}', '{500}', '{0}', '0', '0'),
('2', '2026-01-01', 'HAT-U', '1e7be8dd-a293-0886-38be-b4866d8adb1f', '2', '{27}', '{1}', '{0}', '{0}', '0', '0');
insert into sku_year (shop_key, last_month, sku, listing_id, sold_units, sold_minor, valued_sold_units, lag_days, returned_units, refund_minor, label_minor) values
('1', '2026-01-01', 'HAT-1', '2ef74449-9941-2fa4-8938-2c484786c872', '20', '0', '0', '{0,31,31,91}', '{1,1,1,1}', '{1999,1999,1999,1999}', '{450,450,450,450}'),
('1', '2026-01-01', 'JACKET-M', 'a7965560-b1eb-5b39-c16f-bdf865f65a38', '23', '0', '0', '{0,31,31,91}', '{2,2,2,2}', '{3998,3998,3998,3998}', '{450,450,450,450}'),
('1', '2026-01-01', 'JACKET-M-USED', 'cf769a3c-ac7e-03e5-7246-e2ca6acfd49e', '26', '0', '0', '{0,31,31,91}', '{3,3,3,3}', '{5997,5997,5997,5997}', '{450,450,450,450}'),
('1', '2026-01-01', 'JACKET-S', 'a7965560-b1eb-5b39-c16f-bdf865f65a38', '29', '0', '0', '{0,31,31,91}', '{4,4,4,4}', '{7996,7996,7996,7996}', '{450,450,450,450}'),
('1', '2026-01-01', 'SHIRT-M', '4d031f20-a87d-9773-223a-b53447ba6234', '32', '0', '0', '{0,31,31,91}', '{5,5,5,5}', '{9995,9995,9995,9995}', '{450,450,450,450}'),
('1', '2026-01-01', 'SHIRT-S', '4d031f20-a87d-9773-223a-b53447ba6234', '35', '0', '0', '{0,31,31,91}', '{1,1,1,1}', '{1999,1999,1999,1999}', '{450,450,450,450}'),
('1', '2027-01-01', 'HAT-1', '2ef74449-9941-2fa4-8938-2c484786c872', '43', '0', '0', '{0,31,31,91}', '{5,5,5,5}', '{9995,9995,9995,9995}', '{900,900,900,900}'),
('1', '2027-01-01', 'JACKET-M', 'a7965560-b1eb-5b39-c16f-bdf865f65a38', '49', '0', '0', '{0,31,31,91}', '{7,7,7,7}', '{13993,13993,13993,13993}', '{900,900,900,900}'),
('1', '2027-01-01', 'JACKET-M-USED', 'cf769a3c-ac7e-03e5-7246-e2ca6acfd49e', '55', '0', '0', '{0,31,31,91}', '{9,9,9,9}', '{17991,17991,17991,17991}', '{900,900,900,900}'),
('1', '2027-01-01', 'JACKET-S', 'a7965560-b1eb-5b39-c16f-bdf865f65a38', '61', '0', '0', '{0,31,31,91}', '{6,6,6,6}', '{11994,11994,11994,11994}', '{900,900,900,900}'),
('1', '2027-01-01', 'SHIRT-M', '4d031f20-a87d-9773-223a-b53447ba6234', '67', '0', '0', '{0,31,31,91}', '{3,3,3,3}', '{5997,5997,5997,5997}', '{900,900,900,900}'),
('1', '2027-01-01', 'SHIRT-S', '4d031f20-a87d-9773-223a-b53447ba6234', '73', '0', '0', '{0,31,31,91}', '{5,5,5,5}', '{9995,9995,9995,9995}', '{900,900,900,900}'),
('2', '2026-12-01', '', '5551ba26-dd7b-af26-77ca-742fc59b59d3', '4', '0', '0', '{0,31,31,91}', '{1,1,1,1}', '{0,0,0,0}', '{400,400,400,400}'),
('2', '2026-12-01', 'CAP', '965004b4-7c54-7b1e-cc18-28554300ef0c', '2', '0', '0', '{0,31,31,91}', '{0,0,0,0}', '{0,0,0,0}', '{0,0,0,0}'),
('2', '2026-12-01', 'HAT', '43be6460-042f-8d0a-1d82-0518856e6b76', '5', '0', '0', '{0,31,31,91}', '{0,0,0,0}', '{0,0,0,0}', '{0,0,0,0}'),
('2', '2026-12-01', 'HAT', '77b53fe9-6c8b-256f-4d5b-d2b0792a3141', '3', '0', '0', '{0,31,31,91}', '{1,1,1,1}', '{500,500,500,500}', '{0,0,0,0}'),
('2', '2026-12-01', 'HAT-U', '1e7be8dd-a293-0886-38be-b4866d8adb1f', '2', '0', '0', '{0,31,31,91}', '{1,1,1,1}', '{0,0,0,0}', '{0,0,0,0}');
insert into sync_record (shop_key, source, part, record_number, record_id, parent_id, record) values
('1', 'labels', 'labels', '1', 'record', NULL, '{}');
insert into sync_request (shop_key, source, kind, requested_by, requested_at, asked, attempt, failures, run_after) values
('1', 'labels', 'incremental', 'schedule', '2026-11-26 09:05:53.909465+00', '1', '1', '0', '2026-11-26 09:05:53.909465+00');
insert into sync_run (shop_key, run_id, source, kind, requested_by, status, attempt, started_at, finished_at, stage, done, total, counts, notes, error, is_quiet) values
('1', '869c84f7-aeb4-41a2-ad15-17baa9e39139', 'labels', 'incremental', 'schedule', 'running', '1', '2026-07-01 05:00:00+00', NULL, NULL, '0', NULL, '{}', '{}', 'The source of this workspace did not answer.', 'false');
insert into unmatched_label (shop_key, source, label_id, charged_on, amount_minor) values
('1', 'labels', 'unmatched', '2025-06-17', '450');
insert into usage_detail (shop_key, day, token_id, endpoint, surface, outcome, requests, quota_requests) values
('1', '2026-01-01', 'gone', 'summary', 'rest', 'ok', '1', '0');
insert into variant (shop_key, variant_id, product_gid, sku, title, used, counterpart_sku, unit_cost_minor, options, image_url) values
('1', 'variant HAT-1', 'gid://shopify/Product/3', 'HAT-1', 'HAT-1', 'false', NULL, '700', '[]', NULL),
('1', 'variant JACKET-M', 'gid://shopify/Product/1', 'JACKET-M', 'JACKET-M', 'false', NULL, '700', '[]', NULL),
('1', 'variant JACKET-M-USED', 'gid://shopify/Product/1', 'JACKET-M-USED', 'JACKET-M-USED', 'true', 'JACKET-M', '700', '[]', NULL),
('1', 'variant JACKET-S', 'gid://shopify/Product/1', 'JACKET-S', 'JACKET-S', 'false', NULL, '700', '[]', NULL),
('1', 'variant SHIRT-M', 'gid://shopify/Product/2', 'SHIRT-M', 'SHIRT-M', 'false', NULL, '700', '[]', NULL),
('1', 'variant SHIRT-S', 'gid://shopify/Product/2', 'SHIRT-S', 'SHIRT-S', 'false', NULL, '700', '[]', NULL),
('2', 'v1', 'gid://import/Product/p1', 'HAT', NULL, 'false', NULL, NULL, '[]', NULL),
('2', 'v2', 'gid://import/Product/p1', 'HAT-U', NULL, 'true', 'HAT', NULL, '[]', NULL),
('2', 'v3', 'gid://import/Product/p2', NULL, NULL, 'true', 'HAT', NULL, '[]', NULL);
insert into warning_episode (shop_key, entity_kind, entity_key, started_on, latest_on, is_announced, episode_id, has_warned) values
('1', 'sku', 'JACKET-M', '2020-01-01', '2020-01-01', 'true', 'sku:JACKET-M:2020-01-01', 'true');
insert into watchlist_entry (shop_key, entity_kind, entity_key, added_at) values
('1', 'sku', 'JACKET-M', '2026-11-26 09:05:53.943725+00');
insert into webhook_delivery (shop_key, source, webhook_id, replay_key, topic, received_at) values
('1', 'labels', 'delivery', NULL, 'refunds/create', '2026-11-26 09:05:53.92983+00');
insert into weekly_digest (shop_key, user_id, address, time_zone, asked_at, due_at, failures, last_sent_at, last_problem) values
('1', '5eb3ec76-2c37-45b9-9d96-b6f745039268', 'ada@shop.example', 'UTC', '2026-07-01 05:00:00+00', NULL, '0', NULL, NULL);
insert into workspace (shop_key, organization_id, shop_id, shop_domain, currency_code, plan_key, billing_status, readiness, primary_window_days, min_sold_units, visible_card_size, data_version, data_as_of, warned_on, warned_version, created_at, is_setup_open, erase_after, order_rules, order_rules_applied, needs_projection, moving_to, moved_at, reason_groups, purchase, billing_ends_at) values
('1', 'organization-1', 'shop-1', 'shop-1.example', 'EUR', 'plan-1', 'active', 'ready', '30', '20', '10', '0', '2026-07-01 06:00:00+00', NULL, NULL, '2026-11-26 09:05:53.553903+00', 'false', NULL, '{}', '{}', 'false', NULL, NULL, '{}', NULL, NULL),
('2', 'organization-2', 'shop-2', 'shop-2.example', 'EUR', 'plan-2', 'active', 'ready', '30', '20', '10', '1', '2026-06-01 00:00:00+00', NULL, NULL, '2026-11-26 09:05:53.988405+00', 'false', NULL, '{}', '{}', 'false', NULL, NULL, '{}', NULL, NULL);
insert into workspace_member (shop_key, user_id, role, created_at) values
('1', '5eb3ec76-2c37-45b9-9d96-b6f745039268', 'owner', '2026-11-26 09:05:53.973386+00');
select setval('schema_migration_id_seq', 50);
select setval('shop_directory_shop_key_seq', 2);
select setval('sync_record_record_number_seq', 1);
alter table import_part alter column bytes set storage external;
alter table alert add constraint alert_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table alert_endpoint add constraint alert_endpoint_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table api_token add constraint api_token_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table console_challenge add constraint console_challenge_user_id_fkey FOREIGN KEY (user_id) REFERENCES console_user(user_id) ON DELETE CASCADE;
alter table console_link add constraint console_link_made_by_fkey FOREIGN KEY (made_by) REFERENCES console_user(user_id) ON DELETE SET NULL;
alter table console_link add constraint console_link_user_id_fkey FOREIGN KEY (user_id) REFERENCES console_user(user_id) ON DELETE CASCADE;
alter table console_passkey add constraint console_passkey_user_id_fkey FOREIGN KEY (user_id) REFERENCES console_user(user_id) ON DELETE CASCADE;
alter table console_session add constraint console_session_user_id_fkey FOREIGN KEY (user_id) REFERENCES console_user(user_id) ON DELETE CASCADE;
alter table daily_usage add constraint daily_usage_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table data_source add constraint data_source_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table dirty_cohort add constraint dirty_cohort_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table entity add constraint entity_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table import_part add constraint import_part_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table import_upload add constraint import_upload_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table installation_secret add constraint installation_secret_is_only_row_fkey FOREIGN KEY (is_only_row) REFERENCES installation(is_only_row) ON DELETE CASCADE;
alter table oauth_grant add constraint oauth_grant_shop_key_token_id_fkey FOREIGN KEY (shop_key, token_id) REFERENCES api_token(shop_key, token_id) ON DELETE CASCADE;
alter table order_document add constraint order_document_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table pending_record add constraint pending_record_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table plan_request add constraint plan_request_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table product add constraint product_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table provider_account add constraint provider_account_user_id_fkey FOREIGN KEY (user_id) REFERENCES console_user(user_id) ON DELETE CASCADE;
alter table quiet_runs add constraint quiet_runs_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table redacted_order add constraint redacted_order_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table removed_member add constraint removed_member_user_id_fkey FOREIGN KEY (user_id) REFERENCES console_user(user_id) ON DELETE CASCADE;
alter table return_label add constraint return_label_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table sale_event add constraint sale_event_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table sku add constraint sku_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table sync_record add constraint sync_record_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table sync_request add constraint sync_request_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table sync_run add constraint sync_run_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table usage_detail add constraint usage_detail_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table variant add constraint variant_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table warning_episode add constraint warning_episode_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table watchlist_entry add constraint watchlist_entry_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table webhook_delivery add constraint webhook_delivery_shop_key_fkey FOREIGN KEY (shop_key) REFERENCES workspace(shop_key) ON DELETE CASCADE;
alter table weekly_digest add constraint weekly_digest_shop_key_user_id_fkey FOREIGN KEY (shop_key, user_id) REFERENCES workspace_member(shop_key, user_id) ON DELETE CASCADE;
alter table workspace_member add constraint workspace_member_user_id_fkey FOREIGN KEY (user_id) REFERENCES console_user(user_id) ON DELETE CASCADE;
CREATE INDEX alert_feed ON alert USING btree (shop_key, created_at DESC, alert_id DESC) WHERE (recipient IS NULL);
CREATE INDEX alert_own ON alert USING btree (shop_key, recipient, created_at DESC, alert_id DESC) WHERE (recipient IS NOT NULL);
CREATE INDEX amount_refund_by_day ON amount_refund USING btree (shop_key, refunded_on) INCLUDE (amount_minor);
CREATE UNIQUE INDEX api_token_request ON api_token USING btree (shop_key, request_key);
CREATE INDEX audit_event_by_time ON audit_event USING btree (happened_at, audit_id);
CREATE INDEX audit_event_of_shop ON audit_event USING btree (shop_key, happened_at, audit_id);
CREATE INDEX audit_event_time ON audit_event USING btree (shop_key, happened_at);
CREATE INDEX booking_difference_by_day ON booking_difference USING btree (shop_key, booked_on);
CREATE INDEX console_challenge_expiry ON console_challenge USING btree (expires_at);
CREATE INDEX console_link_email ON console_link USING btree (email) WHERE (email IS NOT NULL);
CREATE INDEX console_link_expiry ON console_link USING btree (expires_at);
CREATE INDEX console_link_maker ON console_link USING btree (made_by);
CREATE INDEX console_passkey_user ON console_passkey USING btree (user_id, created_at);
CREATE INDEX console_session_end ON console_session USING btree (idle_until);
CREATE INDEX console_session_user ON console_session USING btree (user_id, created_at);
CREATE INDEX console_user_name ON console_user USING btree (lower(name));
CREATE INDEX entity_by_search ON entity USING gin (shop_key, search_text gin_trgm_ops);
CREATE INDEX identity_event_by_action ON identity_event USING btree (action);
CREATE INDEX identity_event_time ON identity_event USING btree (happened_at);
CREATE UNIQUE INDEX import_upload_open ON import_upload USING btree (shop_key) WHERE (status = ANY (ARRAY['sending'::text, 'waiting'::text, 'importing'::text, 'refused'::text]));
CREATE INDEX label_share_by_label ON label_share USING btree (shop_key, source, label_id);
CREATE INDEX label_share_by_month ON label_share USING btree (shop_key, cohort_month);
CREATE INDEX listing_by_counterpart ON listing USING btree (shop_key, counterpart_sku) WHERE (counterpart_sku <> ''::text);
CREATE INDEX listing_by_line_vendor ON listing USING btree (shop_key, line_vendor) WHERE (line_vendor <> ''::text);
CREATE INDEX listing_by_product ON listing USING btree (shop_key, product_gid);
CREATE INDEX order_line_by_counterpart ON order_line USING btree (shop_key, counterpart_sku, cohort_month) WHERE (counterpart_sku IS NOT NULL);
CREATE INDEX order_line_by_month ON order_line USING btree (shop_key, cohort_month);
CREATE INDEX order_line_by_product ON order_line USING btree (shop_key, product_gid, cohort_month);
CREATE INDEX order_line_by_sku ON order_line USING btree (shop_key, sku, cohort_month);
CREATE INDEX order_line_left_out ON order_line USING btree (shop_key, cohort_month) WHERE (left_out IS NOT NULL);
CREATE INDEX order_reference_by_name ON order_reference USING btree (shop_key, order_name);
CREATE INDEX product_by_family ON product USING btree (shop_key, family);
CREATE INDEX product_by_vendor ON product USING btree (shop_key, vendor);
CREATE UNIQUE INDEX provider_account_user ON provider_account USING btree (user_id, issuer);
CREATE INDEX removed_member_age ON removed_member USING btree (removed_at);
CREATE INDEX removed_member_user ON removed_member USING btree (user_id);
CREATE INDEX return_event_by_day ON return_event USING btree (shop_key, occurred_on);
CREATE INDEX return_event_by_month ON return_event USING btree (shop_key, cohort_month);
CREATE INDEX return_label_by_order ON return_label USING btree (shop_key, order_id);
CREATE INDEX return_label_by_order_name ON return_label USING btree (shop_key, source_order_name) WHERE (source_order_name IS NOT NULL);
CREATE INDEX return_label_by_return ON return_label USING btree (shop_key, return_id);
CREATE INDEX return_label_by_tracking ON return_label USING btree (shop_key, tracking_number) WHERE (tracking_number IS NOT NULL);
CREATE INDEX return_request_by_month ON return_request USING btree (shop_key, cohort_month);
CREATE INDEX return_request_by_return ON return_request USING btree (shop_key, return_id);
CREATE INDEX return_tracking_by_number ON return_tracking USING btree (shop_key, tracking_number);
CREATE INDEX run_queue_by_time ON run_queue USING btree (due_at);
CREATE INDEX run_queue_pushes ON run_queue USING btree (due_at) WHERE (kind = 'push'::text);
CREATE INDEX run_queue_shops ON run_queue USING btree (due_at) WHERE (kind = 'shop'::text);
CREATE INDEX run_queue_sources ON run_queue USING btree (due_at) WHERE (kind = ANY (ARRAY['store'::text, 'label_cost'::text, 'upload'::text]));
CREATE INDEX shop_account_by_account ON shop_account USING btree (source, account);
CREATE INDEX sku_by_product ON sku USING btree (shop_key, product_gid);
CREATE INDEX sync_run_by_kind ON sync_run USING btree (shop_key, kind, started_at);
CREATE INDEX sync_run_by_start ON sync_run USING btree (shop_key, source, started_at DESC);
CREATE INDEX sync_run_by_time ON sync_run USING btree (started_at, run_id);
CREATE INDEX sync_run_quiet ON sync_run USING btree (shop_key, source, kind) WHERE is_quiet;
CREATE INDEX sync_run_running ON sync_run USING btree (shop_key, source) WHERE (status = 'running'::text);
CREATE INDEX sync_run_troubled ON sync_run USING btree (started_at) WHERE (status = ANY (ARRAY['failed'::text, 'interrupted'::text]));
CREATE INDEX sync_run_unbalanced ON sync_run USING btree (started_at) WHERE (counts ? 'unbalanced_lines'::text);
CREATE INDEX unmatched_label_by_day ON unmatched_label USING btree (shop_key, charged_on) INCLUDE (amount_minor);
CREATE INDEX variant_by_counterpart ON variant USING btree (shop_key, counterpart_sku) WHERE (counterpart_sku IS NOT NULL);
CREATE INDEX variant_by_product ON variant USING btree (shop_key, product_gid);
CREATE INDEX variant_by_sku ON variant USING btree (shop_key, sku);
CREATE INDEX webhook_delivery_by_time ON webhook_delivery USING btree (shop_key, received_at);
CREATE UNIQUE INDEX webhook_delivery_by_replay_key ON webhook_delivery USING btree (shop_key, source, replay_key);
CREATE INDEX weekly_digest_due ON weekly_digest USING btree (due_at);
CREATE INDEX workspace_by_domain ON workspace USING btree (shop_domain);
CREATE INDEX workspace_member_user ON workspace_member USING btree (user_id);
CREATE OR REPLACE FUNCTION public.admit_callers(p_shop_key bigint, p_shop_keys bigint[], p_token_ids text[], p_secret_hashes bytea[], p_scopes text[], p_entitlements text[], p_counted boolean[], p_requests integer[], p_waits boolean, p_now timestamp with time zone)
 RETURNS TABLE(shop_key bigint, verdict text, missing text, organization_id text, shop_id text, shop_domain text, currency_code text, entitlements text[], daily_quota integer, used_requests integer, granted_requests integer, usage_day date, readiness text, primary_window_days integer, min_sold_units integer, visible_card_size integer, data_version bigint, data_as_of timestamp with time zone, sources jsonb)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
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
             case when w.moving_to is not null then 'moving' when w.erase_after is null then w.readiness else 'erasing' end,
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
end $function$;
CREATE OR REPLACE FUNCTION public.analyze_shop(p_shop_key bigint, p_table text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
  is_distributed boolean := false;
begin
  if to_regproc('create_distributed_table') is not null then
    execute 'select exists (select from pg_dist_partition where logicalrelid = $1::regclass)'
      into is_distributed using format('public.%I', p_table);
  end if;
  if not is_distributed then
    execute format('analyze public.%I', p_table);
    return;
  end if;
  -- What a node refuses is left out.
  execute 'select done.success
             from pg_dist_placement p join pg_dist_node n on n.groupid = p.groupid and n.noderole = ''primary''
            cross join lateral master_run_on_worker(array[n.nodename::text], array[n.nodeport],
                                 array[format(''analyze %s'', shard_name($2::regclass, p.shardid))], false) done
            where p.shardid = get_shard_id_for_distribution_column($2::regclass, $1)'
    using p_shop_key, format('public.%I', p_table);
end $function$;
revoke execute on function analyze_shop(bigint,text) from public;
