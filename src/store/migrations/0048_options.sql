-- Works with 0034_admission.

-- The variant of a line: the one that it names, else the one of its SKU (M14); null = none. Its options are those of M22.
alter table order_line add column variant_id text collate "C";
alter table listing add column variant_id text collate "C" not null default '';

-- Which group each of the workspace's reasons belongs to, as people confirmed it (M22): {"zu klein": "too_small"}.
alter table workspace add column reason_groups jsonb not null default '{}';

-- Orders are projected again: only that tells the variants of their lines.
update workspace set needs_projection = true;
