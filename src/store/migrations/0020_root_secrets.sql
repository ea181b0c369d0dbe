-- Works with 0014_erasure.

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
