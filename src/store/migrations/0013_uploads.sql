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
-- What workers look for each second, over all workspaces.
create index import_upload_due on import_upload (created_at) where status in ('waiting', 'importing');
-- What upkeep looks for each hour, over all workspaces.
create index import_upload_by_expiry on import_upload (expires_at);

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
