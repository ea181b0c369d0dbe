-- Works with 0015_upgrades.

-- null = of before: an episode of its own. The same for all entities of one problem (M17).
alter table warning_episode add column episode_id text collate "C";
-- Of an entity that was not announced: false = it was only named as a part, and is announced when it warns itself.
alter table warning_episode add column has_warned boolean not null default false;
