-- Works with 0034_admission.
-- Outside of transactions.

create index concurrently sync_run_quiet on sync_run (shop_key, source, kind) where is_quiet;
