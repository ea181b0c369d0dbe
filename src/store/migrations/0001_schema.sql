-- The schema of 1.0.0. Every table of a workspace starts its primary key with shop_key, which is also the distribution column:
-- it keeps tenants apart, and the rows of a shop together. The other tables are listed in queries/distribute.ts.

-- Similarity in the search of entities.
create extension if not exists pg_trgm;
-- shop_key beside the trigrams: a search reads the rows of its own shop, however many other workspaces hold.
create extension if not exists btree_gin;

-- The installation ----------------------------------------------------------------------------------------------------

-- One row: the HMAC of the secret that this database's tokens were made with.
create table installation (
  is_only_row boolean primary key default true check (is_only_row),
  secret_fingerprint bytea not null,
  -- When the newest backup that ended was begun: what it holds is as old as that. null = none was made.
  backed_up_at timestamptz
);

-- A root secret that the installation has had. Every valid one opens the same keys of tokens, cursors and credentials.
-- Goes with the one row of installation, so that deleting that row forgets every secret.
create table installation_secret (
  version integer primary key check (version > 0),
  -- Tells one root secret from another, and nothing else of it.
  fingerprint bytea not null unique,
  -- AES-256-GCM under a key derived from the root secret, bound to this version; null = retired.
  sealed_keys bytea,
  created_at timestamptz not null default now(),
  retired_at timestamptz,
  is_only_row boolean not null default true references installation on delete cascade,
  check ((sealed_keys is null) = (retired_at is not null))
);

-- One row, which a distributed database keeps on its coordinator: what a statement over it calls is called there. So locks
-- and shop keys come from one place, whichever node a server is connected to.
create table coordinator (
  is_only_row boolean primary key default true check (is_only_row)
);
insert into coordinator default values;

-- Every shop: assigns shop keys and keeps domains unique.
create table shop_directory (
  shop_domain text collate "C" primary key,
  shop_key bigint generated always as identity unique,
  -- What people call the workspace; null = its domain.
  display_name text check (display_name <> '' and length(display_name) <= 60)
);

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

-- When tasks of all workspaces start. A task is due at first_at and each period after it. done_until is the last time it
-- was due that a worker has taken care of; of several that were missed, only the last is made up for.
create table schedule (
  task text collate "C" primary key,
  first_at timestamptz not null,
  period interval not null,
  done_until timestamptz not null default now()
);
insert into schedule (task, first_at, period) values
  ('stores', '2000-01-01 00:00Z', '15 minutes'),
  ('labels', '2000-01-01 00:10Z', '1 hour'),
  ('alerts', '2000-01-01 00:40Z', '1 hour'),
  ('upkeep', '2000-01-01 00:50Z', '1 hour'),
  ('open_returns', '2000-01-01 03:20Z', '1 day');

-- What people did to their own ways in, such as signing in, and actions on the installation, such as setting a plan; other
-- actions are in audit_event. On the coordinator of a distributed database, so that no lost node stops any of this.
create table identity_event (
  audit_id uuid primary key default gen_random_uuid(),
  happened_at timestamptz not null default now(),
  actor text not null,
  action text not null,
  detail jsonb not null,
  origin text,
  before jsonb
);
create index identity_event_time on identity_event (happened_at);
create index identity_event_by_action on identity_event (action);

-- Workspaces, tokens and usage ----------------------------------------------------------------------------------------

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
  created_at timestamptz not null default now(),
  -- Whether the overview lists what is left to set up.
  is_setup_open boolean not null default false,
  -- When the workspace is erased; null = it is not to be. Until then its owner may cancel that, and nothing of it is served.
  erase_after timestamptz,
  -- Which orders count (M1, M2), as src/metrics/order-rules.ts has it; what it leaves out is the default.
  order_rules jsonb not null default '{}',
  -- The rules that the facts follow. When they differ from order_rules, or are null, a worker projects the facts again.
  order_rules_applied jsonb default '{}',
  -- Whether the facts have to be projected from the documents again.
  needs_projection boolean not null default false,
  -- The installation that the workspace moves to, as host:port/database; null = it stays. Nothing of it is served or changed here.
  moving_to text,
  -- Since when it is served there; null = it is not.
  moved_at timestamptz,
  -- Which group each of the workspace's reasons belongs to, as people confirmed it (M22): {"zu klein": "too_small"}.
  reason_groups jsonb not null default '{}',
  -- The subscription at the store's platform that billing and plan were last set by: id, name, plan, paid_until and is_active;
  -- null = none was ever seen, and others bill this workspace.
  purchase jsonb,
  -- When billing becomes inactive, because that subscription has ended; null = it does not.
  billing_ends_at timestamptz
);
create index workspace_by_domain on workspace (shop_domain);

-- The plan that an owner of a workspace asks for, until an operator sets one or the owner takes it back.
create table plan_request (
  shop_key bigint primary key references workspace on delete cascade,
  plan_key text collate "C" not null,
  -- Why, in the owner's words.
  reason text not null,
  asked_by text not null,
  asked_at timestamptz not null
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
  -- The token that this one took the place of.
  replaces text collate "C",
  -- The form that asked for it: the same form makes one token, however often it is sent.
  request_key uuid,
  primary key (shop_key, token_id)
);
create unique index api_token_request on api_token (shop_key, request_key);

-- What an app was allowed by somebody's consent: beside the row of api_token that is its access token, with which it goes. Of
-- each secret only the hash is stored, as of tokens.
create table oauth_grant (
  shop_key bigint not null,
  token_id text collate "C" not null,
  -- SHA-256 of the client's id, which holds its name and redirect addresses, signed.
  client_hash bytea not null,
  redirect_uri text not null,
  -- Of the code, which can be exchanged once; SHA-256 of the verifier in base64url (PKCE).
  code_hash bytea not null,
  code_challenge text not null,
  code_expires_at timestamptz not null,
  code_used_at timestamptz,
  -- Of what all refresh tokens of the grant share, and of the newest one: another one of the family was used before.
  family_hash bytea,
  refresh_hash bytea,
  refresh_expires_at timestamptz,
  primary key (shop_key, token_id),
  foreign key (shop_key, token_id) references api_token on delete cascade
);

-- Requests of one UTC day that count towards the daily quota.
create table daily_usage (
  shop_key bigint not null references workspace on delete cascade,
  day date not null,
  requests integer not null check (requests >= 0),
  primary key (shop_key, day)
);

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

-- One action on a workspace; those on the installation are in identity_event.
create table audit_event (
  shop_key bigint not null,
  audit_id uuid not null default gen_random_uuid(),
  happened_at timestamptz not null default now(),
  actor text not null,
  action text not null,
  detail jsonb not null,
  -- Where it came from, such as an IP address, and how what it changed was before; detail says how it is since.
  origin text,
  before jsonb,
  primary key (shop_key, audit_id)
);
create index audit_event_time on audit_event (shop_key, happened_at);
create index audit_event_by_time on audit_event (happened_at, audit_id);
-- Without it a page of one workspace's events would read the index of all.
create index audit_event_of_shop on audit_event (shop_key, happened_at, audit_id);

-- People --------------------------------------------------------------------------------------------------------------

-- A person.
create table console_user (
  user_id uuid primary key default gen_random_uuid(),
  name text not null check (length(name) between 1 and 100),
  -- Operators manage the installation; they see a merchant's figures only as members of the workspace.
  is_operator boolean not null default false,
  created_at timestamptz not null default now(),
  -- null = may sign in
  disabled_at timestamptz,
  -- The workspace they looked at last, where / leads; null = none. It may be gone.
  last_shop_key bigint,
  -- When the person last looked at a page of a workspace, to five minutes; null = never: who was invited has not come yet.
  last_seen_at timestamptz
);
create index console_user_name on console_user (lower(name));

-- Who may see a workspace, and in which role. No foreign key to workspace, which may be distributed; deleting a
-- workspace deletes its members.
create table workspace_member (
  shop_key bigint not null,
  user_id uuid not null references console_user on delete cascade,
  role text not null check (role in ('viewer', 'admin', 'owner')),
  created_at timestamptz not null default now(),
  primary key (shop_key, user_id)
);
create index workspace_member_user on workspace_member (user_id);

-- Who was removed from a workspace, for as long as that can be undone. They see nothing of it meanwhile.
create table removed_member (
  shop_key bigint not null,
  user_id uuid not null references console_user on delete cascade,
  role text not null check (role in ('viewer', 'admin', 'owner')),
  removed_at timestamptz not null,
  primary key (shop_key, user_id)
);
create index removed_member_user on removed_member (user_id);
create index removed_member_age on removed_member (removed_at);

-- A link that signs a person in, once. Only the SHA-256 of its secret is stored.
create table console_link (
  link_hash bytea primary key check (length(link_hash) = 32),
  user_id uuid not null references console_user on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  -- What it is for: enter = sign in, invite = sign in for the first time, recover = sign in after every passkey was lost,
  -- which ends the passkeys and sessions there were.
  purpose text not null constraint console_link_purpose check (purpose in ('enter', 'invite', 'recover')),
  -- What its person might do when it was made, of each workspace its key and their role, and "operator": it signs in only
  -- while they may do as much.
  rights text,
  -- Who made an invitation, and to which workspace it leads: its page says so before it is used.
  made_by uuid references console_user on delete set null,
  leads_to bigint,
  -- Whose verified address, in small letters, may use it by single sign-on; null = nobody's.
  email text
);
create index console_link_expiry on console_link (expires_at);
create index console_link_maker on console_link (made_by);
create index console_link_email on console_link (email) where email is not null;

-- A signed-in browser. Only the SHA-256 of the cookie is stored. It is valid until idle_until, which each use moves on,
-- but never beyond ends_at.
create table console_session (
  session_hash bytea primary key check (length(session_hash) = 32),
  user_id uuid not null references console_user on delete cascade,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  idle_until timestamptz not null,
  ends_at timestamptz not null check (idle_until <= ends_at),
  -- When the person last proved who they are: what gives access to others asks for ten minutes at most.
  proved_at timestamptz not null,
  -- What the identity provider is told at sign-out of a session that began there.
  id_token text,
  -- The provider named the group of operators when the session began.
  is_operator boolean not null default false
);
create index console_session_user on console_session (user_id, created_at);
create index console_session_end on console_session (idle_until);

-- A passkey: a public key, whose private half a device or a password manager keeps.
create table console_passkey (
  credential_id bytea primary key check (length(credential_id) between 1 and 1023),
  user_id uuid not null references console_user on delete cascade,
  -- The host name that it was made for, the only one where it works.
  rp_id text not null,
  -- As COSE (RFC 9052).
  public_key bytea not null,
  -- How often it has signed, where the authenticator counts; 0 = it does not. It never goes back.
  counter bigint not null check (counter >= 0),
  -- How the browser may reach it, such as internal, hybrid or usb.
  transports text[] not null,
  name text not null check (length(name) between 1 and 100),
  created_at timestamptz not null,
  -- null = never since it was made
  last_used_at timestamptz
);
create index console_passkey_user on console_passkey (user_id, created_at);

-- What a passkey has to sign, so that no answer counts twice. It is deleted when it is used. Only its SHA-256 is stored.
create table console_challenge (
  challenge_hash bytea primary key check (length(challenge_hash) = 32),
  purpose text not null check (purpose in ('enrol', 'sign_in', 'prove')),
  -- Who it was made for; null = whoever signs in.
  user_id uuid references console_user on delete cascade,
  expires_at timestamptz not null
);
create index console_challenge_expiry on console_challenge (expires_at);

-- The accounts by which people sign in at an identity provider, each told by issuer and subject. The address is for people to
-- read: nobody is found by it.
create table provider_account (
  issuer text collate "C" not null,
  subject text collate "C" not null,
  user_id uuid not null references console_user on delete cascade,
  email text,
  linked_at timestamptz not null,
  last_used_at timestamptz not null,
  primary key (issuer, subject)
);
create unique index provider_account_user on provider_account (user_id, issuer);

-- Catalogue -----------------------------------------------------------------------------------------------------------

-- A product as the source states it; from_lines marks one known only from order lines.
create table product (
  shop_key bigint not null references workspace on delete cascade,
  product_gid text collate "C" not null,
  title text not null,
  handle text,
  vendor text collate "C",
  family text collate "C",
  analytics_category text collate "C",
  image_url text,
  image_alt text,
  from_lines boolean not null default false,
  primary key (shop_key, product_gid)
);
create index product_by_vendor on product (shop_key, vendor);
create index product_by_family on product (shop_key, family);

-- A variant as the source states it.
create table variant (
  shop_key bigint not null references workspace on delete cascade,
  variant_id text collate "C" not null,
  product_gid text collate "C" not null,
  sku text collate "C",
  title text,
  used boolean not null default false,
  -- Of a used variant: the SKU in new condition (M14).
  counterpart_sku text collate "C",
  unit_cost_minor bigint,
  -- Its options as its source states them, in their order: [{"name": "Size", "value": "M"}].
  options jsonb not null default '[]',
  -- Its own picture; null = the product's.
  image_url text,
  primary key (shop_key, variant_id)
);
create index variant_by_sku on variant (shop_key, sku);
create index variant_by_product on variant (shop_key, product_gid);
create index variant_by_counterpart on variant (shop_key, counterpart_sku) where counterpart_sku is not null;

-- One row for every SKU a variant or an order line ever named: a projection of variant, product and order lines.
create table sku (
  shop_key bigint not null references workspace on delete cascade,
  sku text collate "C" not null,
  product_gid text collate "C",
  product_title text,
  vendor text collate "C",
  used boolean not null default false,
  unit_cost_minor bigint,
  from_lines boolean not null default false,
  -- The picture of the variant that it stands for; null = the product's.
  image_url text,
  primary key (shop_key, sku)
);
create index sku_by_product on sku (shop_key, product_gid);

-- The rows of /entities in their order: a projection of sku and product.
create table entity (
  shop_key bigint not null references workspace on delete cascade,
  -- 1 sku, 2 product, 3 product group
  type_rank smallint not null,
  label text collate "C" not null,
  entity_key text collate "C" not null,
  -- '' for SKUs and products; tells a family from a category of the same name
  product_group_type text collate "C" not null default '',
  subtitle text,
  product_gid text,
  sku text,
  product_title text,
  vendor text collate "C",
  -- Label, SKU, product title and vendor, case- and accent-folded (lib/fold.ts), separated by newlines.
  search_text text not null,
  primary key (shop_key, type_rank, label, entity_key, product_group_type)
);
-- The search of entities. New rows wait in the index's pending list: entering each one's forty trigrams at once takes an
-- import ten times as long, and reading the list costs a search some milliseconds.
create index entity_by_search on entity using gin (shop_key, search_text gin_trgm_ops);

-- Orders and labels as sources state them -----------------------------------------------------------------------------

-- One order as its sources state it, in the canonical form. The tables of facts below are projections of these documents
-- and of return_label.
create table order_document (
  shop_key bigint not null references workspace on delete cascade,
  order_id text collate "C" not null,
  document jsonb not null,
  primary key (shop_key, order_id)
);

-- An order whose customer asked to be forgotten: its name and tracking numbers are not stored again.
create table redacted_order (
  shop_key bigint not null references workspace on delete cascade,
  order_id text collate "C" not null,
  primary key (shop_key, order_id)
);

-- What label sources call an order: its name.
create table order_reference (
  shop_key bigint not null,
  order_id text collate "C" not null,
  order_name text collate "C" not null,
  primary key (shop_key, order_id)
);
create index order_reference_by_name on order_reference (shop_key, order_name);

-- What label sources call a return: a tracking number.
create table return_tracking (
  shop_key bigint not null,
  order_id text collate "C" not null,
  return_id text collate "C" not null,
  tracking_number text collate "C" not null,
  primary key (shop_key, order_id, return_id, tracking_number)
);
create index return_tracking_by_number on return_tracking (shop_key, tracking_number);

-- One return label of a label source (M10).
create table return_label (
  shop_key bigint not null references workspace on delete cascade,
  source text collate "C" not null,
  label_id text collate "C" not null,
  -- What the source states.
  source_order_id text collate "C",
  source_return_id text collate "C",
  source_order_name text collate "C",
  tracking_number text,
  -- The order and the return that the label was matched to; null = none.
  order_id text collate "C",
  return_id text collate "C",
  charged_at timestamptz not null,
  -- Minor units of the label's own currency.
  amount_minor bigint not null,
  currency_code text not null,
  voided_at timestamptz,
  primary key (shop_key, source, label_id)
);
create index return_label_by_order on return_label (shop_key, order_id);
create index return_label_by_return on return_label (shop_key, return_id);
create index return_label_by_tracking on return_label (shop_key, tracking_number) where tracking_number is not null;
create index return_label_by_order_name on return_label (shop_key, source_order_name) where source_order_name is not null;

-- A sale that the shop announced (M15).
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

-- Facts: projections of order documents and labels --------------------------------------------------------------------

-- One line of an order, whether it sold something or not (M1). Days are UTC; cohort_month is the first day of its month.
create table order_line (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  ordered_on date not null,
  cohort_month date not null,
  sold_units integer not null check (sold_units >= 0),
  -- What the line itself states.
  line_product_gid text collate "C",
  line_variant_id text collate "C",
  line_sku text collate "C",
  -- What the catalogue shows for products and SKUs that no catalogue row describes.
  line_title text,
  line_vendor text,
  -- What the line states, else its variant.
  product_gid text collate "C",
  sku text collate "C",
  used boolean not null,
  -- Of a used line: the counterpart in new condition that its variant names (M14).
  counterpart_sku text collate "C",
  unit_cost_minor bigint,
  -- By which rule the line's order sells nothing (M1); null = it counts.
  left_out text collate "C",
  -- The value of what was sold, after discounts and without tax (M20); null where the source does not say.
  sold_minor bigint,
  -- The variant that it names, else the one of its SKU (M14); null = none. Its options are those of M22.
  variant_id text collate "C",
  primary key (shop_key, order_id, line_id)
);
create index order_line_by_month on order_line (shop_key, cohort_month);
create index order_line_by_sku on order_line (shop_key, sku, cohort_month);
create index order_line_by_product on order_line (shop_key, product_gid, cohort_month);
create index order_line_by_counterpart on order_line (shop_key, counterpart_sku, cohort_month)
  where counterpart_sku is not null;
create index order_line_left_out on order_line (shop_key, cohort_month) where left_out is not null;

-- Units and money of a line that came back on one day for one reason (M2, M3, M8, M9). cohort_month is the line's, in this
-- table and the next two: a month's facts are found in each table by themselves.
create table return_event (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  event_number integer not null,
  cohort_month date not null,
  lag_days integer not null check (lag_days >= 0),
  occurred_on date not null,
  -- An absent reason is a key that begins with a blank (src/metrics/returned-units.ts): no stated one does. null when the
  -- row holds no returned units.
  reason text collate "C",
  returned_units integer not null,
  refunded_units integer not null,
  restocked_units integer not null,
  refund_minor bigint not null,
  -- How the returned units ended (M23): those exchanged, those neither exchanged nor refunded; the others are refunded.
  exchanged_units integer not null default 0,
  other_units integer not null default 0,
  -- Of its refunded money that of exchanges, and the value that exchanges kept.
  exchange_refund_minor bigint not null default 0,
  kept_minor bigint not null default 0,
  primary key (shop_key, order_id, line_id, event_number)
);
create index return_event_by_month on return_event (shop_key, cohort_month);
create index return_event_by_day on return_event (shop_key, occurred_on);

-- The present state of one return request of a line (lifecycle coverage; M10's units).
create table return_request (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  return_id text collate "C" not null,
  cohort_month date not null,
  status text not null check (status in ('REQUESTED', 'OPEN', 'CLOSED', 'DECLINED', 'CANCELED')),
  units integer not null,
  primary key (shop_key, order_id, line_id, return_id)
);
create index return_request_by_return on return_request (shop_key, return_id);
create index return_request_by_month on return_request (shop_key, cohort_month);

-- The share of one label's cost that one line bears (M10).
create table label_share (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  source text collate "C" not null,
  label_id text collate "C" not null,
  cohort_month date not null,
  lag_days integer not null check (lag_days >= 0),
  label_minor bigint not null,
  primary key (shop_key, order_id, line_id, source, label_id)
);
create index label_share_by_label on label_share (shop_key, source, label_id);
create index label_share_by_month on label_share (shop_key, cohort_month);

-- A label in the shop's currency, not voided, of which no line bears a share (M10).
create table unmatched_label (
  shop_key bigint not null,
  source text collate "C" not null,
  label_id text collate "C" not null,
  charged_on date not null,
  amount_minor bigint not null,
  primary key (shop_key, source, label_id)
);
create index unmatched_label_by_day on unmatched_label (shop_key, charged_on) include (amount_minor);

-- Units of a line that its source books as taken back on a day, beyond those returned on it, by why (M24); below 0 = that
-- are missing. A day on which both are the same has no row. `line_id` is the document's.
create table booking_difference (
  shop_key bigint not null,
  order_id text collate "C" not null,
  line_id text collate "C" not null,
  booked_on date not null,
  step text collate "C" not null,
  units integer not null,
  primary key (shop_key, order_id, line_id, booked_on, step)
);
create index booking_difference_by_day on booking_difference (shop_key, booked_on);

-- A refund of an amount that names no line, of an order that counts (M23).
create table amount_refund (
  shop_key bigint not null,
  order_id text collate "C" not null,
  refund_id text collate "C" not null,
  refunded_on date not null,
  amount_minor bigint not null,
  primary key (shop_key, order_id, refund_id)
);
create index amount_refund_by_day on amount_refund (shop_key, refunded_on) include (amount_minor);

-- Rollups of facts ----------------------------------------------------------------------------------------------------

-- A cohort month whose facts changed since it was last rolled up.
create table dirty_cohort (
  shop_key bigint not null references workspace on delete cascade,
  cohort_month date not null,
  primary key (shop_key, cohort_month)
);

-- A SKU ('' = lines without one) as it is sold under one product, in one condition, as the counterpart of one SKU: the
-- finest entity that is counted. Lines without a product keep the vendor that they name themselves.
create table listing (
  shop_key bigint not null,
  sku text collate "C" not null,
  -- A digest of the columns that follow (queries/listing.ts).
  listing_id uuid not null,
  product_gid text collate "C" not null,
  used boolean not null,
  counterpart_sku text collate "C" not null,
  line_vendor text collate "C" not null,
  variant_id text collate "C" not null default '',
  primary key (shop_key, sku, listing_id)
);
create index listing_by_product on listing (shop_key, product_gid);
create index listing_by_counterpart on listing (shop_key, counterpart_sku) where counterpart_sku <> '';
create index listing_by_line_vendor on listing (shop_key, line_vendor) where line_vendor <> '';

-- One row per entity and cohort month: what was sold, and its return curve. lag_days are the days after the order on which
-- something came back, ascending; a measure's element at the same place is its sum up to that day (M3, M4). A window
-- of n days is the element at width_bucket(n, lag_days), 0 where there is none. entity_kind is sku (by listing, key ''
-- = lines without one), product (new condition only), product_used, family, analytics_category, vendor or workspace (key '').
-- Rolled up by month in bulk, so it has no foreign key: checking one takes a third of the time of the insert. A month is
-- written in the order of the key, and read by month or by entity through that one index.
create table cohort (
  shop_key bigint not null,
  entity_kind text collate "C" not null,
  entity_key text collate "C" not null,
  cohort_month date not null,
  -- Zeros for all kinds but sku.
  listing_id uuid not null,
  sold_units bigint not null,
  -- Sold units whose unit cost is known (M13).
  costed_sold_units bigint not null,
  -- Units of return requests by their present state, whatever the window.
  requested_units bigint not null,
  open_units bigint not null,
  closed_units bigint not null,
  declined_units bigint not null,
  canceled_units bigint not null,
  lag_days integer[],
  returned_units bigint[],
  refunded_units bigint[],
  restocked_units bigint[],
  -- Unit cost of the restocked units whose cost is known (M13).
  restocked_cost_minor bigint[],
  costed_returned_units bigint[],
  refund_minor bigint[],
  label_minor bigint[],
  -- Returned units beyond the refunded ones of their line; refunded_units - returned_units + this is the opposite.
  returned_not_refunded_units bigint[],
  -- Returned units of lines that bear a share of a label.
  labeled_returned_units bigint[],
  -- return_units[i] units came back for reason return_reasons[i] after return_lag_days[i] days; each pair once, in order.
  return_reasons text[] collate "C",
  return_lag_days integer[],
  return_units bigint[],
  -- The squares of what each order has of the entity, added up: by which its orders are known to be large (M6). Double
  -- precision: squares of units exceed bigint.
  squared_sold_units double precision,
  -- Sums over the orders of the month, by which units of one order are known to come back together (M6). Of the workspace and
  -- of analytics categories, whose part of an order is an order of theirs; null for other kinds.
  orders bigint,
  -- Days after the order on which units came back, ascending; an element at the same place is a sum up to that day.
  order_lag_days integer[],
  returned_orders bigint[],
  sold_returned_units double precision[],
  squared_returned_units double precision[],
  -- The value of the sold units whose value is known (M20), and how many these are.
  sold_minor bigint not null default 0,
  valued_sold_units bigint not null default 0,
  -- Of the workspace's row of a month: its days in group_day have money.
  has_day_money boolean,
  -- Of the workspace's row of a month: how many months of the shop the year of sku_year adds up that holds it. Leaderboards
  -- do not read a year in which these differ.
  year_months integer,
  primary key (shop_key, entity_kind, cohort_month, entity_key, listing_id)
);

-- What ranks a listing, added up over calendar quarters: a leaderboard reads quarters, and months where its range begins
-- or ends inside of one. The curve as in cohort.
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
  sold_minor bigint not null default 0,
  valued_sold_units bigint not null default 0,
  primary key (shop_key, quarter, sku, listing_id)
);

-- What ranks a listing, added up over the twelve months that end with last_month: a leaderboard of years reads these instead
-- of quarters. lag_days as in cohort, but with the days behind the windows that a leaderboard can be asked for alone.
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
  primary key (shop_key, last_month, sku, listing_id)
);

-- A day on which a family, analytics category, vendor or the workspace sold something, for sale events (M15) and outlooks
-- (M18). The curve as in cohort; a line comes back once, when the first of its units does.
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
  -- As in cohort; the money is for weeks and days (M26).
  squared_sold_units double precision,
  orders bigint,
  sold_minor bigint,
  valued_sold_units bigint,
  refunded_units bigint[],
  refund_minor bigint[],
  label_minor bigint[],
  primary key (shop_key, sold_on, entity_kind, entity_key)
);

-- Alerts --------------------------------------------------------------------------------------------------------------

-- An alert of the feed.
create table alert (
  shop_key bigint not null references workspace on delete cascade,
  alert_id text collate "C" not null,
  -- Names the event, the same in every run: an event is never stored twice.
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
-- What a member alone is told, newest first; the feed of everybody has alert_feed.
create index alert_own on alert (shop_key, recipient, created_at desc, alert_id desc) where recipient is not null;

-- An entity that the workspace watches.
create table watchlist_entry (
  shop_key bigint not null references workspace on delete cascade,
  entity_kind text not null check (entity_kind in ('sku', 'product', 'family', 'analytics_category')),
  entity_key text collate "C" not null,
  added_at timestamptz not null default now(),
  primary key (shop_key, entity_kind, entity_key)
);

-- The newest episode of early warnings of an entity (M17): it ends when 45 as-of days pass without one.
create table warning_episode (
  shop_key bigint not null references workspace on delete cascade,
  entity_kind text collate "C" not null,
  entity_key text collate "C" not null,
  started_on date not null,
  latest_on date not null,
  -- false: named as part of another entity's warning, or explained by a narrower one.
  is_announced boolean not null,
  -- The same for all entities of one problem (M17); null = an episode of its own.
  episode_id text collate "C",
  -- Of an entity that was not announced: false = it was only named as a part, and is announced when it warns itself.
  has_warned boolean not null default false,
  primary key (shop_key, entity_kind, entity_key)
);

-- Where a workspace has its alerts delivered. What follows its cursor in the feed's order is still to be delivered.
create table alert_endpoint (
  shop_key bigint not null references workspace on delete cascade,
  endpoint_id uuid not null,
  kind text not null check (kind in ('webhook', 'slack', 'email')),
  name text not null,
  -- What pages and lists show: an e-mail address, of a webhook the origin alone, because its path may be a secret.
  shown_address text not null,
  -- AES-256-GCM under the installation's sealing key, bound to this shop and endpoint: the address and the signing secrets.
  sealed_secrets bytea not null,
  -- Until then messages are signed with the secret before the last rotation, too.
  previous_until timestamptz,
  severities text[] not null,
  -- null = every category.
  categories text[],
  -- The hour of the day in UTC at which alerts are delivered; null = at once.
  digest_hour smallint check (digest_hour between 0 and 23),
  created_at timestamptz not null default now(),
  created_by text not null,
  -- The last alert that is delivered, or that was older than the endpoint.
  cursor_at timestamptz not null,
  cursor_id text collate "C" not null,
  -- When the worker has to look at it; null = it has found nothing more to deliver.
  due_at timestamptz,
  -- Raised with each new alert: a worker that has found nothing leaves due_at alone when one came meanwhile.
  wakes bigint not null default 0,
  -- The digest under way holds the alerts before this moment, in every try; null = none is under way.
  digest_until timestamptz,
  -- Tries of the message under way that failed, in a row.
  failures integer not null default 0,
  failing_since timestamptz,
  last_tried_at timestamptz,
  last_delivered_at timestamptz,
  -- Why the last try failed, or why nothing is sent at present: a sentence.
  last_problem text,
  tested_at timestamptz,
  paused_at timestamptz,
  pause_reason text check (pause_reason in ('person', 'failing', 'gone', 'refused')),
  -- A test message that a command has asked for: a worker sends it, with the options that alerts are sent with.
  test_asked_at timestamptz,
  -- What became of it, a sentence; null = it is not sent yet.
  test_answer text,
  test_delivered boolean,
  -- When it was removed: for a day that can be undone; null = it is not.
  removed_at timestamptz,
  primary key (shop_key, endpoint_id)
);

-- To which address a member has the weekly digest of a workspace sent. Beside workspace_member, with which it goes.
create table weekly_digest (
  shop_key bigint not null,
  user_id uuid not null,
  address text not null,
  time_zone text not null,
  -- Of the mail that asks whether the address wants it; its link names this moment.
  asked_at timestamptz not null,
  -- When it is sent next, or tried again; null = the address has not confirmed it, or refuses mail.
  due_at timestamptz,
  -- Tries of this week's that failed, in a row.
  failures integer not null default 0,
  last_sent_at timestamptz,
  -- Why the last one was not sent: a sentence.
  last_problem text,
  primary key (shop_key, user_id),
  foreign key (shop_key, user_id) references workspace_member on delete cascade
);
create index weekly_digest_due on weekly_digest (due_at);

-- Sources, their runs, and uploads ------------------------------------------------------------------------------------

-- A source of a workspace: one that is imported by hand, or a source connection that the worker keeps up to date.
create table data_source (
  shop_key bigint not null references workspace on delete cascade,
  source text collate "C" not null,
  kind text not null check (kind in ('store', 'label_cost')),
  is_connection boolean not null default false,
  status text check (status in ('ok', 'syncing', 'failed', 'disconnected')),
  -- Label sources only: the currency its costs are in; null until the first label.
  currency_code text,
  last_synced_at timestamptz,
  last_error text,
  -- AES-256-GCM under the installation's sealing key, bound to this shop and source; null = none (disconnected).
  sealed_credentials bytea,
  -- What the operator chose: the source's address, how families and used variants are recognized.
  settings jsonb not null default '{}',
  -- What the connector keeps between runs and over a crash; its own format.
  cursor jsonb,
  created_at timestamptz not null default now(),
  -- When the clock has the worker read what is new, and orders with open returns again; null = at the next look.
  poll_at timestamptz,
  reread_at timestamptz,
  primary key (shop_key, source)
);

-- Which shops are, or were, connected to an account of a source, such as demo.myshopify.com: webhooks name the account.
-- settings of data_source are the truth; upkeep puts back what is missing here.
create table shop_account (
  shop_key bigint not null,
  source text collate "C" not null,
  account text collate "C" not null,
  primary key (shop_key, source)
);
create index shop_account_by_account on shop_account (source, account);

-- When a worker looks at a source of a shop next. Whether there is something to do, the shop's own rows say: sync_request,
-- sync_run and import_upload are the truth. It lies where no node's loss stops it.
create table run_queue (
  shop_key bigint not null,
  -- csv = the uploads of the shop; push and its id = an endpoint of alerts; shop = its alerts and upkeep
  source text collate "C" not null,
  kind text not null check (kind in ('store', 'label_cost', 'upload', 'push', 'shop')),
  -- infinity = not before it is asked for
  due_at timestamptz not null,
  -- Tasks of the schedule that the shop was not asked for yet.
  scheduled text[] collate "C" not null default '{}',
  -- How often it was asked for: a look settles only what was asked before it began.
  asked bigint not null default 1,
  primary key (shop_key, source)
);
create index run_queue_by_time on run_queue (due_at);
-- Each kind of work looks up what is due of its own.
create index run_queue_sources on run_queue (due_at) where kind in ('store', 'label_cost', 'upload');
create index run_queue_pushes on run_queue (due_at) where kind = 'push';
create index run_queue_shops on run_queue (due_at) where kind = 'shop';

-- A run that was asked for and has not succeeded yet: what a worker has to do. A request stays until its run has ended, so
-- that nothing is lost with a worker; being asked again meanwhile only raises `asked`.
create table sync_request (
  shop_key bigint not null references workspace on delete cascade,
  source text collate "C" not null,
  kind text not null check (kind in ('backfill', 'incremental', 'open_returns', 'refresh')),
  requested_by text not null check (requested_by in ('connect', 'schedule', 'webhook', 'operator')),
  requested_at timestamptz not null default clock_timestamp(),
  -- How often it was asked for: a run that has ended answers only what was asked before it began.
  asked bigint not null default 1,
  -- Of the next run: one more for each that was cut off or failed.
  attempt integer not null default 1,
  -- Failed runs in a row: each doubles the wait for the next one.
  failures integer not null default 0,
  run_after timestamptz not null default clock_timestamp(),
  primary key (shop_key, source, kind)
);

-- One run of one source: the history that `./returns runs` shows.
create table sync_run (
  shop_key bigint not null references workspace on delete cascade,
  run_id uuid not null,
  source text collate "C" not null,
  kind text not null check (kind in ('backfill', 'incremental', 'open_returns', 'refresh')),
  requested_by text not null check (requested_by in ('connect', 'schedule', 'webhook', 'operator')),
  status text not null default 'running' check (status in ('running', 'succeeded', 'failed', 'interrupted')),
  -- 1 for the first try of a run, one more for each that continues it.
  attempt integer not null default 1,
  started_at timestamptz not null,
  finished_at timestamptz,
  -- Where it is: a stage's name, how much of it is done, and of how much (null = unknown).
  stage text,
  done bigint not null default 0,
  total bigint,
  counts jsonb not null default '{}',
  -- Sentences that the operator should read although the run succeeded.
  notes text[] not null default '{}',
  error text,
  -- It succeeded and changed nothing that is served. The next of its kind takes its place, and it is counted in quiet_runs.
  is_quiet boolean not null default false,
  primary key (shop_key, run_id)
);
create index sync_run_by_start on sync_run (shop_key, source, started_at desc);
create index sync_run_running on sync_run (shop_key, source) where status = 'running';
create index sync_run_by_kind on sync_run (shop_key, kind, started_at);
-- The newest of all workspaces, for the operator's lists.
create index sync_run_by_time on sync_run (started_at, run_id);
-- What metrics and doctor count over all workspaces.
create index sync_run_troubled on sync_run (started_at) where status in ('failed', 'interrupted');
create index sync_run_unbalanced on sync_run (started_at) where counts ? 'unbalanced_lines';
create index sync_run_quiet on sync_run (shop_key, source, kind) where is_quiet;

-- Runs of one day, in UTC, that changed nothing and gave way to later ones of their kind.
create table quiet_runs (
  shop_key bigint not null references workspace on delete cascade,
  source text collate "C" not null,
  kind text collate "C" not null,
  day date not null,
  runs bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (shop_key, source, kind, day)
);

-- What a connector has fetched and not applied yet, one row per record of the source, so that a run that is cut off
-- continues where it was. Rows may repeat; the last one of an id counts.
create table sync_record (
  shop_key bigint not null references workspace on delete cascade,
  source text collate "C" not null,
  -- The download it came with: 'orders', 'returns', 'ledger', 'refunds', 'products', …
  part text collate "C" not null,
  record_number bigint generated by default as identity,
  record_id text collate "C",
  parent_id text collate "C",
  record text not null,
  primary key (shop_key, source, part, record_number)
);

-- An order (or other record) that has to be fetched again: named by a webhook or by a list of what was updated.
create table pending_record (
  shop_key bigint not null references workspace on delete cascade,
  source text collate "C" not null,
  kind text collate "C" not null,
  record_id text collate "C" not null,
  requested_at timestamptz not null default clock_timestamp(),
  primary key (shop_key, source, kind, record_id)
);

-- A webhook delivery that was accepted, so that one that comes twice has its effect once.
create table webhook_delivery (
  shop_key bigint not null references workspace on delete cascade,
  source text collate "C" not null,
  webhook_id text collate "C" not null,
  -- What a repetition of a delivery has in common with it: the digest of a body that is sent once, else its webhook id.
  replay_key text collate "C",
  topic text not null,
  received_at timestamptz not null default clock_timestamp(),
  primary key (shop_key, source, webhook_id)
);
create unique index webhook_delivery_by_replay_key on webhook_delivery (shop_key, source, replay_key);
create index webhook_delivery_by_time on webhook_delivery (shop_key, received_at);

-- A folder of CSV files that a person sends by browser, and the import that is made of it. At most one of a workspace is
-- open: being sent, waiting for a worker, being imported, or refused and not given up yet.
create table import_upload (
  shop_key bigint not null references workspace on delete cascade,
  upload_id uuid not null,
  status text not null
    check (status in ('sending', 'waiting', 'importing', 'refused', 'imported', 'canceled', 'expired')),
  created_by text not null,
  created_at timestamptz not null,
  -- Until then it can be sent and corrected; of one that has ended, until then its refused rows can be fetched.
  expires_at timestamptz not null,
  -- What it consists of: [{"name": "order_lines.csv", "bytes": 12345}, …].
  files jsonb not null,
  -- M5
  as_of timestamptz not null,
  -- Who asked for the import, from where, and whether rows that cannot be used are to be left out.
  requested_by text,
  requested_origin text,
  skip_invalid boolean not null default false,
  -- Workers that began the import since it was asked for.
  attempt integer not null default 0,
  started_at timestamptz,
  -- Where the import is: a step's name, how much of it is done, and of how much (null = unknown).
  stage text,
  done bigint not null default 0,
  total bigint,
  -- What the import has counted and refused; null until then.
  result jsonb,
  error text,
  finished_at timestamptz,
  primary key (shop_key, upload_id)
);
create unique index import_upload_open on import_upload (shop_key)
  where status in ('sending', 'waiting', 'importing', 'refused');

-- A part of a file of an upload, as it was sent; under the name refused-rows.csv what the import made of it. Parts are
-- read whole: compressing them, often a second time, would only take time.
create table import_part (
  shop_key bigint not null references workspace on delete cascade,
  upload_id uuid not null,
  file_name text collate "C" not null,
  part_number integer not null,
  sha256 bytea not null check (length(sha256) = 32),
  bytes bytea not null,
  primary key (shop_key, upload_id, file_name, part_number)
);
alter table import_part alter column bytes set storage external;

-- Functions -----------------------------------------------------------------------------------------------------------

-- The checks of a request up to its daily quota, numbered as docs/api.md, "Order of checks", has them.
--
-- A batch of callers of any shops, sorted by shop, so that no two batches can deadlock. A caller is one token with equal
-- needs, `p_requests` of them. All are counted or none. Unless p_waits, it never waits for a lock: it says "locked" instead.
-- Single-table statements by primary key, which a distributed database plans once; it runs the call whole on the node of
-- p_shop_key, where the other shops should be, too. A plan that was made while a table was small would read all of it for
-- every caller, so none scans a table.
create function admit_callers(
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
end $$;

-- Gives the planner the sizes of one table, of which a distributed database looks at the shop's shard alone, on its node. Only
-- the owner of a table may analyze it: the function does so for workers, who are not.
create function analyze_shop(p_shop_key bigint, p_table text) returns void
  language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
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
end $$;
revoke execute on function analyze_shop(bigint, text) from public;
