-- Works with 0015_upgrades.

-- What people call the workspace; null = its domain.
alter table shop_directory add column display_name text;
alter table shop_directory add constraint shop_directory_display_name_check
  check (display_name <> '' and length(display_name) <= 60);
