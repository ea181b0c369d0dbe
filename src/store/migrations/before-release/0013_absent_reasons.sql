-- The absence of a return reason was stored as the words refund_only and unspecified, which a store may also state as
-- reasons of its own. Absent ones are now keys that begin with a blank (src/metrics/returned-units.ts): no stated reason
-- does. Old rows do not tell the two apart, so a stated refund_only or unspecified of old data becomes an absent one as
-- well, until the next rebuild (`./returns rebuild`) projects the order documents again.
update return_event set reason = ' ' || reason where reason in ('refund_only', 'unspecified');
