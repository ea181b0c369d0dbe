drop function if exists admit(bigint, text, bytea, text, text[], boolean, timestamptz);
