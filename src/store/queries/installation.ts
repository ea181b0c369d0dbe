import { command, queryValue, requireRow } from "../query.ts";

/** Keeps the fingerprint of the token pepper that was first used; a later one changes nothing. */
export const keepSecretFingerprint = command<[fingerprint: Buffer]>(
  "keep_secret_fingerprint",
  "insert into installation (secret_fingerprint) values ($1) on conflict (is_only_row) do nothing",
);

/** The kept fingerprint; null before the first secret was used. */
export const findSecretFingerprint = queryValue<Buffer>(
  "find_secret_fingerprint",
  "select secret_fingerprint from installation",
);

/** The database server's version: 180004 and "18.4". */
export const serverVersion = requireRow<{ number: number; name: string }>(
  "server_version",
  "select current_setting('server_version_num')::integer as number, current_setting('server_version') as name",
);
