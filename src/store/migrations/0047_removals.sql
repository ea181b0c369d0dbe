-- Works with 0034_admission.

-- When an alert endpoint was removed: for a day that can be undone; null = it is not.
alter table alert_endpoint add column removed_at timestamptz;

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

-- Who made an invitation, and to which workspace it leads: its page says so before it is used.
alter table console_link add column made_by uuid;
alter table console_link add constraint console_link_made_by_fkey
  foreign key (made_by) references console_user on delete set null;
alter table console_link add column leads_to bigint;
create index console_link_maker on console_link (made_by);
