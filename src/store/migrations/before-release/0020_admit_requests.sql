drop function if exists admit_many(bigint, text[], bytea[], text[], text[], boolean[], integer[], timestamptz);
