-- Works with 0015_upgrades.

-- A variant's options as its source states them, in their order: [{"name": "Size", "value": "M"}].
alter table variant add column options jsonb not null default '[]';
