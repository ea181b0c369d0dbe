-- Works with 0034_admission.

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
