-- One row: which secret this database's tokens were made with, as an HMAC that reveals nothing of it.
create table installation (
  is_only_row boolean primary key default true check (is_only_row),
  secret_fingerprint bytea not null
);
