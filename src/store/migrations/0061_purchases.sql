-- Works with 0034_admission.

-- The subscription at the store's platform that billing and plan were last set by: id, name, plan, paid_until and is_active;
-- null = none was ever seen, and others bill this workspace.
alter table workspace add column purchase jsonb;

-- When billing becomes inactive, because that subscription has ended; null = it does not.
alter table workspace add column billing_ends_at timestamptz;

-- Every sync reads the subscription now: none is left to be fetched.
delete from pending_record where kind = 'subscription';
