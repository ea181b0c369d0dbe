-- Works with 0034_admission.

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

-- Whose verified address, in small letters, may use a link by single sign-on; null = nobody's.
alter table console_link add column email text;
create index console_link_email on console_link (email) where email is not null;

-- What the provider is told at sign-out of a session that began there.
alter table console_session add column id_token text;
-- The provider named the group of operators when the session began.
alter table console_session add column is_operator boolean not null default false;
