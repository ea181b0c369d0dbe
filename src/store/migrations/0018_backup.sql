-- Works with 0014_erasure.

-- When the newest backup that ended was begun: what it holds is as old as that. null = none was made.
alter table installation add column backed_up_at timestamptz;
