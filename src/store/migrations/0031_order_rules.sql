-- Works with 0015_upgrades.

-- Which orders count (M1, M2), as src/metrics/order-rules.ts has it; what it leaves out is the default.
alter table workspace add column order_rules jsonb not null default '{}';
-- The rules that the facts follow; null = they are from before there were rules. A worker has them follow the others.
alter table workspace add column order_rules_applied jsonb default '{}';
update workspace set order_rules_applied = null;

-- By which rule the line's order sells nothing (M1); null = it counts.
alter table order_line add column left_out text collate "C";
create index order_line_left_out on order_line (shop_key, cohort_month) where left_out is not null;
