-- The plan that an owner of a workspace asks for, until an operator sets one or the owner takes it back.
create table plan_request (
  shop_key bigint primary key references workspace on delete cascade,
  plan_key text collate "C" not null,
  -- Why, in the owner's words.
  reason text not null,
  asked_by text not null,
  asked_at timestamptz not null
);
