-- What a link is for: enter = sign in, invite = sign in for the first time, recover = sign in after every passkey was
-- lost, which ends the passkeys and sessions there were.
alter table console_link add column purpose text;
update console_link set purpose = 'enter';
alter table console_link alter column purpose set not null;
alter table console_link add constraint console_link_purpose check (purpose in ('enter', 'invite', 'recover'));

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
