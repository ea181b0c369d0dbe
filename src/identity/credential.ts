/** What a browser answers for a passkey, as far as it has to be read before it is checked. */
type CredentialJson = { id: string; response: { clientDataJSON: string; userHandle?: string } };

/** 1 to 1023 bytes in base64url. */
const ID = /^[A-Za-z0-9_-]{2,1364}$/u;

/** An answer and the challenge that it says it is to; both are unchecked. */
export type ReadCredential<Credential> = { response: Credential; challenge: string };

/** Reads what the browser's `toJSON` has written; null = it is something else. */
export function readCredential<Credential extends CredentialJson>(
  text: string,
): ReadCredential<Credential> | null {
  const credential = parsed(text);
  const { id, response } = objectOf(credential);
  const { clientDataJSON } = objectOf(response);
  if (typeof id !== "string" || !ID.test(id) || typeof clientDataJSON !== "string") return null;
  const { challenge } = objectOf(parsed(Buffer.from(clientDataJSON, "base64url").toString()));
  return typeof challenge === "string" ? { response: credential as Credential, challenge } : null;
}

/** How the browser may reach an authenticator, from an unchecked list of its own words. */
export function readTransports(list: unknown): string[] {
  const words = Array.isArray(list) ? (list as unknown[]) : [];
  return words
    .filter((word) => typeof word === "string" && /^[a-z-]{1,20}$/u.test(word))
    .slice(0, 8) as string[];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
