-- The people who use the console. Like plan, these tables belong to the installation, not to a workspace.

-- A person.
create table console_user (
  user_id uuid primary key default gen_random_uuid(),
  name text not null unique check (length(name) between 1 and 100),
  -- Operators manage the installation; they see a merchant's figures only as members of the workspace.
  is_operator boolean not null default false,
  created_at timestamptz not null default now(),
  -- null = may sign in
  disabled_at timestamptz,
  -- The workspace they looked at last, where / leads; null = none. It may be gone.
  last_shop_key bigint
);

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

-- A link that signs a person in, once. Only the SHA-256 of its secret is stored.
create table console_link (
  link_hash bytea primary key check (length(link_hash) = 32),
  user_id uuid not null references console_user on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index console_link_expiry on console_link (expires_at);

-- A signed-in browser. Only the SHA-256 of the cookie is stored. It is valid until idle_until, which each use moves on,
-- but never beyond ends_at.
create table console_session (
  session_hash bytea primary key check (length(session_hash) = 32),
  user_id uuid not null references console_user on delete cascade,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  idle_until timestamptz not null,
  ends_at timestamptz not null check (idle_until <= ends_at)
);
create index console_session_user on console_session (user_id, created_at);
create index console_session_end on console_session (idle_until);
