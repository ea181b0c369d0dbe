-- Works with 0034_admission.

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
