import { command } from "../query.ts";

/** Removes all passkeys of a person. console_passkey_user. */
export const deletePasskeys = command<[userId: string]>(
  "delete_passkeys",
  "delete from console_passkey where user_id = $1",
);
