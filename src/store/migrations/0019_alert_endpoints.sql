-- Works with 0014_erasure.

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
  primary key (shop_key, endpoint_id)
);
