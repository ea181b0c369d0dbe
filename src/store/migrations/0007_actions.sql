-- Where an action came from, such as an IP address, and how what it changed was before; detail says how it is since.
alter table audit_event add column origin text, add column before jsonb;

-- When the person last proved who they are: what gives access to others asks for ten minutes at most.
alter table console_session add column proved_at timestamptz;
update console_session set proved_at = created_at;
alter table console_session alter column proved_at set not null;
