-- Works with 0015_upgrades.

-- The value of what was sold, after discounts and without tax (M20); null where the source does not say.
alter table order_line add column sold_minor bigint;

-- The value of the sold units whose value is known, and how many these are.
alter table cohort add column sold_minor bigint not null default 0;
alter table cohort add column valued_sold_units bigint not null default 0;
alter table sku_quarter add column sold_minor bigint not null default 0;
alter table sku_quarter add column valued_sold_units bigint not null default 0;

-- Documents of an import have the value already: they are projected again.
update workspace set needs_projection = true;
