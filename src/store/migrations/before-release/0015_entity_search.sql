-- shop_key beside the trigrams: a search reads the shop's own rows, however many other workspaces hold.
create extension if not exists btree_gin;

-- The search of entities. New rows wait in the index's pending list: entering each one's forty trigrams at once takes an
-- import ten times as long, and reading the list costs a search some milliseconds.
create index entity_by_search on entity using gin (shop_key, search_text gin_trgm_ops);
