-- Up Migration
-- Works with 0014_erasure.

-- The last migration that a version must know at least to work with this one; null = none of before does.
alter table schema_migration add column works_with text;

-- One row, which a distributed database keeps on its coordinator: what a statement over it calls is called there. So locks
-- and shop keys come from one place, whichever node a server is connected to.
create table coordinator (
  is_only_row boolean primary key default true check (is_only_row)
);
insert into coordinator default values;
