import { ACTIONS, LISTS } from "../registry.ts";

/** Events that are no action of ours: of the store platform, of sign-ins, of a worker. */
const WORDS = {
  "source.uninstalled": "Uninstalled the app in the shop",
  "audit.delete": "Deleted old audit entries",
  "demo.clear": "Emptied the demo store",
  "user.recover": "Used a recovery link",
  "session.begin": "Signed in",
  "session.prove": "Confirmed their identity",
  "session.refuse": "Failed to sign in",
  "session.end": "Signed out",
  "privacy.customers_data_request": "Requested a customer's data",
  "privacy.customers_redact": "Requested the redaction of a customer",
  "privacy.shop_redact": "Requested the erasure of the shop",
  "secret.add": "Added a root secret",
  "secret.retire": "Removed a root secret",
};

/** What was done, in words, by the name of the right or of the event: of whatever the audit holds and rights allow. */
export const AUDIT_WORDS: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...LISTS, ...ACTIONS].map(({ name, past }) => [name, past])),
  ...WORDS,
};

/** An action that a later or an earlier version recorded is shown by its name. */
export function auditWords(action: string): string {
  return AUDIT_WORDS[action] ?? action;
}
