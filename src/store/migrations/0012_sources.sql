-- The overview of a new workspace lists what is left to set up, until all of it is done or somebody hides the list.
-- Workspaces of before have no list.
alter table workspace add column is_setup_open boolean not null default false;
